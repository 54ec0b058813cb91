/** A plain text as a page. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'parse5';
import { afterAll, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'text-page-'));
afterAll(() => rmSync(folder, { recursive: true }));
const PROGRAM = join(import.meta.dirname, '../../../../src/exec/programs/documents/text-page.ts');
let made = 0;

function pageOf(text: string): string {
  const path = join(folder, String(++made));
  writeFileSync(`${path}.txt`, text);
  execFileSync(process.execPath, [PROGRAM, `${path}.txt`, `${path}.html`]);
  return readFileSync(`${path}.html`, 'utf8');
}
interface Node {
  readonly nodeName: string;
  readonly value?: string;
  readonly childNodes?: readonly Node[];
}
/** The lines of each paragraph. */
function paragraphs(page: string): string[] {
  const all = (node: Node): Node[] => [node, ...(node.childNodes ?? []).flatMap(all)];
  return all(parse(page) as Node)
    .filter(({ nodeName }) => nodeName === 'p')
    .map(({ childNodes = [] }) => childNodes.map(({ nodeName, value }) => (nodeName === 'br' ? '\n' : value)).join(''));
}

it.each<[says: string, text: string, paragraphs: readonly string[]]>([
  ['has its lines and paragraphs', 'a\nb\n\n  c\td\n', ['a\nb', '  c\td']],
  ['has lines of any system', 'a\r\nb\rc\u2028d\n\r\ne', ['a\nb\nc\nd', 'e']],
  ['has pages', 'a\fb', ['a\nb']],
  ['shows what HTML would obey', '<script>&amp;"\n', ['<script>&amp;"']],
  ['holds no control characters', 'a\0b\x1b[2J', ['a\ufffdb\ufffd[2J']],
  ['is empty where it is empty', '\ufeff\n \n', []],
])('%s', (_, text, expected) => {
  expect(paragraphs(pageOf(text))).toEqual(expected);
});

it('is the same wherever it is cut for reading', () => {
  const line = `${'é'.repeat(524_287)}\r\n`;
  expect(paragraphs(pageOf(`x${line}${line}`))).toEqual([`x${line.trim()}\n${line.trim()}`]);
});

it('has no title that its text does not have', () => {
  expect(pageOf('The first line')).toContain('<title></title>');
});
