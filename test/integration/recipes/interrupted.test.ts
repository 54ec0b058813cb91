/** Recipes that are cut off between two pools: cancelled, they leave nothing; killed, they go on; in a cluster they go on at another replica. */
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { bytesAt, readRecipe, type runRecipe, sendRecipe } from '../../kit/api/recipes.ts';
import { eventually, objectsIn } from '../../kit/api/wire.ts';
import { filesBelow } from '../../kit/exec/left-behind.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { startCluster } from '../../kit/roles/cluster.ts';
import { endProcess, startProcess, startService, untilEnded } from '../../kit/roles/service.ts';

const folder = await mkdtemp(join(tmpdir(), 'filemill-interrupted-'));
await chmod(folder, 0o755);
afterAll(() => rm(folder, { recursive: true, force: true }));

const page = (text: string) => ({ name: `${text}.html`, bytes: `<h1>${text}</h1>` });
/** Prints pages in one pool, joins them in another, and goes back to the first: each as many conversions as there are files. */
const ROUND = {
  steps: [
    { name: 'pages', do: 'convert', options: { to_format: 'pdf' } },
    { name: 'book', do: 'merge-pdf' },
    { name: 'parts', do: 'split-pdf', max_files: 20 },
    { name: 'texts', do: 'convert', options: { to_format: 'md' } },
  ],
};
const FILES = Array.from({ length: 12 }, (_, at) => page(`Page${at}`));
/** The first stint is done, and the last has not ended. */
const isBetween = ({ status, progress = 0 }: { readonly status: string; readonly progress?: number }) =>
  status === 'processing' && progress >= 25;

async function untilBetween(url: string, id: string): Promise<void> {
  const look = async () => {
    const answer = await readRecipe(await fetch(`${url}/api/v1/jobs/${id}`));
    const { data } = answer;
    if (data?.status !== 'processing') throw new Error(`the recipe ended before it could be cut off: ${JSON.stringify(answer)}`);
    return isBetween(data);
  };
  await eventually(look, 'the recipe is between two pools', 60_000);
}

describe('a recipe that is cut off', () => {
  it('leaves neither objects nor files where it is cancelled', async () => {
    const service = await startService({ upkeep: { intervalMs: 500 } });
    try {
      const { data } = await sendRecipe(service.url, ROUND, FILES, {}, { prefer: 'respond-async' });
      await untilBetween(service.url, data?.job_id ?? '');
      expect((await fetch(data?.links.self ?? '', { method: 'DELETE' })).status).toBe(204);
      expect((await fetch(data?.links.self ?? '')).status).toBe(410);
      await eventually(() => objectsIn(service.dataDir).length === 0, 'no object is left', 30_000);
      const ofJob = async () =>
        (await filesBelow(join(service.dataDir, 'work'))).filter((path) => /\/(job|recipe|delivery|gone-\d+)\//.test(path));
      await eventually(async () => (await ofJob()).length === 0, 'no file is left in a slot', 30_000);
    } finally {
      await service.stop();
    }
  });

  it('goes on after kill -9, and keeps only its output', async () => {
    const dataDir = join(folder, 'killed');
    await mkdir(dataDir, { mode: 0o755 });
    const first = await startProcess(dataDir, { upkeep: { intervalMs: 500 } });
    const { data } = await sendRecipe(first.url, ROUND, FILES, {}, { prefer: 'respond-async' });
    await untilBetween(first.url, data?.job_id ?? '');
    await endProcess(first, 'SIGKILL');
    const second = await startProcess(dataDir, { upkeep: { intervalMs: 500 } });
    try {
      const ended = (await untilEnded(second.url, data?.job_id ?? '', 120_000)) as unknown as Awaited<ReturnType<typeof runRecipe>>;
      expect(ended.error).toBeUndefined();
      expect(ended.data?.outputs?.map(({ name, files }) => [name, files])).toEqual([['texts', 12]]);
      await eventually(() => objectsIn(dataDir).length === 1, 'one object is left', 30_000);
    } finally {
      await endProcess(second);
    }
  });
});

describe('a recipe in a cluster', () => {
  it('goes from pool to pool, and on where the replica that took it has died', async () => {
    const cluster = await startCluster();
    try {
      const [first, second] = await Promise.all([cluster.start('api'), cluster.start('api')]);
      await Promise.all([cluster.start('worker', { POOL: 'image' }), cluster.start('worker', { POOL: 'pdf' })]);
      const steps = [
        { name: 'book', do: 'merge-pdf' },
        { name: 'shots', do: 'convert', options: { to_format: 'png' } },
        { name: 'small', do: 'resize-image', options: { img_resize_w: 50, img_resize_h: 50 } },
        { name: 'sheet', do: 'convert', options: { to_format: 'pdf' } },
        { name: 'all', do: 'merge-pdf' },
      ];
      const files = [pdf([['One']]), pdf([['Two']])].map((bytes, at) => ({ name: `${at}.pdf`, bytes }));
      const send = async (url: string | undefined, headers: Record<string, string>) =>
        sendRecipe(url ?? '', { steps, outputs: ['shots', 'all'] }, files, {}, headers);
      await eventually(async () => (await send(second.url, {})).status === 200, 'workers have reported', 60_000);
      const { data } = await send(first.url, { prefer: 'respond-async' });
      first.child.kill('SIGKILL');
      const ended = (await untilEnded(second.url ?? '', data?.job_id ?? '')) as unknown as Awaited<ReturnType<typeof runRecipe>>;
      expect(ended.error).toBeUndefined();
      expect(ended.data?.outputs?.map(({ name, files: count }) => [name, count])).toEqual([
        ['shots', 2],
        ['all', 1],
      ]);
      const [, all] = ended.data?.outputs ?? [];
      expect((await bytesAt(all?.url ?? '')).subarray(0, 5).toString()).toBe('%PDF-');
    } finally {
      await cluster.stop();
    }
  });
});
