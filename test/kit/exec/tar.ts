/** Archives of tests. */

const BLOCK = 512;

/** @param files contents by path, of at most 100 characters @returns a TAR (POSIX.1-2017, "ustar Interchange Format") */
export function tarOf(files: Readonly<Record<string, Buffer>>): Buffer {
  const parts = Object.entries(files).flatMap(([path, content]) => {
    const header = Buffer.alloc(BLOCK);
    header.write(path, 0, 'latin1');
    header.write('0000644\0', 100, 'latin1');
    header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124, 'latin1');
    header.write('        0ustar\0', 148, 'latin1');
    const sum = header.reduce((all, byte) => all + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
    return [header, content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}
