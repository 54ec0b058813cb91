/** Pages as Markdown: headings, lists and tables are found by the places and sizes of words, printed or seen. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { convertTo, type Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

let service: Pick<Service, 'url'>;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-pages-'));
  service = await sharedService();
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});

const to = async (file: string, target: string, fields: Readonly<Record<string, string>> = {}) =>
  (await convertTo(service.url, home, file, target, fields)).path;
const textIn = async (file: string, fields: Readonly<Record<string, string>> = {}) => readFile(await to(file, 'md', fields), 'utf8');

const LONG =
  'The harbour lies below the orchard and the meadow, where a lantern hangs over the door of each house, and anybody passing by at night sees where the way turns.';
const PAGE = `<!DOCTYPE html><html><head><style>td, th { padding: 3pt 9pt }</style></head><body>
<h1>Kestrel and Marble</h1><p>${LONG} Its name is snake_case, and 3 &lt; 4.</p>
<h2>Things to bring</h2><ul><li>${LONG}</li><li>candles<ul><li>white ones</li><li>yellow ones</li></ul></li><li>a rope</li></ul>
<p>In this order:</p><ol><li>timber</li><li>copper</li></ol>
<h2>Numbers of the year</h2>
<table><tr><th>Region</th><th>Left</th><th>Remark</th></tr><tr><td>North</td><td>3444</td><td>nothing else</td></tr>
<tr><td>South coast</td><td>3928</td><td>counted twice</td></tr><tr><td>Total</td><td>7372</td><td>units</td></tr></table>
<p>These are the last words.</p></body></html>`;

const page = async (content = PAGE): Promise<string> => {
  const path = join(await mkdtemp(join(home, 'page-')), 'page.html');
  await writeFile(path, content);
  return path;
};

const TABLE = [
  '| Region | Left | Remark |',
  '| --- | --- | --- |',
  '| North | 3444 | nothing else |',
  '| South coast | 3928 | counted twice |',
  '| Total | 7372 | units |',
].join('\n');

describe('a page', () => {
  it('of a PDF keeps headings, paragraphs, lists in lists, and tables', async () => {
    // By LibreOffice, whose bullets are letters.
    expect(await textIn(await to(await to(await page(), 'docx'), 'pdf'))).toBe(
      `# Kestrel and Marble

${LONG} Its name is snake\\_case, and 3 \\< 4.

## Things to bring

- ${LONG}
- candles
  - white ones
  - yellow ones
- a rope

In this order:

1. timber
2. copper

## Numbers of the year

${TABLE}

These are the last words.
`,
    );
  });

  it('of a PDF keeps a list behind the table that stands above it', async () => {
    // Poppler lists what begins at the margin first.
    const centred = await page(
      `<!DOCTYPE html><html><head><style>table { margin: 0 auto } td, th { padding: 3pt 9pt }</style></head><body><p>${LONG}</p>
<table><tr><th>Year</th><th>Sum</th></tr><tr><td>2025</td><td>10</td></tr><tr><td>2026</td><td>12</td></tr></table>
<ul style="list-style: none"><li>• timber</li><li>• copper</li></ul><p>These are the last words.</p></body></html>`,
    );
    expect(await textIn(await to(centred, 'pdf'))).toBe(
      `${LONG}\n\n| Year | Sum |\n| --- | --- |\n| 2025 | 10 |\n| 2026 | 12 |\n\n- timber\n- copper\n\nThese are the last words.\n`,
    );
  });

  it('that is a picture keeps them, too', async () => {
    const picture = await to(await to(await page(), 'pdf'), 'png', { dpi: '200' });
    const seen = await textIn(picture);
    expect(seen).toMatch(/^# Kestrel and Marble\n\nThe harbour lies/);
    expect(seen).toContain('\n## Things to bring\n');
    expect(seen).toMatch(/\n- candles\n\n? {0,4}- white ones\n {0,4}- yellow ones\n/);
    expect(seen).toContain('1. timber\n2. copper\n');
    expect(seen).toContain(`\n## Numbers of the year\n\n${TABLE}\n`);
    expect(seen).toMatch(/These are the last words\.\n$/);
    // A PDF without text, page by page.
    const scan = await textIn(await to(picture, 'pdf'));
    expect(scan).toMatch(/^# Kestrel and Marble\n/);
    // What OCR takes a line of the table for is its own.
    expect(scan).toContain('| South coast | 3928 | counted twice |\n| Total | 7372 | units |\n');
  });

  it('of two columns is no table, and a word that is divided is whole', async () => {
    const words = Array.from({ length: 12 }, () => LONG.replace('anybody', 'any&shy;body')).join(' ');
    const columns = await page(`<!DOCTYPE html><html lang="en"><body style="columns: 2; text-align: justify">${words}</body></html>`);
    const text = await textIn(await to(columns, 'pdf'));
    expect(text).not.toContain('|');
    expect(text.match(/sees where the way turns\./g)).toHaveLength(12);
    expect(text.match(/anybody/g)).toHaveLength(12);
  });
});

describe('the wrappers of a page', () => {
  const WRAPPED = `<!DOCTYPE html><html><head><title>t</title></head><body><div class="outer"><div class="inner" id="part">
<h1>Kestrel</h1><div>One <span class="a">word</span> and <em>another</em>.</div><div>A second line, <a href="#end">see the end</a>.</div>
<p><span style="color: red">red</span></p></div></div><div id="end"><p>The end.</p></div></body></html>`;

  it.each([
    [
      'md',
      '---\ntitle: t\n---\n\n# Kestrel\n\nOne word and *another*.\n\nA second line, [see the end](#end).\n\nred\n\n<span id="end"></span>The end.\n',
    ],
    ['rst', '=\nt\n=\n\nKestrel\n=======\n\nOne word and *another*.\n\nA second line, `see the end <#end>`__.\n\nred\n\nThe end.\n'],
  ])('are no part of its text as %s, and what a link leads to keeps its name', async (target, expected) => {
    expect(await readFile(await to(await page(WRAPPED), target), 'utf8')).toBe(expected);
  });

  it('are no part of the text of a book', async () => {
    const text = await textIn(await to(await page(WRAPPED), 'epub'));
    expect(text).not.toMatch(/<div|class=/);
    expect(text).toContain('\nlanguage: und\n');
    expect(text).toContain('# Kestrel\n\nOne word and *another*.\n\nA second line, [see the end](');
  });
});
