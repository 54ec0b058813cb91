/** How much room the files of one machine take and leave: new work is refused before the disk is full. */
import { statfs } from 'node:fs/promises';
import type { StorageSettings } from './settings.ts';
import type { ObjectStore } from './store.ts';

/** Between two looks, ms. What arrives meanwhile is not counted, so the free bytes asked for leave room for it. */
const LOOK_MS = 5_000;
/** Where no minimum is set: this share of the file system, at most so many bytes. */
const FREE_SHARE = 0.05;
const MOST_FREE_BYTES = 1 << 30;

export interface StorageUse {
  /** Size of all stored files; undefined if no maximum is set, because counting means looking at every file. */
  readonly usedBytes: number | undefined;
  /** Free space of the file system, for this user. */
  readonly freeBytes: number;
  /** Why nothing more is taken: a sentence for the operator. */
  readonly full: string | undefined;
}

export interface StorageWatch {
  readonly use: StorageUse;
  close(): void;
}

/** @param folder of the store @throws the system's error if it cannot be looked at */
export async function watchStorage(folder: string, objects: Pick<ObjectStore, 'scan'>, settings: StorageSettings): Promise<StorageWatch> {
  const look = async (): Promise<StorageUse> => {
    const { bavail, blocks, bsize } = await statfs(folder);
    const freeBytes = bavail * bsize;
    const least = settings.minFreeBytes ?? Math.min(MOST_FREE_BYTES, Math.floor(blocks * bsize * FREE_SHARE));
    let usedBytes: number | undefined;
    if (settings.maxBytes !== undefined) {
      usedBytes = 0;
      for await (const { sizeBytes } of objects.scan('')) usedBytes += sizeBytes;
    }
    return { usedBytes, freeBytes, full: why(usedBytes, freeBytes, least) };
  };
  const why = (usedBytes: number | undefined, freeBytes: number, least: number): string | undefined => {
    if (freeBytes < least) return `${freeBytes} bytes are free where files are stored, and ${least} are kept free (storage.minFreeBytes)`;
    if (usedBytes !== undefined && usedBytes >= (settings.maxBytes ?? Number.POSITIVE_INFINITY))
      return `files take ${usedBytes} bytes, and ${settings.maxBytes} are allowed (storage.maxBytes)`;
    return undefined;
  };
  let use = await look();
  let isLooking = false;
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    look()
      .then(
        (seen) => {
          use = seen;
        },
        // If the folder cannot be read, writing to it fails, with the reason.
        () => {},
      )
      .finally(() => {
        isLooking = false;
      });
  }, LOOK_MS).unref();
  return {
    get use() {
      return use;
    },
    close: () => clearInterval(timer),
  };
}
