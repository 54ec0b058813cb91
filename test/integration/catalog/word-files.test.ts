/** What word processors write and Pandoc or LibreOffice by itself does not read: it is in the result, or is said to be left out. */
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { paragraph, relations } from '../../kit/fixtures/documents/ooxml.ts';
import { writeZip, XML } from '../../kit/fixtures/zip.ts';
import { unzip } from '../../kit/judges/documents/text.ts';
import { conversionGround } from './ground.ts';

const ground = conversionGround('word-files');

const W = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const NAMES = `xmlns:w="${W}" xmlns:r="${OFFICE}" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:v="urn:schemas-microsoft-com:vml" xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"`;
const CONTENT = 'application/vnd.openxmlformats-officedocument.wordprocessingml';

/** @param parts names below `word/` without ending, such as `comments` */
async function aDocx(body: string, parts: Readonly<Record<string, string>> = {}, core = ''): Promise<string> {
  const names = Object.keys(parts);
  const overrides = ['document.main', ...names].map((kind) => {
    const name = kind.replace('.main', '');
    return `<Override PartName="/word/${name}.xml" ContentType="${CONTENT}.${kind}+xml"/>`;
  });
  return writeZip(join(await ground.aFolder(), 'a.docx'), {
    '[Content_Types].xml': `${XML}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${overrides.join('')}</Types>`,
    '_rels/.rels': relations(['rId1', 'officeDocument', 'word/document.xml']),
    'word/_rels/document.xml.rels': relations(...names.map((name) => [`${name}1`, name, `${name}.xml`] as const)),
    'word/document.xml': `${XML}<w:document ${NAMES}><w:body>${body}</w:body></w:document>`,
    ...Object.fromEntries(names.map((name) => [`word/${name}.xml`, `${XML}${parts[name]}`])),
    ...(core !== '' && {
      'docProps/core.xml': `${XML}<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/">${core}</cp:coreProperties>`,
    }),
  });
}

const cell = (text: string) => `<w:tc>${paragraph(text)}</w:tc>`;
const box = `<w:txbxContent>${paragraph('boxed words')}</w:txbxContent>`;
const BODY = [
  paragraph('first words'),
  `<w:tbl><w:tr>${cell('aa')}${cell('bb')}</w:tr><w:tr>${cell('cc')}${cell('dd')}</w:tr></w:tbl>`,
  '<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r><w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>plain</w:t></w:r></w:p>',
  `<w:p><w:r><w:t>before the box</w:t></w:r><w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wps:wsp><wps:txbx>${box}</wps:txbx></wps:wsp></w:drawing></mc:Choice><mc:Fallback><w:pict><v:shape><v:textbox>${box}</v:textbox></v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>`,
  paragraph('last words'),
].join('');
const COMMENTS = `<w:comments ${NAMES}><w:comment w:id="0" w:author="A">${paragraph('remark')}</w:comment></w:comments>`;

const checked =
  '<w:p><w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox></w:ffData></w:fldChar></w:r><w:r><w:instrText> FORMCHECKBOX </w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r><w:r><w:t>insured</w:t></w:r></w:p>';

describe('a DOCX by Pandoc', () => {
  it('has the state of the fields of a form', async () => {
    const { path } = await ground.to(await aDocx(checked), 'md');
    expect(await readFile(path, 'utf8')).toBe('☒insured\n');
  });

  it.each(['md', 'html', 'epub', 'txt'])('has its tables and text boxes, and nothing that is hidden, in %s', async (target) => {
    const { path, job } = await ground.to(await aDocx(BODY, { comments: COMMENTS }), target);
    const bytes = await readFile(path);
    const text = target === 'epub' ? [...(await unzip(bytes)).values()].join('\n') : bytes.toString();
    for (const words of ['aa', 'bb', 'cc', 'dd', 'plain', 'before the box', 'last words']) expect(text).toContain(words);
    expect(text.split('boxed words')).toHaveLength(2);
    // LibreOffice makes the text, and shows what is hidden nowhere either.
    expect(text).not.toContain('secret');
    const said = job.warnings.map(({ message }) => message).join(' ');
    if (job.engine?.name === 'Pandoc') expect(said).toMatch(/Comments of the document are left out: 1\..*hides/);
  });

  it('has its title and author in a page and in a book', async () => {
    const file = await aDocx(paragraph('words'), {}, '<dc:title>Kestrel &amp; marble</dc:title><dc:creator>Ann Author</dc:creator>');
    const page = await readFile((await ground.to(file, 'html')).path, 'utf8');
    expect(page).toContain('<title>Kestrel &amp; marble</title>');
    expect(page).toMatch(/<meta name="author" content="Ann Author"/);
    const parts = await unzip(await readFile((await ground.to(file, 'epub')).path));
    const opf = [...parts].find(([name]) => name.endsWith('.opf'))?.[1].toString() ?? '';
    expect(opf).toMatch(/<dc:title[^>]*>Kestrel &amp; marble</);
    expect(opf).toMatch(/<dc:creator[^>]*>Ann Author</);
  });
});

describe('a DOCX by LibreOffice', () => {
  const printed = async (file: string) => {
    const { path, job } = await ground.to(file, 'pdf');
    return { path, said: job.warnings.map(({ message }) => message), text: execFileSync('pdftotext', [path, '-']).toString() };
  };

  it('with a comment in its header is no damaged one', async () => {
    const marked = `<w:commentRangeStart w:id="0"/>${'<w:r><w:t>words above</w:t></w:r>'}<w:commentRangeEnd w:id="0"/><w:r><w:commentReference w:id="0"/></w:r>`;
    const { text, said } = await printed(
      await aDocx(`${paragraph('words below')}<w:sectPr><w:headerReference w:type="default" r:id="header1"/></w:sectPr>`, {
        comments: COMMENTS,
        header: `<w:hdr ${NAMES}><w:p>${marked}</w:p></w:hdr>`,
      }),
    );
    expect(text).toMatch(/words above\s+words below/);
    expect(said).toContain('Comments in headers and footers are left out.');
  });

  /** Where the links of the PDF lead, by another reader. */
  const linksOf = (path: string) =>
    [
      ...execFileSync('qpdf', ['--qdf', '--object-streams=disable', path, '-'])
        .toString('latin1')
        .matchAll(/\/URI \((.*)\)|\/Dest /g),
    ]
      .map(([all, uri]) => uri ?? all.trim())
      .sort();
  const run = (text: string, properties = '') => `<w:r>${properties}<w:t>${text}</w:t></w:r>`;
  const field = (address: string, shown: string) =>
    `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> HYPERLINK "${address}" </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>${shown}<w:r><w:fldChar w:fldCharType="end"/></w:r>`;
  const LINKS = [
    `<w:p><w:hyperlink w:anchor="mark">${run('within')}</w:hyperlink></w:p>`,
    `<w:p>${field('https://field.example/', run('code'))}</w:p>`,
    `<w:p>${field('https://bold.example/', run('bold', '<w:rPr><w:b/></w:rPr>') + run('gone', '<w:rPr><w:rStyle w:val="Gone"/></w:rPr>'))}</w:p>`,
    `<w:p><w:fldSimple w:instr=" HYPERLINK &quot;https://simple.example/&quot; ">${run('simple', '<w:rPr/>')}</w:fldSimple></w:p>`,
    `<w:p><w:bookmarkStart w:id="1" w:name="mark"/>${run('marked')}<w:bookmarkEnd w:id="1"/></w:p>`,
  ].join('');
  const LED_TO = ['/Dest', 'https://bold.example/', 'https://field.example/', 'https://simple.example/'];

  it.each([
    ['without styles', {}],
    [
      'whose styles have none for links',
      {
        styles: `<w:styles ${NAMES}><w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style></w:styles>`,
      },
    ],
  ])('%s has its links in a PDF', async (_, parts) => {
    const { path, text, said } = await printed(await aDocx(LINKS, parts));
    expect([...new Set(linksOf(path))]).toEqual(LED_TO);
    expect(text).toMatch(/within\s+code\s+boldgone\s+simple\s+marked/);
    expect(said).toEqual([]);
  });

  it.each(['', '{\\stylesheet{\\s0 Normal;}{\\*\\cs7 Known;}}'])('has those of an RTF, styles: %s', async (styles) => {
    const file = join(await ground.aFolder(), 'a.rtf');
    const link = '{\\field{\\*\\fldinst{HYPERLINK "https://rtf.example/"}}{\\fldrslt{\\b led}}}';
    await writeFile(file, `{\\rtf1\\ansi${styles}{\\fonttbl{\\f0 Arial;}}\\f0 before ${link} behind\\par}`);
    const { path, text } = await printed(file);
    expect(linksOf(path)).toEqual(['https://rtf.example/']);
    expect(text.trim()).toBe('before led behind');
  });

  it('has its formulas', async () => {
    const { text } = await printed(
      await aDocx(
        `<w:p><m:oMath><m:f><m:num><m:r><m:t>kestrel</m:t></m:r></m:num><m:den><m:r><m:t>42</m:t></m:r></m:den></m:f></m:oMath></w:p>`,
      ),
    );
    expect(text).toMatch(/kestrel\s+42/);
  });
});
