/** Documents as JSON of blocks, for programs that read them: what Pandoc and a hand-written PDF have is there, in order and in its place. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { DocumentModel } from '../../../src/contracts/api/document-model.ts';
import { contentOf, headingOf } from '../../kit/catalog/content.ts';
import { scannedPdf } from '../../kit/fixtures/documents/documents.ts';
import { type PlacedText, placedPdf } from '../../kit/fixtures/documents/pdf.ts';
import { convert, settled } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const home = await mkdtemp(join(tmpdir(), 'filemill-model-'));
const SEED = 'document model';
let url: string;
beforeAll(async () => {
  ({ url } = await sharedService());
});
afterAll(() => rm(home, { recursive: true, force: true }));

type Model = z.infer<typeof DocumentModel>;
/** Validated by the published schema, of which nothing may be unknown. */
async function modelOf(name: string, bytes: Uint8Array, fields: Readonly<Record<string, string>> = {}): Promise<Model> {
  const answer = await settled(url, await convert(url, { name, bytes }, 'json', fields));
  if (answer.data?.output === undefined) throw new Error(JSON.stringify(answer.error));
  const written: unknown = await (await fetch(answer.data.output.url)).json();
  const model = DocumentModel.parse(written);
  expect(model).toEqual(written);
  return model;
}

const MARKDOWN = `---
title: Ferries
---

# Ferries

A *ferry* leaves for [Kos](https://kos.example/quay) at noon.[^late]

[^late]: Unless it is late.

## Tickets

1. Buy one
   - cash
   - card
2. Board

| Class | Price |
|-------|-------|
| Deck  | 12    |
| Cabin | 48    |

> Keep it.

\`\`\`sql
SELECT 1;
\`\`\`

$$e = mc^2$$
`;

describe('a document that says what its parts are', () => {
  it.each(['docx', 'odt', 'epub', 'html'])('has them as blocks, from %s', async (to) => {
    const [from, path] = [join(home, 'a.md'), join(home, `a.${to}`)];
    await writeFile(from, MARKDOWN);
    execFileSync('/usr/bin/pandoc', ['--standalone', from, '-o', path]);
    const { blocks, title, source } = await modelOf(`a.${to}`, await readFile(path));
    expect([title, source]).toEqual(['Ferries', to]);
    const of = <T extends Model['blocks'][number]['type']>(type: T) =>
      blocks.flatMap((block) => (block.type === type ? [block as Extract<Model['blocks'][number], { type: T }>] : []));
    expect(of('heading').filter(({ text }) => text === 'Tickets')).toHaveLength(1);
    const leaves = of('paragraph').find(({ text }) => text.startsWith('A ferry leaves'));
    expect(leaves?.text).toMatch(/^A ferry leaves for Kos at noon\.\[?1\]?$/);
    expect(leaves?.links).toContainEqual({ text: 'Kos', url: 'https://kos.example/quay' });
    // In a page it is an item of a list.
    expect(JSON.stringify(blocks)).toContain('Unless it is late.');
    expect(of('list').flatMap(({ items }) => items.map(({ level, number, text }) => [level, number, text]))).toEqual(
      expect.arrayContaining([
        [1, 1, 'Buy one'],
        [2, undefined, 'cash'],
        [1, 2, 'Board'],
      ]),
    );
    const head = to === 'odt' ? '' : '*';
    expect(of('table')[0]?.rows.map((cells) => cells.map(({ text, header }) => `${text}${header ? '*' : ''}`))).toEqual([
      [`Class${head}`, `Price${head}`],
      ['Deck', '12'],
      ['Cabin', '48'],
    ]);
    expect(of('formula').map(({ latex }) => latex.replaceAll(/[\s{}]/g, ''))).toEqual(to === 'html' ? [] : ['e=mc^2']);
  });

  it('in Markdown has its code and its quote', async () => {
    const { blocks } = await modelOf('a.md', Buffer.from(MARKDOWN));
    expect(blocks).toContainEqual({ type: 'code', language: 'sql', text: 'SELECT 1;', origin: 'markup' });
    expect(blocks).toContainEqual({ type: 'paragraph', style: 'quote', text: 'Keep it.', origin: 'markup' });
    expect(blocks).toContainEqual({ type: 'footnote', label: '1', text: 'Unless it is late.', origin: 'markup' });
  });
});

const at = (x: number, y: number, text: string, size = 11): PlacedText => ({ x, y, text, size });
const page = (number: number, ...lines: readonly PlacedText[]): readonly PlacedText[] => [
  at(72, 810, 'Harbour report', 9),
  ...lines,
  at(290, 30, `Page ${number}`, 9),
];
const REPORT = placedPdf([
  page(
    1,
    at(72, 740, 'Harbour of Kos', 22),
    at(72, 700, 'Ships come in the morning and leave with the even-'),
    at(72, 686, 'ing wind, as they have done for years.'),
  ),
  page(
    2,
    at(72, 740, 'Prices', 16),
    ...[at(72, 700, 'Class'), at(250, 700, 'Euro'), at(72, 684, 'Deck'), at(250, 684, '12'), at(72, 668, 'Cabin'), at(250, 668, '48')],
  ),
  page(3, at(72, 740, 'Rules', 16), at(72, 700, '1. Board in time.'), at(72, 684, '2. Keep the ticket.')),
]);

describe('a printed document', () => {
  it('has its blocks with their places, and what stands at the edges of pages apart', async () => {
    const { blocks, pages } = await modelOf('report.pdf', REPORT);
    expect(pages).toEqual([1, 2, 3].map((number) => ({ number, width: 595, height: 842 })));
    const flat = blocks.map((block) => [block.type, block.boxes?.[0]?.page, 'text' in block ? block.text : undefined]);
    expect(flat).toEqual([
      ['header', 1, 'Harbour report'],
      ['heading', 1, 'Harbour of Kos'],
      ['paragraph', 1, 'Ships come in the morning and leave with the evening wind, as they have done for years.'],
      ['footer', 1, 'Page 1'],
      ['header', 2, 'Harbour report'],
      ['heading', 2, 'Prices'],
      ['table', 2, undefined],
      ['footer', 2, 'Page 2'],
      ['header', 3, 'Harbour report'],
      ['heading', 3, 'Rules'],
      ['list', 3, undefined],
      ['footer', 3, 'Page 3'],
    ]);
    // 22 points, whose letters stand on a line 740 above the lower edge.
    const [box] = blocks[1]?.boxes ?? [];
    expect(box?.left).toBeCloseTo(72, 0);
    expect(box?.bottom).toBeGreaterThan(842 - 740);
    expect(box?.top).toBeLessThan(842 - 740 - 10);
    const table = blocks.find((block) => block.type === 'table');
    expect(table?.rows.map((cells) => cells.map(({ text }) => text))).toEqual([
      ['Class', 'Euro'],
      ['Deck', '12'],
      ['Cabin', '48'],
    ]);
    expect(blocks.find((block) => block.type === 'list')?.items).toEqual([
      { level: 1, number: 1, text: 'Board in time.' },
      { level: 1, number: 2, text: 'Keep the ticket.' },
    ]);
  });

  it('is cut for retrieval at its headings, without what stands at the edges', async () => {
    const { chunks = [], blocks } = await modelOf('report.pdf', REPORT, { chunks: '64' });
    expect(chunks.map(({ headings }) => headings)).toEqual([['Harbour of Kos'], ['Harbour of Kos', 'Prices'], ['Harbour of Kos', 'Rules']]);
    expect(chunks[1]?.text).toBe('Prices\n\n| Class | Euro |\n| Deck | 12 |\n| Cabin | 48 |');
    expect(chunks.every(({ tokens }) => tokens > 0 && tokens <= 64)).toBe(true);
    expect(chunks[1]?.boxes?.every((each) => each.page === 2)).toBe(true);
    expect(blocks[chunks[2]?.last_block ?? 0]?.type).toBe('list');
  });

  it('that was scanned has how sure its letters are', async () => {
    const { blocks, pages } = await modelOf('scan.pdf', await readFile(await scannedPdf(SEED, home)));
    expect(pages?.map(({ number, width }) => [number, Math.round(width)])).toEqual([1, 2, 3].map((number) => [number, 595]));
    const said = blocks.map((block) => ('text' in block ? block.text : JSON.stringify(block))).join(' ');
    for (const word of headingOf(contentOf(SEED)).split(' ')) expect(said.toLowerCase()).toContain(word.toLowerCase());
    for (const { origin, confidence, boxes } of blocks) {
      expect(origin).toBe('ocr');
      expect(
        boxes?.every(({ left, right, top, bottom }) => 0 < left && left < right && right < 595 && 0 < top && top < bottom && bottom < 842),
      ).toBe(true);
      if (confidence !== undefined) expect(confidence).toBeGreaterThan(0.5);
    }
  });
});

it('refuses an overlap of more than half, and says where one has no effect', async () => {
  const bytes = Buffer.from('# a\n\nb\n');
  const refused = await convert(url, { name: 'a.md', bytes }, 'json', { chunks: '100', chunk_overlap: '60' });
  expect(refused.error).toMatchObject({ code: 'INVALID_OPTION', details: { option: 'chunk_overlap', received: '60' } });
  const { data } = await settled(url, await convert(url, { name: 'a.md', bytes }, 'json', { chunk_overlap: '20' }));
  expect(data?.warnings.map(({ code }) => code)).toContain('option_ignored');
});
