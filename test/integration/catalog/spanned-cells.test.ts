/** Cells of a page's table that cover others, in documents, as LibreOffice reads them. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { unzip } from '../../kit/judges/documents/text.ts';
import { conversionGround } from './ground.ts';

const ground = conversionGround('spans');

const PAGE = `<!doctype html><title>Spans</title><table>
<tr><th colspan="2">wide</th><th>c0</th></tr>
<tr><td rowspan="2">tall</td><td>b1</td><td>c1</td></tr>
<tr><td>b2</td><td>c2</td></tr>
<tr><td>a3</td><td colspan="2" rowspan="2">large</td></tr>
<tr><td>a4</td></tr>
</table>`;

/** Cells by row, each with what it covers; `.` for a covered one. */
async function cellsOf(path: string): Promise<readonly string[]> {
  const content = String((await unzip(await readFile(path))).get('content.xml'));
  return [...content.matchAll(/<table:table-row[\s>][\s\S]*?<\/table:table-row>/g)].map(([row]) =>
    [...row.matchAll(/<table:covered-table-cell|<table:table-cell([^>]*)>([\s\S]*?)<\/table:table-cell>/g)]
      .map(([, attributes, content = '']) => {
        if (attributes === undefined) return '.';
        const [columns, rows] = ['columns', 'rows'].map(
          (name) => new RegExp(`number-${name}-spanned="(\\d+)"`).exec(attributes)?.[1] ?? '1',
        );
        return `${content.replaceAll(/<[^>]*>/g, '').trim()} ${columns}x${rows}`;
      })
      .join(' '),
  );
}

it.each(['odt', 'docx'])('are where they were in %s', async (target) => {
  const page = join(await ground.aFolder(), 'spans.html');
  await writeFile(page, PAGE);
  const { path } = await ground.to(page, target);
  // LibreOffice reads it, and writes what it has understood.
  const { path: read } = await ground.to(path, 'fodt');
  const copy = await ground.to(read, 'odt');
  expect(await cellsOf(copy.path)).toEqual([
    'wide 2x1 . c0 1x1',
    'tall 1x2 b1 1x1 c1 1x1',
    '. b2 1x1 c2 1x1',
    'a3 1x1 large 2x2 .',
    'a4 1x1 . .',
  ]);
});
