/** Gzip: a compressed TAR by what it begins with once unpacked; any other file of it is unknown. */
import { constants, gunzipSync } from 'node:zlib';
import { formatOf } from '../formats.ts';
import { has } from './bytes.ts';
import type { Detected, Sample } from './sample.ts';
import { asFormat, UNKNOWN } from './verdict.ts';

/** Enough for the header of a TAR's first entry, whatever it is compressed with; unpacked it is 2 MB at most. */
const PACKED_BYTES = 2048;
const BLOCK_BYTES = 512;

export function packed({ head, size }: Sample): Detected | undefined {
  if (!has(head, 0, '\x1f\x8b\x08')) return undefined;
  const block = beginning(head.subarray(0, PACKED_BYTES));
  const isTar = has(block, 257, 'ustar') || formatOf('tar').looks?.({ head: block, tail: block, size: Math.max(size, 1024) }) === true;
  return isTar ? asFormat('tgz') : UNKNOWN;
}

/** What can be unpacked of a stream that is cut off. */
function beginning(bytes: Uint8Array): Uint8Array {
  try {
    return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, 2 * BLOCK_BYTES);
  } catch {
    return new Uint8Array();
  }
}
