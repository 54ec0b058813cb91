/** Which sheet, how it fits a page, hidden slides and notes, through HTTP, judged by the words of the result. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { convert } from '../../kit/roles/service.ts';
import { conversionGround } from './ground.ts';

const run = promisify(execFile);
const ground = conversionGround('office-options');
const codes = (job: { warnings: readonly { code: string }[] }) => job.warnings.map(({ code }) => code);
const NAMES = ['office', 'table', 'text', 'style', 'draw:drawing', 'presentation', 'svg:svg-compatible', 'fo:xsl-fo-compatible'];
const namespaces = NAMES.map((name) => {
  const [prefix = '', of = prefix] = name.split(':');
  return `xmlns:${prefix}="urn:oasis:names:tc:opendocument:xmlns:${of}:1.0"`;
}).join(' ');
const flat = (kind: string, content: string) =>
  `<?xml version="1.0"?><office:document ${namespaces} xmlns:of="urn:oasis:names:tc:opendocument:xmlns:of:1.2" office:version="1.2" office:mimetype="application/vnd.oasis.opendocument.${kind}">${content}</office:document>`;

const textOfPdf = async (path: string) => (await run('pdftotext', ['-layout', path, '-'])).stdout;
const pagesOf = async (path: string) => (await textOfPdf(path)).split('\f').length - 1;

describe('a document of two sheets', () => {
  const cell = (text: string) => `<table:table-cell office:value-type="string"><text:p>${text}</text:p></table:table-cell>`;
  const number = (value: number, formula = '') =>
    `<table:table-cell ${formula} office:value-type="float" office:value="${value}"><text:p>${value}</text:p></table:table-cell>`;
  const sheet = (name: string, ...cells: readonly string[]) =>
    `<table:table table:name="${name}"><table:table-row>${cells.join('')}</table:table-row></table:table>`;
  const second = sheet('Second', cell('osprey'), number(14, 'table:formula="of:=[First.B1]*2"'));
  const two = flat(
    'spreadsheet',
    `<office:body><office:spreadsheet>${sheet('First', cell('kestrel'), number(7))}${second}</office:spreadsheet></office:body>`,
  );
  const written = async () => {
    const path = join(await ground.aFolder(), 'two.fods');
    await writeFile(path, two);
    return path;
  };

  it.each(['1', 'First', '2', 'Second'])('has one of them where worksheet is %s', async (worksheet) => {
    const [own, other, value] = /2|Second/.test(worksheet) ? ['osprey', 'kestrel', '14'] : ['kestrel', 'osprey', '7'];
    for (const target of ['csv', 'tsv', 'html', 'pdf', 'md']) {
      const { path } = await ground.to(await written(), target, { worksheet });
      const text = target === 'pdf' ? await textOfPdf(path) : await readFile(path, 'utf8');
      expect(text, target).toContain(own);
      expect(text, target).toContain(value);
      expect(text, target).not.toContain(other);
    }
  });

  it('becomes TSV, from XLSX too', async () => {
    for (const source of ['xlsx', 'ods', 'xls']) {
      const { path: between } = await ground.to(await written(), source);
      const { path } = await ground.to(between, 'tsv', { worksheet: '2' });
      expect(await readFile(path, 'utf8')).toBe('osprey\t14\n');
    }
  });

  it('refuses a sheet that it does not have', async () => {
    const { status, error } = await convert(ground.url, await written(), 'pdf', { worksheet: 'Third' });
    expect([status, error?.code, error?.details['option']]).toEqual([400, 'INVALID_OPTION', 'worksheet']);
    expect(error?.details['allowed']).toBe('1 to 2, or a name: First, Second');
  });

  it('fits pages by sheet_fit', async () => {
    const row = `<table:table-row>${Array.from({ length: 12 }, (_, at) => cell(`column ${at}`)).join('')}</table:table-row>`;
    const large = `<office:body><office:spreadsheet><table:table table:name="Large">${row.repeat(400)}</table:table></office:spreadsheet></office:body>`;
    const path = join(await ground.aFolder(), 'large.fods');
    await writeFile(path, flat('spreadsheet', large));
    const pages = async (sheet_fit: string) => await pagesOf((await ground.to(path, 'pdf', { sheet_fit })).path);
    const [asSet, width, page] = [await pages('as_set'), await pages('width'), await pages('page')];
    expect(page).toBe(1);
    expect(width).toBeGreaterThan(1);
    expect(width).toBeLessThan(asSet);
  });
});

describe('a presentation with notes and a hidden slide', () => {
  const frame = (words: string, attributes = '') =>
    `<draw:frame ${attributes} svg:width="14cm" svg:height="3cm" svg:x="2cm" svg:y="2cm"><draw:text-box><text:p>${words}</text:p></draw:text-box></draw:frame>`;
  const hidden =
    '<office:automatic-styles><style:style style:name="hid" style:family="drawing-page"><style:drawing-page-properties presentation:visibility="hidden"/></style:style></office:automatic-styles>';
  const slides =
    `<draw:page draw:name="a">${frame('Shown slide')}<presentation:notes><draw:page-thumbnail svg:width="8cm" svg:height="6cm" draw:page-number="1" presentation:class="page"/>` +
    `${frame('Say hello first', 'presentation:class="notes"')}</presentation:notes></draw:page><draw:page draw:name="b" draw:style-name="hid">${frame('Hidden slide')}</draw:page>`;
  const written = async () => {
    const path = join(await ground.aFolder(), 'slides.fodp');
    await writeFile(path, flat('presentation', `${hidden}<office:body><office:presentation>${slides}</office:presentation></office:body>`));
    return path;
  };

  it('is printed without them, which is said', async () => {
    const { path, job } = await ground.to(await written(), 'pdf');
    expect((await textOfPdf(path)).trim()).toBe('Shown slide');
    expect(codes(job)).toEqual(expect.arrayContaining(['slides_hidden', 'notes_dropped']));
  });

  it('is printed with them where they are asked for', async () => {
    const { path, job } = await ground.to(await written(), 'pdf', { notes: 'true', hidden_slides: 'true' });
    const words = await textOfPdf(path);
    for (const each of ['Shown slide', 'Hidden slide', 'Say hello first']) expect(words).toContain(each);
    expect(codes(job)).not.toContain('slides_hidden');
    expect(codes(job)).not.toContain('notes_dropped');
  });
});

describe('a text with a comment and tracked changes', () => {
  const person = '<office:change-info><dc:creator>Anna</dc:creator><dc:date>2026-01-02T10:00:00</dc:date></office:change-info>';
  const changes = `<text:tracked-changes><text:changed-region text:id="i"><text:insertion>${person}</text:insertion></text:changed-region><text:changed-region text:id="d"><text:deletion>${person}<text:p>osprey </text:p></text:deletion></text:changed-region></text:tracked-changes>`;
  const text = `<text:p>Begin <text:change-start text:change-id="i"/>kestrel <text:change-end text:change-id="i"/><text:change text:change-id="d"/>end<office:annotation><dc:creator>Anna</dc:creator><dc:date>2026-01-02T10:00:00</dc:date><text:p>heron remark</text:p></office:annotation></text:p>`;
  const written = async () => {
    const path = join(await ground.aFolder(), 'changed.fodt');
    const document = flat('text', `<office:body><office:text>${changes}${text}</office:text></office:body>`);
    await writeFile(path, document.replace('<office:document ', '<office:document xmlns:dc="http://purl.org/dc/elements/1.1/" '));
    return path;
  };

  it.each([
    ['accept', 'kestrel', 'osprey'],
    ['reject', 'osprey', 'kestrel'],
  ])('has them by tracked_changes=%s', async (tracked_changes, there, gone) => {
    const docx = (await ground.to(await written(), 'docx')).path;
    for (const [source, target] of [
      [await written(), 'pdf'],
      [await written(), 'txt'],
      [docx, 'pdf'],
      [docx, 'md'],
    ] as const) {
      const { path, job } = await ground.to(source, target, { tracked_changes });
      const found = target === 'pdf' ? await textOfPdf(path) : await readFile(path, 'utf8');
      expect(found, target).toContain(there);
      expect(found, target).not.toContain(gone);
      expect(codes(job), target).not.toContain('property_lost');
      expect(codes(job), target).not.toContain('option_ignored');
    }
  });

  it('shows the comment as comments asks', async () => {
    const found = async (comments: string) => {
      const { path, job } = await ground.to(await written(), 'pdf', { comments });
      expect(codes(job)).not.toContain('property_lost');
      return /\/Subtype ?\/Text\b/.test(await readFile(path, 'latin1'));
    };
    expect([await found('annotations'), await found('none')]).toEqual([true, false]);
  });
});
