/** Checks a conversion's results before they are delivered: they exist, are not empty, and have the requested format. */
import { readSync } from 'node:fs';
import { HEAD_BYTES, TAIL_BYTES } from '../../catalog/looks/sample.ts';
import { conversionFailed } from '../../errors.ts';
import { listFolder, openFile, Suspicious } from '../../exec/files/collect.ts';
import type { Judge } from '../../judge/judge.ts';

/** An output larger than this is not delivered, bytes. */
export const MAX_OUTPUT_BYTES = 1 << 30;

/** @returns the names of all results, in natural order: at least one @throws Failure `output_invalid`, `output_limit` */
export async function judgeAll(judge: Judge, base: string, folder: string, format: string): Promise<readonly string[]> {
  // In a thread: long names with long numbers take seconds to compare.
  const names = await judge.inOrder(honest(() => listFolder(base, folder)));
  for (const name of names) await judgeOne(judge, base, folder, name, format);
  if (names.length === 0) throw conversionFailed('output_invalid');
  return names;
}

/** The text of an empty page or of a photo, the subtitles of a recording without words. */
const MAY_BE_EMPTY: ReadonlySet<string> = new Set(['txt', 'md', 'srt']);

async function judgeOne(judge: Judge, base: string, folder: string, name: string, format: string): Promise<void> {
  using opened = honest(() => openFile(base, folder, name));
  const { fd, sizeBytes } = opened;
  if (sizeBytes > MAX_OUTPUT_BYTES) throw conversionFailed('output_limit', { details: { max_bytes: MAX_OUTPUT_BYTES, bytes: sizeBytes } });
  const head = Buffer.alloc(Math.min(sizeBytes, HEAD_BYTES));
  const tail = Buffer.alloc(Math.min(sizeBytes, TAIL_BYTES));
  readSync(fd, head, 0, head.length, 0);
  readSync(fd, tail, 0, tail.length, sizeBytes - tail.length);
  if (sizeBytes === 0 && MAY_BE_EMPTY.has(format)) return;
  if (sizeBytes === 0 || !(await judge.matches({ head, tail, size: sizeBytes }, format))) throw conversionFailed('output_invalid');
}

/** @throws Failure `output_invalid` for what no honest converter leaves behind */
function honest<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof Suspicious) throw conversionFailed('output_invalid', { cause });
    throw cause;
  }
}
