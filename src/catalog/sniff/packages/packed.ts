/** Gzip: a compressed TAR or drawing, by what it begins with once unpacked; any other file of it is only named. */
import { constants, gunzipSync } from 'node:zlib';
import { formatOf } from '../../formats.ts';
import { has } from '../../looks/bytes.ts';
import { decode } from '../../looks/charset.ts';
import type { Detected, Sample } from '../../looks/sample.ts';
import { rootOf } from '../../looks/xml.ts';
import { asFormat, asRefused } from '../verdict.ts';

/** Enough for the header of a TAR's first entry, whatever it is compressed with, and for the first element of a drawing; unpacked it is 2 MB at most. */
const PACKED_BYTES = 2048;
/** Looked at of what is unpacked. */
const MOST_BYTES = 32 * 1024;

export function packed({ head, size }: Sample): Detected | undefined {
  if (!has(head, 0, '\x1f\x8b\x08')) return undefined;
  const block = beginning(head.subarray(0, PACKED_BYTES));
  const isTar = has(block, 257, 'ustar') || formatOf('tar').looks?.({ head: block, tail: block, size: Math.max(size, 1024) }) === true;
  if (isTar) return asFormat('tgz');
  return rootOf(decode(block).trimStart())?.name === 'svg' ? asFormat('svg') : asRefused('compressed file (gzip)');
}

/** What can be unpacked of a stream that is cut off. */
function beginning(bytes: Uint8Array): Uint8Array {
  try {
    return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, MOST_BYTES);
  } catch {
    return new Uint8Array();
  }
}
