/** How much lies in a folder that a confined program fills. */
import type { Dirent } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';

/** Names are bytes: one that is not UTF-8 would be decoded to another name, and what lies below it would not be counted. */
const BYTES = { encoding: 'buffer' } as unknown as { encoding: 'latin1' };
const SLASH = Buffer.from('/');

/** Whether the folder holds more than `bytes`; true also if something in it cannot be examined, which only a hostile program arranges. */
export async function isFuller(folder: string, bytes: number): Promise<boolean> {
  let sum = 0;
  const left: Buffer[] = [Buffer.from(folder)];
  for (let place = left.pop(); place !== undefined; place = left.pop()) {
    try {
      for await (const entry of (await opendir(place, BYTES)) as AsyncIterable<Dirent<Buffer>>) {
        const path = Buffer.concat([place, SLASH, entry.name]);
        if (entry.isDirectory()) left.push(path);
        sum += await bytesOf(path);
        if (sum > bytes) return true;
      }
    } catch (error) {
      if (!isGone(error)) return true;
    }
  }
  return false;
}

/** 0 for what was removed meanwhile: the others still count. */
async function bytesOf(path: Buffer): Promise<number> {
  try {
    const { blocks } = await lstat(path);
    return Math.max(4096, blocks * 512);
  } catch (error) {
    if (isGone(error)) return 0;
    throw error;
  }
}

/** Files come and go while we look. */
const isGone = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';
