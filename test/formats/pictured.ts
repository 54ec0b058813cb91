/** Pictures of text, in any picture format that a converter here writes: what OCR is tried with; and pages that have a table. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { contentOf } from '../kit/catalog/content.ts';
import { picturedPage } from '../kit/fixtures/documents/document-cases.ts';
import { placedPdf } from '../kit/fixtures/documents/pdf.ts';
import { fixtures as images } from '../kit/fixtures/pictures/images.ts';
import { xcf } from '../kit/fixtures/pictures/xcf.ts';
import { type Fixture, written } from '../kit/fixtures/written.ts';

const run = promisify(execFile);
const CONVERT = '/usr/bin/convert-im6.q16';

/** A page with the seed's words as a picture of that format. */
export const pageOfText =
  (format: string): Fixture =>
  async (seed, folder) => {
    const page = await picturedPage(seed, folder);
    const path = join(folder, `page.${format}`);
    if (format === 'xcf') return layered(page, path);
    // ImageMagick writes no JPEG-LS, either.
    if (format === 'jls') await run('/usr/bin/ffmpeg', ['-v', 'error', '-i', page, '-c:v', 'jpegls', '-f', 'image2', '-update', '1', path]);
    // Version 6 says of no TGA where its rows begin, unless told.
    else await run(CONVERT, [page, '-orient', 'TopLeft', `${format}:${path}`]);
    return path;
  };

/** ImageMagick writes no XCF. */
async function layered(page: string, path: string): Promise<string> {
  const { stdout } = await run(CONVERT, [page, '-format', '%w %h', 'info:']);
  const [width = 0, height = 0] = stdout.split(' ').map(Number);
  const raw = await run(CONVERT, [page, '-depth', '8', 'rgb:-'], { encoding: 'buffer', maxBuffer: 1 << 28 });
  await writeFile(path, xcf(raw.stdout, width, height));
  return path;
}

/** A PDF whose one page is the seed's grid of colours. */
export const pageOfGrid: Fixture = async (seed, folder) => {
  const drawing = await images['svg']?.(seed, folder);
  const path = join(folder, 'grid.pdf');
  await run('/usr/bin/rsvg-convert', ['--format', 'pdf', '--output', path, drawing ?? '']);
  return path;
};

/** Two words and two numbers of the seed in each row, and the total in the last. */
function tableOf(seed: string): readonly (readonly string[])[] {
  const { words, numbers, total } = contentOf(seed);
  const rows = [0, 2, 4].map((at) => [words.slice(at, at + 2).join(' '), String(numbers[at]), String(numbers[at + 1])]);
  return [['Region', 'Left', 'Right'], ...rows, ['Total', '', String(total)]];
}

/** Text around a table, in formats that have more than tables. */
export const tabled: Readonly<Record<string, Fixture>> = {
  html: written('html', (seed) => {
    const rows = tableOf(seed).map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`);
    return `<!DOCTYPE html><title>Table</title><p>Text around it.</p><table>${rows.join('')}</table>`;
  }),
  pdf: written('pdf', (seed) =>
    placedPdf([
      [
        { text: 'Text around it, which is longer than the cells below are.', size: 12, x: 72, y: 760 },
        ...tableOf(seed).flatMap((row, line) => row.map((text, column) => ({ text, size: 12, x: 72 + 160 * column, y: 700 - 16 * line }))),
      ],
    ]),
  ),
};
