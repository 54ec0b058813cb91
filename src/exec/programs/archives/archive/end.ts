/** Whether a TAR has its end, or may be cut off between two entries. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** Two blocks of zeros (POSIX.1-2008, pax, "ustar Interchange Format"). */
const END_BYTES = 1024;

export function endsWhole(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const end = Buffer.alloc(Math.min(END_BYTES, size));
    readSync(file, end, 0, end.length, size - end.length);
    return end.length === END_BYTES && end.every((byte) => byte === 0);
  } finally {
    closeSync(file);
  }
}
