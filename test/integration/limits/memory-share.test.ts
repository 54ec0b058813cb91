/** What memory and disk a conversion may use follows from what the worker has: converters are held to their share of it. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterEach, expect, it } from 'vitest';
import { toolchains } from '../../../src/contracts/toolchains.ts';
import { fixtures } from '../../kit/fixtures/documents/documents.ts';
import { convert, type Service, settled, spawnService, startService } from '../../kit/roles/service.ts';

const MIB = 2 ** 20;
const ONE_SLOT = Object.fromEntries(toolchains.map((name) => [name, name === 'office' ? 1 : 0]));

let service: Service | undefined;
let folder: string | undefined;
afterEach(async () => {
  await service?.stop();
  service = undefined;
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** @returns `done`, or why not */
async function tryDocument(worker: object): Promise<unknown> {
  service = await startService({ worker: { slots: ONE_SLOT, ...worker } });
  folder = await mkdtemp(join(tmpdir(), 'filemill-memory-'));
  const docx = (await fixtures['docx']?.('memory', folder)) ?? '';
  const { data, error } = await settled(service.url, await convert(service.url, docx, 'pdf'));
  return error?.details['reason'] ?? data?.status;
}

it('a converter that needs more than its share of the limit is stopped', async () => {
  expect(await tryDocument({ limitBytes: (256 + 96) * MIB })).toBe('memory');
}, 120_000);

it('one that has room in its share is not, nor one whose memory the operator has set', async () => {
  expect(await tryDocument({ limitBytes: 3_072 * MIB })).toBe('done');
  await service?.stop();
  expect(await tryDocument({ limitBytes: (256 + 96) * MIB, memoryBytes: 2_048 * MIB })).toBe('done');
}, 180_000);

it("a conversion that needs more than its share of the work folder fails alone, before the pod's volume is full", async () => {
  service = await startService({ worker: { slots: { ...ONE_SLOT, image: 1, office: 0 }, dirBytes: 16 * MIB } });
  const create = { width: 3_000, height: 3_000, channels: 3, background: 'teal' } as const;
  const bytes = await sharp({ create }).png().toBuffer();
  const tryAs = async (format: string): Promise<unknown> => {
    const url = service?.url ?? '';
    const { data, error } = await settled(url, await convert(url, { name: 'a.png', bytes }, format));
    return error?.details['reason'] ?? data?.status;
  };
  // 27 MB without compression.
  expect(await tryAs('bmp')).toBe('output_limit');
  expect(await tryAs('webp')).toBe('done');
}, 60_000);

it('an AVIF for which the memory is too little has its colours at half the resolution, and one for which that is too little is refused with figures', async () => {
  service = await startService({ worker: { slots: { ...ONE_SLOT, image: 1, office: 0 }, memoryBytes: 200 * MIB } });
  const create = { width: 400, height: 300, channels: 3, background: 'teal' } as const;
  const bytes = await sharp({ create }).jpeg().toBuffer();
  const wide = async (img_resize_w: string) => {
    const url = service?.url ?? '';
    return settled(url, await convert(url, { name: 'a.jpg', bytes }, 'avif', { img_resize_w }));
  };
  const whole = await wide('1000');
  expect([whole.data?.status, whole.data?.warnings]).toEqual(['done', []]);
  const halved = await wide('2200');
  expect([halved.data?.status, halved.data?.warnings]).toMatchObject(['done', [{ code: 'lossy' }]]);
  const { error } = await wide('4000');
  expect(error?.details).toMatchObject({ reason: 'memory', limit: 'pixels of avif', received: 12_000_000 });
  expect(Number(error?.details['max'])).toBeLessThan(12_000_000);
  expect(error?.message).toContain('img_resize_w');
}, 120_000);

it('a limit that leaves nothing for its slots is told of at the start', async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-memory-'));
  await chmod(folder, 0o755);
  const { child, lines, ended } = await spawnService(folder, { worker: { slots: ONE_SLOT } }, { MEMORY_LIMIT: String(280 * MIB) });
  await ended;
  expect(child.exitCode).toBe(1);
  expect(lines.join('\n')).toContain('filemill cannot start: a limit of 280 MiB leaves too little memory for 1 conversions at a time');
}, 60_000);
