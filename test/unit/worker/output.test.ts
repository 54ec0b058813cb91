/** Packing what a conversion made: bounded as a whole, and broken off with its job. */
import { mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Unreachable } from '../../../src/objects/store.ts';
import { MAX_OUTPUT_BYTES } from '../../../src/worker/conversion/judge.ts';
import { packOutput } from '../../../src/worker/conversion/output.ts';
import { throughOutage } from '../../../src/worker/orders/outage.ts';

let base: string;
let destination: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'filemill-made-'));
  destination = await mkdtemp(join(tmpdir(), 'filemill-packed-'));
});
afterEach(() => Promise.all([base, destination].map((folder) => rm(folder, { recursive: true, force: true }))));

/** Files of these sizes, which take no place on the disk. */
async function made(...sizes: readonly number[]) {
  const files = sizes.map((_, at) => ({ folder: base, name: `page-${at + 1}.png`, label: '' }));
  for (const [at, size] of sizes.entries()) {
    const file = await open(join(base, `page-${at + 1}.png`), 'w');
    await file.truncate(size);
    await file.close();
  }
  return { base, files, warnings: [], engine: { name: 'none', version: '1' } };
}
const options = { sourceName: 'scan.pdf', target: { format: 'png', extension: 'png' }, signal: new AbortController().signal };

it('puts the parts into one ZIP', async () => {
  expect(await packOutput(destination, await made(10, 20), options)).toMatchObject({ filename: 'scan-filemill.zip', files: 2 });
});

it.each([
  [undefined, 'scan-filemill.png', 'scan-filemill.png'],
  ['', 'scan.png', 'scan.png'],
  [' (converted)', 'scan (converted).png', 'scan (converted).png'],
])('puts the suffix %j behind the name of its source, once', async (suffix, once, again) => {
  const named = async (sourceName: string, name: string) =>
    (await packOutput(await mkdtemp(join(destination, name)), await made(10), { ...options, sourceName, suffix })).filename;
  expect([await named('scan.pdf', 'a'), await named(once, 'b')]).toEqual([once, again]);
});

it('refuses parts that are too large together, before the one that is too much is copied', async () => {
  await expect(packOutput(destination, await made(10, MAX_OUTPUT_BYTES - 9), options)).rejects.toMatchObject({
    code: 'CONVERSION_FAILED',
    details: { reason: 'output_limit', max_bytes: MAX_OUTPUT_BYTES, bytes: MAX_OUTPUT_BYTES + 1 },
  });
  expect(await readdir(destination)).toEqual(['0']);
});

it('ends with its job', async () => {
  const reason = new Error('the job was cancelled');
  await expect(packOutput(destination, await made(10, 20), { ...options, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

it('an upload is tried again while the store is away, but for a job that ends', async () => {
  const isAway = (error: unknown) => error instanceof Unreachable;
  const upload = <T>(signal: AbortSignal, work: () => Promise<T>) => throughOutage(isAway, { retryMs: 100, signal }, work);
  let tries = 0;
  const work = async () => {
    if (++tries < 2) throw new Unreachable('the store is away');
    return tries;
  };
  expect(await upload(options.signal, work)).toBe(2);
  const ended = new AbortController();
  const away = () => {
    ended.abort();
    return Promise.reject(new Unreachable('the store is away'));
  };
  await expect(upload(ended.signal, away)).rejects.toThrow(/abort/i);
  await expect(upload(options.signal, () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
});
