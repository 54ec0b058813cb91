/** Documents and drawings as strangers send them: packed, or with something before or behind them. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PNG } from '../../../src/catalog/known-good.ts';
import { latin1 } from '../../kit/catalog/bytes.ts';
import { contentOf } from '../../kit/catalog/content.ts';
import { fixtures } from '../../kit/fixtures/documents/documents.ts';
import { writeZip } from '../../kit/fixtures/zip.ts';
import { unzip } from '../../kit/judges/documents/text.ts';
import { convert, convertText, type Service, settled } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const SEED = 'as it was sent';
let service: Pick<Service, 'url'>;
let folder: string;
beforeAll(async () => {
  service = await sharedService();
  folder = await mkdtemp(join(tmpdir(), 'filemill-packed-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

const made = async (format: string): Promise<Buffer> => readFile((await fixtures[format]?.(SEED, folder)) ?? '');
const zipped = async (parts: Readonly<Record<string, string | Buffer>>) => readFile(await writeZip(join(folder, 'made.zip'), parts));
const WORDS = contentOf(SEED).words;
const send = (name: string, content: Buffer, target: string) => convertText(service, name, content, target);
async function expectWords(name: string, content: Buffer, target: string): Promise<void> {
  const { text, answer } = await send(name, content, target);
  expect(answer.error).toBeUndefined();
  for (const word of WORDS) expect(text.toLowerCase()).toContain(word);
}

describe('something before or behind a document', () => {
  it.each([1, 300])('such as %i zeros behind RTF', async (count) => {
    const rtf = Buffer.concat([await made('rtf'), Buffer.alloc(count)]);
    await expectWords('a.rtf', rtf, 'txt');
    await expectWords('a.rtf', rtf, 'md');
  });

  it('such as the header of an answer before a PDF', async () => {
    const pdf = Buffer.concat([
      latin1(`HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n${'X-Y: z\r\n'.repeat(60)}\r\n`),
      await made('pdf'),
    ]);
    for (const target of ['txt', 'html']) await expectWords('a.pdf', pdf, target);
    const { answer } = await send('a.pdf', pdf, 'png');
    expect(answer.error).toBeUndefined();
  });

  it('such as the other parts before the type of an OpenDocument', async () => {
    const parts = [...(await unzip(await made('odt')))].filter(([name]) => name !== 'mimetype');
    await expectWords('a.odt', await zipped({ ...Object.fromEntries(parts), mimetype: 'application/vnd.oasis.opendocument.text' }), 'md');
  });
});

describe('a packed drawing', () => {
  const red = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20" fill="red"/></svg>';
  const sent = async (content: Buffer, target: string) =>
    settled(service.url, await convert(service.url, { name: 'a.svgz', bytes: content }, target));

  it('is drawn, also where it is in UTF-16', async () => {
    for (const drawing of [
      gzipSync(`<?xml version="1.0"?>\n<!-- made by hand -->\n${red}`),
      gzipSync(Buffer.from(`\ufeff${red}`, 'utf16le')),
    ]) {
      const { data } = await sent(drawing, 'png');
      const { channels } = await sharp(Buffer.from(await (await fetch(data?.output?.url ?? '')).arrayBuffer())).stats();
      expect(channels.slice(0, 3).map(({ mean }) => mean)).toEqual([255, 0, 0]);
      expect(data?.warnings).toEqual([]);
    }
    expect((await sent(gzipSync(red), 'emf')).data?.status).toBe('done');
  });

  it('is refused where it is too much, or damaged', async () => {
    const bomb = gzipSync(Buffer.concat([latin1(red.replace('</svg>', '')), Buffer.alloc(65 << 20, ' '), latin1('</svg>')]));
    expect((await sent(bomb, 'png')).error?.details).toMatchObject({ reason: 'input_limit' });
    const noise = gzipSync(latin1(red.replace('</svg>', Array.from({ length: 3000 }, (_, at) => `<g id="${at * 7919}"/>`).join(''))));
    expect((await sent(noise.subarray(0, 3000), 'png')).error?.details).toMatchObject({ reason: 'corrupt_input' });
  });
});

describe('a book whose package names its texts by `../`', () => {
  it('is read with its pictures, and left in its own folders', async () => {
    const page = (body: string) => `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title></head><body>${body}</body></html>`;
    const book = await zipped({
      mimetype: 'application/epub+zip',
      'META-INF/container.xml':
        '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="A B/opf/c.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
      'A B/opf/c.opf':
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>T</dc:title><dc:identifier id="i">x</dc:identifier><dc:language>en</dc:language></metadata><manifest><item id="c" href="../text/c%201.xhtml" media-type="application/xhtml+xml"/><item id="n" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/><item id="p" href="../p.png" media-type="image/png"/></manifest><spine><itemref idref="c"/></spine></package>',
      'A B/opf/nav.xhtml': page(
        '<nav xmlns:epub="http://www.idpf.org/2007/ops" epub:type="toc"><ol><li><a href="../text/c%201.xhtml">c</a></li></ol></nav>',
      ),
      'A B/text/c 1.xhtml': page('<h1>Kestrel</h1><p>over <b>marble</b></p><p><img src="../p.png" alt="a point"/></p>'),
      'A B/p.png': Buffer.from(PNG.content, 'base64'),
    });
    const { text, answer } = await send('a.epub', book, 'md');
    expect(answer.error).toBeUndefined();
    expect(text).toMatch(/# Kestrel\n\nover \*\*marble\*\*/);
    expect((await send('a.epub', book, 'html')).text).toContain(`src="data:image/png;base64,${PNG.content}"`);
  });
});

it('a packed book is read by each engine', async () => {
  const fb2 = await zipped({ 'a book.fb2': await made('fb2') });
  await expectWords('a.fb2.zip', fb2, 'md');
  const { answer } = await send('a.fb2.zip', fb2, 'mobi');
  expect(answer.error).toBeUndefined();
  expect(answer.data?.warnings.map(({ code }) => code)).not.toContain('content_differs');
});
