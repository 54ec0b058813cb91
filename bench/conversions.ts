/** Whole conversions through the service on one machine, beside the converters alone. */
import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { longDocx } from '../test/kit/fixtures/documents/document-cases.ts';
import { endProcess, startProcess } from '../test/kit/roles/service.ts';
import { peakOf } from './memory.ts';
import { rawForks, rawOffice, rawSharp } from './raw.ts';
import { through, WORK_HEAD, workRow } from './rows.ts';

const run = promisify(execFile);
const CONVERT = '/usr/bin/convert-im6.q16';

const mebibytes = ({ bytes }: { readonly bytes: number }): string => (bytes / 1024 ** 2).toFixed(0);

export async function smallPicture(folder: string): Promise<string> {
  const path = join(folder, 'small.png');
  await run(CONVERT, ['-size', '200x150', 'plasma:red-blue', path]);
  return path;
}

/** Its pixels in colours that flow into each other. @param width px */
export async function picture(folder: string, width: number, height: number, suffix: 'png' | 'jpg'): Promise<string> {
  const path = join(folder, `${width}x${height}.${suffix}`);
  await run(CONVERT, ['-seed', '7', '-size', `${width}x${height}`, 'plasma:red-blue', path]);
  return path;
}

/** 36 MP with the grain and the subsampled colour of a photograph: about 5.6 MB. */
export async function photograph(folder: string): Promise<string> {
  const path = join(folder, 'photo.jpg');
  const grain = ['-attenuate', '0.35', '+noise', 'Gaussian', '-resize', '7360x4912!'];
  await run(CONVERT, ['-seed', '7', '-size', '1840x1228', 'plasma:fractal', ...grain, '-sampling-factor', '4:2:0', '-quality', '92', path]);
  return path;
}

/** With a table on its first page. */
export const documentOf = async (folder: string, pages: number): Promise<string> =>
  longDocx('kestrel', await mkdtemp(join(folder, 'pages-')), pages);

type Part = (folder: string, url: string) => Promise<void>;

export const conversionParts = {
  async small(folder, url) {
    const picture = await smallPicture(folder);
    const order = { input: picture, source: 'png', target: 'jpg', options: {} } as const;
    const [warm, forked] = [await rawSharp(order, 1, 200), await rawForks(order, 1, 200)];
    workRow('small PNG → JPG, sharp alone, warm', warm);
    workRow('small PNG → JPG, libvips alone, a process each', forked);
    workRow('small PNG → JPG over HTTP, 1 client', await through(url, picture, 'jpg', {}, 1, 200));
    console.log(`\nMemory of one program: sharp ${mebibytes(warm)} MiB, libvips with a process each ${mebibytes(forked)} MiB.\n`);
  },
  async photo(folder, url) {
    const photo = await photograph(folder);
    const order = { input: photo, source: 'jpg', target: 'webp', options: { img_resize_w: 500 } } as const;
    workRow('36 MP JPEG → 500 px WebP, sharp alone, 2 processes', await rawSharp(order, 2, 100));
    workRow('36 MP JPEG → 500 px WebP, libvips alone, a process each, 2 at a time', await rawForks(order, 2, 100));
    for (const clients of [1, 2, 4])
      workRow(
        `36 MP JPEG → 500 px WebP over HTTP, ${countOf(clients)}`,
        await through(url, photo, 'webp', { img_resize_w: '500' }, clients, 100),
      );
  },
  async short(folder, url) {
    const onePage = await documentOf(folder, 1);
    workRow('1-page DOCX → PDF, soffice alone, new process each', await rawOffice(onePage, 8));
    for (const clients of [1, 2, 4])
      workRow(`1-page DOCX → PDF over HTTP, ${countOf(clients)}`, await through(url, onePage, 'pdf', {}, clients, 150));
  },
  async long(folder, url) {
    const manyPages = await documentOf(folder, 39);
    workRow('39-page DOCX → PDF, soffice alone, new process each', await rawOffice(manyPages, 4));
    for (const clients of [1, 2, 4])
      workRow(`39-page DOCX → PDF over HTTP, ${countOf(clients)}`, await through(url, manyPages, 'pdf', {}, clients, 50));
  },
} satisfies Record<string, Part>;

/** @param folder for data that goes with the run */
export async function conversions(folder: string, parts: readonly Part[]): Promise<void> {
  const service = await startProcess(await mkdtemp(join(folder, 'data-')), {}, { LOG_LEVEL: 'warn' });
  const peak = peakOf(service.child.pid ?? 0);
  console.log(WORK_HEAD);
  for (const measure of parts) await measure(folder, service.url);
  const { serverBytes, treeBytes } = peak.stop();
  console.log(
    `\nMemory peaks: server ${(serverBytes / 2 ** 20).toFixed(0)} MiB, with all converters ${(treeBytes / 2 ** 20).toFixed(0)} MiB.`,
  );
  await endProcess(service);
}

const countOf = (clients: number): string => (clients === 1 ? '1 client' : `${clients} clients`);
