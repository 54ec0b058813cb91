/** Tables of dBASE and its kin, whose first byte is a version and no signature. */
import { has, u8, u16le } from './bytes.ts';
import type { Sample } from './sample.ts';

/** dBASE III and IV, FoxPro and Visual FoxPro, with and without memos. */
const VERSIONS = [0x03, 0x30, 0x31, 0x32, 0x43, 0x63, 0x83, 0x8b, 0xcb, 0xf5, 0xfb];
const TYPES = 'CNFDLMGPBIYTV0';
const COLUMN_BYTES = 32;

/** The descriptions of columns end with a carriage return, and their lengths make up a row (dBASE, "Table File Structure"). */
export function isDbase({ head }: Sample): boolean {
  if (!VERSIONS.includes(u8(head, 0))) return false;
  let [at, length] = [COLUMN_BYTES, 1];
  for (; !has(head, at, '\r'); at += COLUMN_BYTES) {
    const type = String.fromCharCode(u8(head, at + 11));
    if (!TYPES.includes(type) || u8(head, at) <= 0x20) return false;
    length += u8(head, at + 16) + (type === 'C' ? 256 * u8(head, at + 17) : 0);
  }
  return at > COLUMN_BYTES && at < u16le(head, 8) && length === u16le(head, 10);
}
