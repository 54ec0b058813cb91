/** Compresses the files of the page beside them, `pack-page.ts FOLDER`: `a.js.br` and so on, which a service then need not do at each start. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compress, packings, WORTH_PACKING } from '../src/api/http/encoded.ts';

const folder = join(process.argv[2] ?? '', 'assets');
for (const name of await readdir(folder)) {
  const bytes = await readFile(join(folder, name));
  if (bytes.length < WORTH_PACKING) continue;
  for (const packing of packings) await writeFile(join(folder, `${name}.${packing}`), await compress(bytes, packing));
}
