/** Text of pages in the order in which it is read, and pages with titles: of PDFs that Chromium and LibreOffice print, and of texts without a title. */
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parse } from 'parse5';
import { describe, expect, it } from 'vitest';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { conversionGround } from './ground.ts';

const ground = conversionGround('pages-read');

/** @returns the title and the text of each paragraph, as a browser reads them */
function readPage(html: string): { readonly title: string; readonly paragraphs: readonly string[] } {
  const found = { title: '', paragraphs: [] as string[] };
  type Node = { readonly nodeName: string; readonly value?: string; readonly childNodes?: readonly Node[] };
  const textOf = ({ value, childNodes = [] }: Node): string => value ?? childNodes.map(textOf).join('');
  const visit = (node: Node): void => {
    if (node.nodeName === 'title') found.title = textOf(node);
    else if (node.nodeName === 'p') found.paragraphs.push(textOf(node).replaceAll('\u00a0', ' ').trim());
    else node.childNodes?.forEach(visit);
  };
  visit(parse(html) as unknown as Node);
  return found;
}

const write = async (name: string, content: string | Buffer): Promise<string> => {
  const path = join(await ground.aFolder(), name);
  await writeFile(path, content);
  return path;
};

const PAGE = `<!DOCTYPE html><html lang="he"><head><meta charset="utf-8"></head><body dir="rtl" style="font-family:'DejaVu Sans'">
<h1>שלום עולם</h1><p>זהו <b>מסמך קצר</b> של 2024 ו-ABC def בתוך (סוגריים) וגם 3.5% מחיר.</p><p dir="ltr">A line with שלום עולם inside it.</p>
<table border="1" cellpadding="8" style="width:100%"><tr><td>שם</td><td>2023</td><td>2024</td></tr><tr><td>דוד</td><td>41</td><td>52</td></tr>
<tr><td>רות</td><td>37</td><td>63</td></tr></table></body></html>`;

describe('a PDF that is read from right to left', () => {
  it('is read so in Markdown and in HTML', async () => {
    const printed = (await ground.to(await write('a.html', PAGE), 'pdf')).path;
    const markdown = await readFile((await ground.to(printed, 'md')).path, 'utf8');
    const { paragraphs } = readPage(await readFile((await ground.to(printed, 'html')).path, 'utf8'));
    for (const text of [markdown, paragraphs.join(' ')]) {
      expect(text).toContain('שלום עולם');
      expect(text).toMatch(/זהו\s+מסמך קצר\s+של 2024\s+ו-ABC def\s+בתוך \(סוגריים\)\s+וגם 3\.5%\s+מחיר\./);
      expect(text).toContain('A line with שלום עולם inside it.');
    }
    expect(markdown).toContain('| שם | 2023 | 2024 |\n| --- | --- | --- |\n| דוד | 41 | 52 |\n| רות | 37 | 63 |');
    expect(paragraphs.join(' ')).toMatch(/שם 2023 2024 דוד 41 52 רות 37 63/);
  });
});

describe('the title of a page', () => {
  it.each<[what: string, name: string, content: string | Buffer, title: string]>([
    ['of a PDF without a title is its first words', 'a.pdf', pdf([['Kestrel & marble']]), 'Kestrel & marble'],
    ['of a PDF without words says that it has none', 'a.pdf', pdf([[]]), 'Untitled'],
    ['of a text with headings is the first of them', 'a.md', 'Some words.\n\n# Kestrel *and* <marble>\n', 'Kestrel and'],
    ['of a text without headings is its first words', 'a.md', 'Some *words* & more.\n\nOthers.\n', 'Some words & more.'],
    [
      'of a text that has one is that',
      'a.tex',
      '\\title{Lantern}\n\\begin{document}\n\\maketitle\n\\section{Other}\nx\n\\end{document}\n',
      'Lantern',
    ],
  ])('%s', async (_, name, content, title) => {
    const { path } = await ground.to(await write(name, content), 'html');
    const html = await readFile(path, 'utf8');
    expect(readPage(html).title.trim()).toBe(title);
    expect(html).not.toMatch(/\/(?:tmp|var|job|hop-\d)/);
  });

  it('of a book is the first heading of its text', async () => {
    const { path } = await ground.to(await write('a.md', 'Some words.\n\n# Kestrel and marble\n'), 'epub');
    const files = execFileSync('unzip', ['-p', path, '*.opf']).toString();
    expect(/<dc:title[^>]*>([^<]*)</.exec(files)?.[1], basename(path)).toBe('Kestrel and marble');
  });
});
