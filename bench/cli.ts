/** The command line beside the programs that people call today: what a start costs, and two hundred small photos. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkout } from '../test/kit/roles/service.ts';
import { median } from './rows.ts';

const run = promisify(execFile);
const FILEMILL = join(checkout, 'scripts/filemill');
const CONVERT = '/usr/bin/convert-im6.q16';
const MOGRIFY = '/usr/bin/mogrify-im6.q16';

/** Photos of 640 × 480, as a camera's previews are. CLI_PHOTOS says how many. */
export async function commandLine(folder: string): Promise<void> {
  const count = Number(process.env['CLI_PHOTOS'] ?? 200);
  const photos = join(folder, 'photos');
  await mkdir(photos);
  const grain = ['-attenuate', '0.35', '+noise', 'Gaussian', '-quality', '88'];
  await run(CONVERT, ['-seed', '7', '-size', '640x480', 'plasma:fractal', ...grain, join(photos, '0.jpg')]);
  for (let index = 1; index < count; index++) await copyFile(join(photos, '0.jpg'), join(photos, `${index}.jpg`));
  const one = join(photos, '0.jpg');
  const all = (await readdir(photos)).map((name) => join(photos, name));
  const options = { cwd: folder, maxBuffer: 1 << 24 };
  const ours = (files: readonly string[], out: string) =>
    run(FILEMILL, ['convert', ...files, '--to', 'webp', '--out', `${out}/`, '--force', '--quiet'], options);
  await mkdir(join(folder, 'theirs'));
  await ours([one], 'ours');

  const starts = {
    ours: await medianTime(11, () => ours([one], 'ours')),
    theirs: await medianTime(11, () => run(CONVERT, [one, join(folder, 'theirs/0.webp')])),
  };
  const many = {
    ours: await medianTime(3, () => ours(all, 'ours')),
    theirs: await medianTime(3, () => run(MOGRIFY, ['-path', join(folder, 'theirs'), '-format', 'webp', ...all], options)),
  };
  console.log('\n| what | filemill | ImageMagick | |\n|---|---|---|---|');
  console.log(
    `| one JPEG of 640 × 480 → WebP, from start to end | ${ms(starts.ours)} | ${ms(starts.theirs)} | ${ms(starts.ours - starts.theirs)} more |`,
  );
  console.log(
    `| ${count} of them in one call | ${ms(many.ours)} | ${ms(many.theirs)} | ${(many.theirs / many.ours).toFixed(2)} times as fast |`,
  );
}

const ms = (time: number): string => `${Math.round(time)} ms`;

/** Of the wall clock, ms. */
async function medianTime(times: number, work: () => Promise<unknown>): Promise<number> {
  const taken: number[] = [];
  for (let index = 0; index < times; index++) {
    const from = performance.now();
    await work();
    taken.push(performance.now() - from);
  }
  return median(taken);
}
