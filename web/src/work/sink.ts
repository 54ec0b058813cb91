/** Where a file that the page makes is written: to the visitor's disk, to the browser's own, or, where neither can be had, to memory. */
import { Refusal } from '../api/client.ts';

/** It is on the disk, or the browser has begun to download it. */
export type SaveOutcome = 'saved' | 'downloading';

export interface Sink {
  readonly stream: WritableStream<Uint8Array>;
  /** Hands over what was written, once the stream is closed. */
  readonly finish: () => Promise<SaveOutcome>;
  /** Removes what was written. */
  readonly drop: () => Promise<void>;
}

/** What needs no disk, and then no question where to write it, bytes. */
const A_LITTLE = 100_000_000;
/** What a tab may hold, bytes. */
export const MOST_IN_MEMORY = 1_000_000_000;
const FOLDER = 'downloads';
/** After which no browser copies a file any more, ms. */
const COPIED = 3_600_000;

/** Whether the browser may be able to write so much: http from another machine may use no disk. */
export const canWrite = (bytes: number): boolean =>
  bytes <= MOST_IN_MEMORY || window.showSaveFilePicker !== undefined || navigator.storage?.getDirectory !== undefined;

/**
 * A browser opens its dialog only while a click is fresh: nothing may be awaited before.
 * @param bytes as many as will be written, roughly
 * @returns undefined where the visitor closed the dialog @throws Refusal where there is no room
 */
export async function openSink(name: string, bytes: number): Promise<Sink | undefined> {
  if (bytes <= A_LITTLE) return inMemory(name);
  if (window.showSaveFilePicker !== undefined) return onDisk(name);
  const own = await inBrowser(name, bytes);
  if (own === undefined && bytes > MOST_IN_MEMORY) throw new Refusal({ code: 'ZIP_TOO_LARGE', message: '' });
  return own ?? inMemory(name);
}

async function onDisk(name: string): Promise<Sink | undefined> {
  const types = [{ accept: { 'application/zip': ['.zip'] } }];
  const file = await window.showSaveFilePicker?.({ suggestedName: name, types }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  // It is another file until it is closed, and the picked one empty.
  const drop = async () => file.remove?.();
  return { stream: await open(file, drop), finish: async () => 'saved', drop };
}

/** An empty file that cannot be written is left nowhere. */
async function open(file: FileSystemFileHandle, drop: Sink['drop']): Promise<Sink['stream']> {
  try {
    return await file.createWritable();
  } catch (error) {
    await drop().catch(() => {});
    throw error;
  }
}

const folderOf = async (create: boolean): Promise<FileSystemDirectoryHandle | undefined> =>
  (await navigator.storage?.getDirectory?.())?.getDirectoryHandle(FOLDER, { create });

/** @returns undefined where the browser keeps no files, as in some private windows */
async function inBrowser(name: string, bytes: number): Promise<Sink | undefined> {
  const folder = await folderOf(true).catch(() => undefined);
  if (folder === undefined) return undefined;
  await removeCopied();
  const { quota = Number.POSITIVE_INFINITY, usage = 0 } = await navigator.storage.estimate();
  if (quota - usage < bytes) throw new DOMException('', 'QuotaExceededError');
  const own = crypto.randomUUID();
  const file = await folder.getFileHandle(own, { create: true });
  const drop = () => folder.removeEntry(own);
  if (file.createWritable === undefined) {
    await drop();
    return undefined;
  }
  const finish = async () => {
    setTimeout(() => void drop().catch(() => {}), COPIED);
    return save(await file.getFile(), name);
  };
  return { stream: await open(file, drop), finish, drop };
}

/** What earlier downloads left in the browser: it tells no page when it has copied a file. One that is being written cannot be removed. */
export async function removeCopied(): Promise<void> {
  const folder = await folderOf(false).catch(() => undefined);
  if (folder === undefined) return;
  for await (const [name, file] of folder.entries()) {
    const { lastModified } = file instanceof FileSystemFileHandle ? await file.getFile() : { lastModified: 0 };
    if (lastModified < Date.now() - COPIED) await folder.removeEntry(name).catch(() => {});
  }
}

function inMemory(name: string): Sink {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const blob = new Response(readable, { headers: { 'content-type': 'application/zip' } }).blob();
  // Dropped data has no reader.
  blob.catch(() => {});
  return { stream: writable, finish: async () => save(await blob, name), drop: async () => {} };
}

function save(blob: Blob, name: string): SaveOutcome {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  return 'downloading';
}
