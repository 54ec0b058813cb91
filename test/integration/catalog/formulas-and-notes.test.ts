/** Formulas of a Markdown text, and notes of a book, in what becomes of them. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { zipOf } from '../../../src/exec/programs/archives/zip.ts';
import { unzip } from '../../kit/judges/documents/text.ts';
import { conversionGround } from './ground.ts';

const ground = conversionGround('formulas');

async function textOf(path: string, part: string): Promise<string> {
  return String((await unzip(await readFile(path))).get(part));
}

describe('a text with formulas and prices in dollars', () => {
  const WORDS = 'It is $5 and $10, US$20 and CA$30, in $HOME/$USER.';
  const text = `# Prices\n\n${WORDS}\n\nThis is $x^2 + y_1$, and $\\frac{a}{b}$.\n\n$$\n\\int_0^1 x\\,dx\n$$\n\nNot \`$code$\`.\n`;
  const written = async () => {
    const path = join(await ground.aFolder(), 'prices.md');
    await writeFile(path, text);
    return path;
  };

  it('has three formulas as a page, and prices', async () => {
    const page = await readFile((await ground.to(await written(), 'html')).path, 'utf8');
    expect(page.split('<math ').length - 1).toBe(3);
    expect(page.replaceAll(/\s+/g, ' ')).toContain(WORDS);
    expect(page).toContain('<mfrac><mi>a</mi><mi>b</mi></mfrac>');
    expect(page).toContain('<code>$code$</code>');
  });

  it('has three formulas as DOCX and ODT, and prices', async () => {
    const docx = await textOf((await ground.to(await written(), 'docx')).path, 'word/document.xml');
    expect(docx.split('<m:oMath>').length - 1).toBe(3);
    expect(docx.replaceAll(/<[^>]*>/g, '')).toContain(WORDS);
    const { path } = await ground.to(await written(), 'odt');
    expect((await textOf(path, 'content.xml')).split('<draw:object').length - 1).toBe(3);
  });

  it('has its formulas in LaTeX, and in a book', async () => {
    const latex = await readFile((await ground.to(await written(), 'tex')).path, 'utf8');
    expect(latex).toContain('\\(x^2 + y_1\\)');
    const { path } = await ground.to(await written(), 'epub');
    expect(await textOf(path, 'EPUB/text/ch001.xhtml')).toContain('<mfrac>');
  });
});

describe('an ODT with a formula', () => {
  const office = 'urn:oasis:names:tc:opendocument:xmlns';
  const names = ['office', 'text', 'draw:drawing', 'svg:svg-compatible'].map((name) => {
    const [prefix, full = prefix] = name.split(':');
    return `xmlns:${prefix}="${office}:${full}:1.0"`;
  });
  const math = '<math xmlns="http://www.w3.org/1998/Math/MathML"><mfrac><mi>a</mi><mi>b</mi></mfrac></math>';
  /** Pandoc names the folder with a slash at its end, LibreOffice without one. */
  const anOdt = async (named: string) => {
    const path = join(await ground.aFolder(), 'a.odt');
    const entry = (name: string, type: string) => `<manifest:file-entry manifest:full-path="${name}" manifest:media-type="${type}"/>`;
    const kind = 'application/vnd.oasis.opendocument';
    const parts = [
      ['mimetype', `${kind}.text`],
      [
        'content.xml',
        `<office:document-content ${names.join(' ')} xmlns:xlink="http://www.w3.org/1999/xlink" office:version="1.2"><office:body><office:text><text:p>kestrel <draw:frame text:anchor-type="as-char" svg:width="1in" svg:height="1in"><draw:object xlink:href="${named}" xlink:type="simple"/></draw:frame> marble</text:p></office:text></office:body></office:document-content>`,
      ],
      ['Formula/content.xml', math],
      [
        'META-INF/manifest.xml',
        `<manifest:manifest xmlns:manifest="${office}:manifest:1.0" manifest:version="1.2">${entry('/', `${kind}.text`)}${entry('content.xml', 'text/xml')}${entry('Formula/', `${kind}.formula`)}${entry('Formula/content.xml', 'text/xml')}</manifest:manifest>`,
      ],
    ] as const;
    await writeFile(path, Buffer.concat([...zipOf(parts.map(([name, text]) => ({ name, bytes: Buffer.from(text) })))]));
    return path;
  };

  it.each(['./Formula', './Formula/', 'Formula/'])('named %s, and no styles, has it in Markdown, in a page and in DOCX', async (named) => {
    const file = await anOdt(named);
    expect(await readFile((await ground.to(file, 'md')).path, 'utf8')).toMatch(/kestrel \$+\\frac\{a\}\{b\}\$+ marble/);
    expect(await readFile((await ground.to(file, 'html')).path, 'utf8')).toContain('<mfrac><mi>a</mi><mi>b</mi></mfrac>');
    expect(await textOf((await ground.to(file, 'docx')).path, 'word/document.xml')).toContain('<m:oMath');
  });
});

describe('the notes of a book', () => {
  const page = (body: string) =>
    Buffer.from(
      `<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head><title>T</title></head><body>${body}</body></html>`,
    );
  const refer = (href: string, word: string) => `<a epub:type="noteref" href="${href}">${word}</a>`;
  const chapter =
    `<h1>Chapter</h1><p>Here${refer('#n1', '1')}, there${refer('notes.xhtml#n2', '2')}, in a list${refer('#n3', '3')}, in this file` +
    `${refer('chapter.xhtml#n4', '4')} and nowhere${refer('#n5', 'five')}.</p><aside epub:type="footnote" id="n1"><p>The first note.</p></aside>` +
    '<section epub:type="footnotes"><ol><li epub:type="footnote" id="n3"><p>The third note.</p></li></ol></section>' +
    '<aside epub:type="footnote" id="n4"><p>The fourth note.</p></aside>';
  const book = async () => {
    const path = join(await ground.aFolder(), 'book.epub');
    const item = (id: string) => `<item id="${id}" href="${id}.xhtml" media-type="application/xhtml+xml"/>`;
    const parts = [
      ['mimetype', 'application/epub+zip'],
      [
        'META-INF/container.xml',
        '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="OEBPS/p.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
      ],
      [
        'OEBPS/p.opf',
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">' +
          '<dc:identifier id="i">x</dc:identifier><dc:title>Notes</dc:title><dc:language>en</dc:language></metadata>' +
          `<manifest>${item('chapter')}${item('notes')}</manifest><spine><itemref idref="chapter"/><itemref idref="notes"/></spine></package>`,
      ],
      ['OEBPS/chapter.xhtml', page(chapter)],
      [
        'OEBPS/notes.xhtml',
        page(
          '<h2>Notes</h2><aside epub:type="footnote" id="n2"><p>The second note.</p></aside><aside epub:type="footnote" id="n9"><p>A note that is apart.</p></aside>',
        ),
      ],
    ] as const;
    const bytes = [...zipOf(parts.map(([name, content]) => ({ name, bytes: Buffer.from(content) })))];
    await writeFile(path, Buffer.concat(bytes));
    return path;
  };

  it.each(['md', 'txt', 'html', 'docx', 'odt', 'rtf', 'tex'])('are all in it as %s', async (target) => {
    const { path } = await ground.to(await book(), target);
    const part = { docx: 'word/footnotes.xml', odt: 'content.xml' }[target];
    const text = part === undefined ? await readFile(path, 'utf8') : await textOf(path, part);
    const words = text.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ');
    for (const note of ['first', 'second', 'third', 'fourth'])
      expect(words.split(`The ${note} note.`).length - 1, `${note}: ${words.slice(0, 500)}`).toBe(1);
    if (part === undefined) expect(words).toContain('five');
    if (target !== 'docx') expect(words).toContain('A note that is apart.');
  });
});
