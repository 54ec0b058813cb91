/** Pictures of text, in any picture format that a converter here writes: what OCR is tried with. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { picturedPage } from './fixtures/document-cases.ts';
import type { Fixture } from './fixtures/documents.ts';
import { fixtures as images } from './fixtures/images.ts';

const run = promisify(execFile);
const CONVERT = '/usr/bin/convert-im6.q16';

/** A page with the seed's words as a picture of that format. */
export const pageOfText =
  (format: string): Fixture =>
  async (seed, folder) => {
    const page = await picturedPage(seed, folder);
    const path = join(folder, `page.${format}`);
    await run(CONVERT, [page, `${format}:${path}`]);
    return path;
  };

/** A PDF whose one page is the seed's grid of colours. */
export const pageOfGrid: Fixture = async (seed, folder) => {
  const drawing = await images['svg']?.(seed, folder);
  const path = join(folder, 'grid.pdf');
  await run('/usr/bin/rsvg-convert', ['--format', 'pdf', '--output', path, drawing ?? '']);
  return path;
};
