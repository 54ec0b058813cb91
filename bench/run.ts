/**
 * `make bench`: the service with confinement on, upload and download included, beside the raw tools, in one run on one machine.
 *
 *   run.ts           everything
 *   run.ts photo     the rows of one part: small, photo, short, long or requests
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { longDocx } from '../test/kit/fixtures/document-cases.ts';
import { endProcess, startProcess } from '../test/kit/service.ts';
import { peakOf } from './memory.ts';
import { type Measured, rawOffice, rawSharp } from './raw.ts';
import { costs } from './requests.ts';

const run = promisify(execFile);
const CONVERT = '/usr/bin/convert-im6.q16';
const folder = await mkdtemp(join(tmpdir(), 'filemill-bench-'));

const small = join(folder, 'small.png');
const photo = join(folder, 'photo.jpg');
await run(CONVERT, ['-size', '200x150', 'plasma:red-blue', small]);
// 36 MP with the grain and the subsampled colour of a photograph: about 5.6 MB.
await run(CONVERT, [
  '-seed',
  '7',
  '-size',
  '1840x1228',
  'plasma:fractal',
  '-attenuate',
  '0.35',
  '+noise',
  'Gaussian',
  '-resize',
  '7360x4912!',
  '-sampling-factor',
  '4:2:0',
  '-quality',
  '92',
  photo,
]);
const onePage = await longDocx('kestrel', await mkdtemp(join(folder, 'one-')), 1);
const manyPages = await longDocx('kestrel', await mkdtemp(join(folder, 'many-')), 39);

const service = await startProcess(await mkdtemp(join(folder, 'data-')), {}, { LOG_LEVEL: 'warn' });
const peak = peakOf(service.child.pid ?? 0);

const through = async (file: string, target: string, fields: Record<string, string>, clients: number, count: number): Promise<Measured> => {
  const args = [join(import.meta.dirname, 'client.ts'), service.url, file, target, JSON.stringify(fields), String(clients), String(count)];
  const { stdout } = await run(process.execPath, args, { maxBuffer: 1 << 24 });
  return JSON.parse(stdout) as Measured;
};

const quantile = (took: readonly number[], share: number): number =>
  [...took].sort((a, b) => a - b)[Math.min(took.length - 1, Math.floor(took.length * share))] ?? 0;
const row = (what: string, { took, seconds }: Measured) => {
  const perMinute = (took.length / seconds) * 60;
  console.log(
    `| ${what} | ${quantile(took, 0.5).toFixed(1)} | ${quantile(took, 0.95).toFixed(1)} | ${(perMinute / 60).toFixed(1)} | ${perMinute.toFixed(0)} |`,
  );
};

const countOf = (clients: number): string => (clients === 1 ? '1 client' : `${clients} clients`);

console.log('| work | p50 ms | p95 ms | a second | a minute |\n|---|---|---|---|---|');
const parts: Readonly<Record<string, () => Promise<void>>> = {
  small: async () => {
    row('small PNG → JPG, sharp alone, warm', await rawSharp(small, 'png', 'jpg', {}, 1, 200));
    row('small PNG → JPG over HTTP, 1 client', await through(small, 'jpg', {}, 1, 200));
  },
  photo: async () => {
    row('36 MP JPEG → 500 px WebP, sharp alone, 2 processes', await rawSharp(photo, 'jpg', 'webp', { img_resize_w: 500 }, 2, 100));
    for (const clients of [1, 2, 4])
      row(`36 MP JPEG → 500 px WebP over HTTP, ${countOf(clients)}`, await through(photo, 'webp', { img_resize_w: '500' }, clients, 100));
  },
  short: async () => {
    row('1-page DOCX → PDF, soffice alone, new process each', await rawOffice(onePage, 8));
    for (const clients of [1, 2, 4])
      row(`1-page DOCX → PDF over HTTP, ${countOf(clients)}`, await through(onePage, 'pdf', {}, clients, 150));
  },
  long: async () => {
    row('39-page DOCX → PDF, soffice alone, new process each', await rawOffice(manyPages, 4));
    for (const clients of [1, 2, 4])
      row(`39-page DOCX → PDF over HTTP, ${countOf(clients)}`, await through(manyPages, 'pdf', {}, clients, 50));
  },
};
const wanted = process.argv[2];
for (const [name, measure] of Object.entries(parts)) if (wanted === undefined || wanted === name) await measure();

const { serverBytes, treeBytes } = peak.stop();
console.log(
  `\nMemory peaks: server ${(serverBytes / 2 ** 20).toFixed(0)} MiB, with all converters ${(treeBytes / 2 ** 20).toFixed(0)} MiB.`,
);
await endProcess(service);

if (wanted === undefined || wanted === 'requests') {
  console.log('\n| what | measured |\n|---|---|');
  for (const { what, measured } of await costs(folder, small)) console.log(`| ${what} | ${measured} |`);
}
await rm(folder, { recursive: true, force: true });
