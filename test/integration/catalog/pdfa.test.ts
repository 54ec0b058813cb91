/** Documents as PDF/A-2b, judged by veraPDF: what their parts become, and what is refused because no PDF/A can hold it. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contentOf } from '../../kit/catalog/content.ts';
import { fixtures } from '../../kit/fixtures/documents/documents.ts';
import { flat } from '../../kit/fixtures/documents/letters.ts';
import { docx } from '../../kit/fixtures/documents/ooxml.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { judge } from '../../kit/judges/documents/documents.ts';
import { judgePdfA } from '../../kit/judges/documents/pdfa.ts';
import { convert, convertTo, type Service, settled } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
const SEED = 'documents for an archive';
let service: Pick<Service, 'url'>;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-pdfa-'));
  service = await sharedService();
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});
const archived = async (file: string, fields: Readonly<Record<string, string>> = {}) =>
  (await convertTo(service.url, home, file, 'pdf', { pdfa: '2b', ...fields })).path;
async function written(name: string, content: string): Promise<string> {
  await writeFile(join(home, name), content);
  return join(home, name);
}

const picture = (bytes: Buffer) =>
  `<text:p><draw:frame svg:width="4cm" svg:height="4cm" text:anchor-type="as-char"><draw:image><office:binary-data>${bytes.toString('base64')}</office:binary-data></draw:image></draw:frame></text:p>`;

/** All that a PDF/A is particular about: colours, transparency, comments, links, letters that no font has, letters in colour. */
async function demanding(): Promise<string> {
  const square = (channels: 3 | 4, background: object) =>
    sharp({ create: { width: 40, height: 40, channels, background: background as never } });
  const pictures = [
    await square(4, { r: 255, g: 0, b: 0, alpha: 0.5 }).png().toBuffer(),
    await square(3, { r: 0, g: 80, b: 200 }).toColourspace('cmyk').jpeg().toBuffer(),
    await square(3, { r: 90, g: 90, b: 90 }).toColourspace('b-w').jpeg().toBuffer(),
    Buffer.from(
      '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="90"><rect width="80" height="80" fill="red" opacity="0.4"/><text x="5" y="50">drawn</text></svg>',
    ),
  ];
  const body =
    `<text:h text:outline-level="1">Title 漢字 العربية</text:h><text:p>Private letters \u{e123} and 😀 ♥.` +
    '<office:annotation><text:p>a comment</text:p></office:annotation></text:p>' +
    `<text:p><text:a xlink:href="https://example.org/">a link</text:a></text:p>${pictures.map(picture).join('')}`;
  const spaces = ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"';
  return flat('text', '', body).replace('<office:document', `<office:document${spaces}`);
}

it('is told apart from a PDF that is none', async () => {
  const file = (await fixtures['docx']?.(SEED, home)) ?? '';
  const [plain, one] = [(await convertTo(service.url, home, file, 'pdf', {})).path, await archived(file)];
  expect(await judgePdfA([plain, one])).toEqual([expect.stringContaining('6.6.2.1'), 'conforms']);
});

it.each(['docx', 'doc', 'odt', 'rtf', 'txt', 'html', 'xlsx', 'xls', 'ods', 'csv', 'pptx', 'ppt', 'odp', 'odg', 'md', 'epub'])(
  'is made of a document: %s',
  async (format) => {
    const path = await archived((await fixtures[format]?.(SEED, home)) ?? '');
    await judge(path, 'pdf', SEED);
    expect(await judgePdfA([path])).toEqual(['conforms']);
    expect((await readFile(path)).includes('<pdfaid:part>2</pdfaid:part>')).toBe(true);
  },
);

it('takes pictures with transparency and in CMYK, comments, links and letters that no font has', async () => {
  const path = await archived(await written('demanding.fodt', await demanding()));
  expect(await judgePdfA([path])).toEqual(['conforms']);
  const { stdout: text } = await run('pdftotext', [path, '-']);
  for (const word of ['Title', '漢字', 'Private', 'a link', 'drawn']) expect(text).toContain(word);
  expect((await run('pdfimages', ['-list', path])).stdout).toContain('smask');
  expect((await readFile(path)).includes('https://example.org/')).toBe(true);
});

it('is made of a document that speaks of what is refused', async () => {
  const words = 'About /Type /XObject /Subtype /Form';
  const link = '<text:p><text:a xlink:type="simple" xlink:href="https://example.org/Type/Annot/Subtype/Widget">a link</text:a></text:p>';
  const titled = flat('text', '', link)
    .replace('<office:document', '<office:document xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"')
    .replace('<office:body>', `<office:meta><dc:title>${words}</dc:title></office:meta><office:body>`);
  const path = await archived(await written('titled.fodt', titled));
  expect((await readFile(path)).includes(words)).toBe(true);
  expect(await judgePdfA([path])).toEqual(['conforms']);
});

it('draws what a form’s fields hold', async () => {
  const field = (kind: string, holds: string) =>
    `<w:p><w:sdt><w:sdtPr>${kind}</w:sdtPr><w:sdtContent><w:r><w:t>${holds}</w:t></w:r></w:sdtContent></w:sdt></w:p>`;
  const choice = '<w:dropDownList><w:listItem w:displayText="chosen" w:value="1"/></w:dropDownList>';
  const file = join(home, 'form.docx');
  await docx(file, contentOf(SEED), field('<w:text/>', 'typed') + field(choice, 'chosen'));
  const path = await archived(file);
  expect(await judgePdfA([path])).toEqual(['conforms']);
  expect((await run('pdftotext', [path, '-'])).stdout).toMatch(/typed\s+chosen/);
});

it('goes together with the other options of a PDF', async () => {
  const file = (await fixtures['pptx']?.(SEED, home)) ?? '';
  const path = await archived(file, { pages: '2', img_quality: '30' });
  expect(await judgePdfA([path])).toEqual(['conforms']);
  expect((await run('pdfinfo', [path])).stdout).toMatch(/^Pages: +1$/m);
});

describe('what is refused', () => {
  async function refusal(name: string, content: string) {
    const answer = await settled(service.url, await convert(service.url, { name, bytes: Buffer.from(content) }, 'pdf', { pdfa: '2b' }));
    return answer.error;
  }
  const slide = (shape: string) =>
    flat('presentation', '', `<draw:page><draw:frame svg:width="9cm" svg:height="5cm">${shape}</draw:frame></draw:page>`).replace(
      '<office:document',
      '<office:document xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"',
    );

  it('video in a document', async () => {
    const video = '<draw:plugin xlink:href="file:///x.mp4" draw:mime-type="application/vnd.sun.star.media"/>';
    expect(await refusal('a.fodp', slide(video))).toMatchObject({
      message: expect.stringContaining('sound or video'),
      details: { option: 'pdfa', received: '2b' },
    });
  });

  it('a PDF as a picture in a document: it brings its own fonts and colours', async () => {
    const shown = `<draw:image><office:binary-data>${Buffer.from(pdf([['shown']])).toString('base64')}</office:binary-data></draw:image>`;
    expect(await refusal('a.fodp', slide(shown))).toMatchObject({
      message: expect.stringContaining('a PDF as a picture'),
      details: { option: 'pdfa', received: '2b' },
    });
  });
});

it('has no effect on a PDF, nor on what becomes no PDF, and its client is told', async () => {
  const source = (await fixtures['pdf']?.(SEED, home)) ?? '';
  const letter = (await fixtures['docx']?.(SEED, home)) ?? '';
  for (const [file, target] of [
    [source, 'pdf'],
    [letter, 'png'],
    [letter, 'odt'],
  ] as const) {
    const { job } = await convertTo(service.url, home, file, target, { pdfa: '2b' });
    expect(
      job.warnings.map(({ code }) => code),
      `${file} to ${target}`,
    ).toContain('option_ignored');
  }
});
