/**
 * Runs OCR on the pages of a PDF that have no text layer, and leaves the others as they are.
 *
 *   scan.ts --convert=PROGRAM [--page-orientation=FOLDER] INPUT.pdf OUTPUT.(txt|pdf|tsv) SCRATCH LANGUAGE DPI UNIT
 *
 * UNIT is the largest `UserUnit` of any page: some versions of poppler apply it although pdfinfo's sizes do not include it.
 * Text: the pages in order, each ended by a form feed. PDF: pages with text unchanged, the others as a picture with the text under it.
 * TSV: the words of all pages and their places, in points, as `markdown.ts` reads them.
 * A program and not a plan, since only extracting the text shows which pages need OCR.
 * Prints `2 of 5` after each page, and an answer as residents give. If a command fails, exits with its status.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { MAX_ORDERED_WORDS, MAX_PAGES, MAX_PIXELS } from '../../../catalog/bounds.ts';
import { ownArguments } from '../inference/arguments.ts';
import { answering, type Told } from '../process/answer.ts';
import { runCommand } from './ocr/commands.ts';
import { isModelMissing, type ReadKind, recognise, refuseMissing } from './ocr/recognise.ts';

const POINTS_PER_INCH = 72;

const [input = '', output = '', scratch = '', language = '', dpi = '', unit = '1'] = ownArguments;
const warnings: Told[] = [];
if (isModelMissing()) {
  await answering(() => {
    refuseMissing();
    return [];
  });
  process.exit();
}
const sizes = pageSizes();
const layer = textLayer();
const pages = Array.from({ length: sizes.size }, (_, index) => index + 1);

if (output.endsWith('.txt')) {
  const texts: string[] = [];
  for (const page of pages) {
    texts.push(`${hasText(page) ? layer[page - 1] : readFileSync((await seen(page, 'png', 'txt')).path, 'utf8').replaceAll('\f', '')}\f`);
    report(page);
  }
  writeFileSync(output, texts.join(''));
} else if (output.endsWith('.tsv')) {
  const printed = printedWords();
  const words: string[] = [];
  for (const page of pages) {
    const rows = hasText(page) ? (printed.get(String(page)) ?? []) : await seenWords(page);
    words.push(rows.map((row) => `${row}\n`).join(''));
    report(page);
  }
  writeFileSync(output, words.join(''));
} else {
  const parts: string[] = [];
  for (const page of pages) {
    parts.push(...(hasText(page) ? [input, String(page)] : [(await seen(page, 'jpg', 'pdf')).path, '1']));
    report(page);
  }
  run('qpdf', ['--empty', '--pages', ...parts, '--', output], { succeeds: [0, 3] });
}
process.stdout.write(`${JSON.stringify({ ok: true, warnings: warnings.slice(0, 1) })}\n`);

function run(
  program: string,
  args: readonly string[],
  more: { readonly succeeds?: readonly number[]; readonly stdoutTo?: string } = {},
): void {
  runCommand(`/usr/bin/${program}`, args, more);
}

function hasText(page: number): boolean {
  return (layer[page - 1] ?? '').trim() !== '';
}

function report(page: number): void {
  process.stdout.write(`${page} of ${pages.length}\n`);
}

/** @returns text of each page, in the order of reading where it is the result */
function textLayer(): readonly string[] {
  const file = `${scratch}/layer.txt`;
  const read = (...order: readonly string[]): readonly string[] => {
    run('pdftotext', [...order, '-enc', 'UTF-8', '-eol', 'unix', input, file]);
    return readFileSync(file, 'utf8').split('\f');
  };
  const written = read('-raw');
  if (!output.endsWith('.txt')) return written;
  return written.every((page) => page.split(/\s+/).length <= MAX_ORDERED_WORDS) ? read() : written;
}

/** @returns rows of pdftotext by page, the second column */
function printedWords(): Map<string, string[]> {
  const file = `${scratch}/words.tsv`;
  run('pdftotext', ['-tsv', input, file]);
  const rows = new Map<string, string[]>();
  for (const row of readFileSync(file, 'utf8').split('\n')) {
    const page = row.split('\t', 2)[1] ?? '';
    const others = rows.get(page) ?? [];
    others.push(row);
    rows.set(page, others);
  }
  return rows;
}

/** @returns rows of Tesseract, whose places are in px of the picture */
async function seenWords(page: number): Promise<string[]> {
  const { path, resolution } = await seen(page, 'png', 'tsv');
  return readFileSync(path, 'utf8')
    .split('\n')
    .map((row) => {
      const columns = row.split('\t');
      const box = columns.slice(6, 10).map((px) => String((Number(px) * POINTS_PER_INCH) / resolution));
      return [columns[0], page, ...columns.slice(2, 6), ...box, ...columns.slice(10)].join('\t');
    });
}

/** @returns points² of each page by its number */
function pageSizes(): Map<number, number> {
  const file = `${scratch}/pages.txt`;
  run('pdfinfo', ['-f', '1', '-l', String(MAX_PAGES), input], { stdoutTo: file });
  const found = readFileSync(file, 'utf8').matchAll(/^Page\s+(\d+) size:\s+([\d.e+]+) x ([\d.e+]+) pts/gm);
  return new Map([...found].map(([, page, width, height]) => [Number(page), Number(width) * Number(height)]));
}

/** @returns path of the page's text, of its words, or of a PDF with its picture over its text; px per inch of the picture */
async function seen(page: number, picture: 'png' | 'jpg', kind: ReadKind): Promise<{ readonly path: string; readonly resolution: number }> {
  const base = `${scratch}/scan-${page}`;
  const most = (POINTS_PER_INCH * Math.sqrt(MAX_PIXELS / (sizes.get(page) ?? 1))) / Number(unit);
  const resolution = Math.min(Number(dpi), Math.floor(most));
  const format = picture === 'png' ? ['-png', '-gray'] : ['-jpeg', '-jpegopt', 'quality=85'];
  const only = String(page);
  run('pdftoppm', ['-cropbox', '-r', String(resolution), '-f', only, '-l', only, '-singlefile', ...format, input, base]);
  warnings.push(...(await recognise({ picture: `${base}.${picture}`, to: base, kind, language, dpi: String(resolution) })));
  rmSync(`${base}.${picture}`);
  return { path: `${base}.${kind}`, resolution };
}
