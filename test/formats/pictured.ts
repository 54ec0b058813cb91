/** Pictures of text, in any picture format that a converter here writes: what OCR is tried with. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { picturedPage } from '../kit/fixtures/documents/document-cases.ts';
import { fixtures as images } from '../kit/fixtures/pictures/images.ts';
import { xcf } from '../kit/fixtures/pictures/xcf.ts';
import type { Fixture } from '../kit/fixtures/written.ts';

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
