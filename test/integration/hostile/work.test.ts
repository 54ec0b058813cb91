/** Small files that are large work by depth and repetition: refused before a converter loads them. Large honest ones pass. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { deflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobRecord } from '../../../src/jobs/record.ts';
import { JobRecordSchema } from '../../../src/jobs/record-schema.ts';
import { contentOf } from '../../kit/catalog/content.ts';
import { docx, paragraph, wordTable } from '../../kit/fixtures/documents/ooxml.ts';
import { writeZip, XML } from '../../kit/fixtures/zip.ts';
import { type Answer, convert, convertTo, type Service, settled, startService, untilEnded } from '../../kit/roles/service.ts';

/** On a quiet machine a second at most, and minutes for what is loaded; this leaves room for a busy one on which LibreOffice restarts. */
const REFUSED_WITHIN_S = 20;

let service: Service;
let folder: string;
let database: DatabaseSync;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-work-'));
  service = await startService({ worker: { slots: { image: 1, media: 0, pdf: 1, office: 1, assets: 1, web: 0 } } });
  // LibreOffice has started.
  await convertTo(service.url, folder, await word('warm', paragraph('x')), 'pdf');
  database = new DatabaseSync(join(service.dataDir, 'filemill.db'), { readOnly: true });
});
afterAll(async () => {
  database?.close();
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

const word = (name: string, body: string, ...more: Parameters<typeof docx>[3] & object) =>
  docx(join(folder, `${name}.docx`), contentOf(name), body, more);
const OPEN = '<w:tbl><w:tblGrid><w:gridCol w:w="900"/></w:tblGrid><w:tr><w:tc>';
const CLOSE = `</w:tc></w:tr></w:tbl>${paragraph('')}`;
const nested = (depth: number): string => OPEN.repeat(depth) + paragraph('x') + CLOSE.repeat(depth);
const rowsOf = (count: number, columns: number) =>
  wordTable(Array.from({ length: count }, () => Array.from({ length: columns }, () => 'x')));
const bookmarks = (count: number): string =>
  Array.from({ length: count }, (_, n) => `<w:bookmarkStart w:id="${n}" w:name="b${n}"/><w:bookmarkEnd w:id="${n}"/>`).join('');

const OFFICE = 'urn:oasis:names:tc:opendocument:xmlns:office:1.0';
const TABLE = 'urn:oasis:names:tc:opendocument:xmlns:table:1.0';
const odt = (name: string, body: string) =>
  writeZip(join(folder, `${name}.odt`), {
    mimetype: 'application/vnd.oasis.opendocument.text',
    'content.xml': `${XML}<o:document-content xmlns:o="${OFFICE}" xmlns:t="${TABLE}" o:version="1.3"><o:body><o:text>${body}</o:text></o:body></o:document-content>`,
    'META-INF/manifest.xml': `${XML}<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" m:version="1.3"><m:file-entry m:full-path="/" m:media-type="application/vnd.oasis.opendocument.text"/><m:file-entry m:full-path="content.xml" m:media-type="text/xml"/></m:manifest>`,
  });

const stream = (dictionary: string, content: string): string => {
  const bytes = deflateSync(content).toString('latin1');
  return `<< ${dictionary} /Filter /FlateDecode /Length ${bytes.length} >>\nstream\n${bytes}\nendstream`;
};
/** A page that draws a form `uses` times, which draws another as often, and so on. The page has its resources from the tree. */
function formsWithin(depth: number, uses: number, drawn = '0 0 1 1 re f\n'): { name: string; bytes: Buffer } {
  const draw = '/F Do\n'.repeat(uses);
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 /Resources << /XObject 5 0 R >> >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents [4 0 R] >>',
    stream('', draw),
    '<< /F 6 0 R >>',
    ...Array.from({ length: depth }, (_, level) => {
      const last = level === depth - 1;
      const resources = last ? '' : ` /Resources << /XObject << /F ${7 + level} 0 R >> >>`;
      return stream(`/Type /XObject /Subtype /Form /BBox [0 0 200 200]${resources}`, last ? drawn : draw);
    }),
  ];
  let text = '%PDF-1.5\n';
  const offsets = objects.map((object, index) => {
    const at = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return at;
  });
  const xref = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('')}`;
  const trailer = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`;
  return { name: 'forms.pdf', bytes: Buffer.from(text + xref + trailer, 'latin1') };
}

const noise = (octaves: string, side = 900) => ({
  name: 'noise.svg',
  bytes: Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${side}" height="${side}"><filter id="f"><feTurbulence baseFrequency="0.01" numOctaves="${octaves}"/></filter><rect width="${side}" height="${side}" filter="url(#f)"/></svg>`,
  ),
});

function face(corners: number): string {
  const numbers = Array.from({ length: corners }, (_, n) => n + 1);
  return `${numbers.map((n) => `v ${n} ${(n * n) % 97} 0\n`).join('')}f ${numbers.join(' ')}\n`;
}

type File = string | { readonly name: string; readonly bytes: Buffer };
interface Case {
  readonly file: () => File | Promise<File>;
  readonly to: string;
  readonly limit: string;
  readonly max: number;
  readonly received: number;
}

const REFUSED: Readonly<Record<string, Case>> = {
  '3,000 tables within one another': {
    file: () => word('nested', nested(3_000)),
    to: 'pdf',
    ...{ limit: 'tables within one another', max: 50, received: 3_000 },
  },
  'the same for Pandoc': {
    file: () => word('nested-markup', nested(3_000)),
    to: 'md',
    ...{ limit: 'tables within one another', max: 50, received: 3_000 },
  },
  'tables of HTML within one another': {
    file: () => ({ name: 'nested.html', bytes: Buffer.from(`<html><body>${'<table><tr><td>'.repeat(3_000)}x</body></html>`) }),
    to: 'docx',
    ...{ limit: 'tables within one another', max: 50, received: 3_000 },
  },
  '400 insertions of one document': {
    file: () => word('inserted', `${'<w:altChunk r:id="a1"/>'.repeat(400)}${paragraph('x')}`, ['a1', 'aFChunk', '/word/c.docx']),
    to: 'pdf',
    ...{ limit: 'inserted documents', max: 100, received: 400 },
  },
  '200,000 cells of tables': {
    file: () => word('cells', rowsOf(2_000, 100)),
    to: 'pdf',
    ...{ limit: 'table cells', max: 100_000, received: 200_000 },
  },
  'cells that are repeated': {
    file: () =>
      odt(
        'repeated',
        '<t:table><t:table-row t:number-rows-repeated="2000"><t:table-cell t:number-columns-repeated="100"/></t:table-row></t:table>',
      ),
    to: 'pdf',
    ...{ limit: 'table cells', max: 100_000, received: 200_000 },
  },
  '100,000 bookmarks': {
    file: () => word('bookmarks', `<w:p>${bookmarks(100_000)}</w:p>`),
    to: 'pdf',
    ...{ limit: 'bookmarks', max: 50_000, received: 100_000 },
  },
  '30,000 paragraphs, for Pandoc': {
    file: () => word('paragraphs', paragraph('ab').repeat(30_000)),
    to: 'html',
    ...{ limit: 'paragraphs', max: 25_000, received: 30_000 },
  },
  '20,000 records, each with a key that no other has': {
    file: () => ({ name: 'keys.json', bytes: Buffer.from(JSON.stringify(Array.from({ length: 20_000 }, (_, n) => ({ [`k${n}`]: 1 })))) }),
    to: 'csv',
    ...{ limit: 'cells of a table', max: 10_000_000, received: 400_000_000 },
  },
  'the same for a sheet': {
    file: () => ({ name: 'keys.json', bytes: Buffer.from(JSON.stringify(Array.from({ length: 20_000 }, (_, n) => ({ [`k${n}`]: 1 })))) }),
    to: 'xlsx',
    ...{ limit: 'cells of a table', max: 10_000_000, received: 400_000_000 },
  },
  'one row that is far wider than 30,000 others': {
    file: () => ({ name: 'wide.csv', bytes: Buffer.from(`${'a,'.repeat(29_999)}a\n${'b\n'.repeat(30_000)}`) }),
    to: 'json',
    ...{ limit: 'cells of a table', max: 10_000_000, received: 900_000_000 },
  },
  'one face of 20,000 corners': {
    file: () => ({ name: 'face.obj', bytes: Buffer.from(face(20_000)) }),
    to: 'stl',
    ...{ limit: 'corners of one face', max: 5_000, received: 20_000 },
  },
  'forms of a PDF that are drawn 10⁹ times': {
    file: () => formsWithin(9, 10),
    to: 'png',
    ...{ limit: 'forms drawn', max: 1_000_000, received: 1_111_111_110 },
  },
  'a large form that is drawn often': {
    file: () => formsWithin(1, 10_000, '0 0 1 1 re f\n'.repeat(20_000)),
    to: 'png',
    ...{ limit: 'bytes of content of drawn forms', max: 1_000_000_000, received: 2_600_060_000 },
  },
  'noise of 10⁹ octaves': {
    file: () => noise('1000000000'),
    to: 'png',
    ...{ limit: 'octaves of noise', max: 32, received: 1_000_000_000 },
  },
  'the same, written with a character reference': {
    file: () => noise('&#x31;000000000'),
    to: 'png',
    ...{ limit: 'octaves of noise', max: 32, received: 1_000_000_000 },
  },
};

const recordOf = (id: string): JobRecord =>
  JobRecordSchema.parse(JSON.parse(String(database.prepare('SELECT record FROM jobs WHERE id = ?').get(id)?.['record'])));

/** @returns how the job ended */
async function ended(file: File, to: string): Promise<Answer> {
  const answer = await convert(service.url, file, to, {}, { prefer: 'respond-async' });
  if (answer.data === undefined) return answer;
  const end = await untilEnded(service.url, answer.data.job_id);
  const { startedAt = 0, endedAt = 0 } = recordOf(answer.data.job_id);
  console.log(`${to}: ${((endedAt - startedAt) / 1000).toFixed(2)} s`);
  expect((endedAt - startedAt) / 1000).toBeLessThan(REFUSED_WITHIN_S);
  return end;
}

describe('before anything is loaded', () => {
  it.each(Object.entries(REFUSED))('%s are too many', { timeout: 60_000 }, async (_name, { file, to, limit, max, received }) => {
    const { error } = await ended(await file(), to);
    expect(error?.details).toMatchObject({ reason: 'input_limit', limit, max, received });
  });
});

describe('a large honest file passes', { timeout: 240_000 }, () => {
  it('a report of 500 pages, with tables within tables and bookmarks', async () => {
    const page = (n: number) => paragraph(`Page ${n}. ${'A sentence of the report. '.repeat(40)}`) + (n % 25 === 0 ? rowsOf(10, 5) : '');
    const pages = Array.from({ length: 500 }, (_, n) => page(n)).join('');
    const body = `${pages}${nested(5)}<w:p>${bookmarks(500)}</w:p>`;
    const { path } = await convertTo(service.url, folder, await word('report', body), 'txt');
    expect(await readFile(path, 'utf8')).toContain('Page 499.');
  });

  it('a sheet of 100,000 cells', async () => {
    const rows = Array.from({ length: 10_000 }, (_, n) => `${n}${',7'.repeat(9)}`).join('\n');
    const { path } = await convertTo(service.url, folder, await csv(rows), 'ods');
    expect((await readFile(path)).length).toBeGreaterThan(10_000);
  });

  it('a PDF whose page draws a form 70 times, which draws another 70 times', async () => {
    const { name, bytes } = formsWithin(2, 70);
    const answer = await convert(service.url, { name, bytes }, 'png');
    const end = await settled(service.url, answer);
    expect(end.data?.status).toBe('done');
  });

  it.each([
    ['html', 60_000],
    ['html', 300_000],
    ['md', 60_000],
  ])('a text as %s, of %i lines of two letters', async (to, lines) => {
    const answer = await convert(service.url, { name: 'short.txt', bytes: Buffer.from('ab\n'.repeat(lines)) }, to);
    const { data } = await settled(service.url, answer);
    const text = await (await fetch(data?.output?.url ?? '')).text();
    expect(text.match(/\bab\b/g)?.length).toBe(lines);
    const { startedAt = 0, endedAt = 0 } = recordOf(data?.job_id ?? '');
    // It took LibreOffice a minute, or all of its memory. Pandoc reads the page in two seconds of an idle processor.
    if (to === 'html') expect((endedAt - startedAt) / 1000).toBeLessThan(REFUSED_WITHIN_S);
  });

  it('noise of ten octaves', async () => {
    const answer = await convert(service.url, noise('10', 100), 'png');
    const end = await settled(service.url, answer);
    expect(end.data?.status).toBe('done');
  });
});

async function csv(text: string): Promise<string> {
  const path = join(folder, 'sheet.csv');
  await writeFile(path, text);
  return path;
}
