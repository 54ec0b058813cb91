/** Times and memory, as docs/operating/watch.md states them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import sharp from 'sharp';
import { convert } from './client.ts';
import { base, checkout, environment, execIn, inNamespace, NAMESPACE, stayingPods } from './cluster.ts';
import { blobOf, type E2eFiles } from './files.ts';
import { eventually, must, step } from './steps.ts';

/** When a container's first process began, ms since the epoch. */
const BEGUN = `
const { readFileSync } = require('node:fs');
const ticks = Number(readFileSync('/proc/1/stat', 'utf8').split(') ')[1].split(' ')[19]);
console.log(Date.now() - (Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) - ticks / 100) * 1000);`;
const COLD_STARTS = 5;
/** Run in a worker's pod: starts further workers of its pool one after the other, and writes how many ms each took to ask for an order. */
const STARTS = `
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { mkdirSync, rmSync } = require('node:fs');
const settings = JSON.parse(process.env.SETTINGS);
const dir = '/work/measured';
Object.assign(settings.worker, { dir, metricsPort: 18081 });
(async () => {
  for (let n = 0; n < ${COLD_STARTS}; n++) {
    mkdirSync(dir);
    const began = performance.now();
    const env = { ...process.env, SETTINGS: JSON.stringify(settings), WORKER_NAME: 'measured-' + n };
    const worker = spawn('filemill', ['worker'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    for await (const text of worker.stderr) if (String(text).includes('takes orders')) break;
    console.log(Math.round(performance.now() - began));
    worker.kill();
    await once(worker, 'exit');
    rmSync(dir, { recursive: true });
  }
})();`;
/** What a worker writes before it asks for its first order. */
const ASKS = /^(\S+) .*takes orders of the pool/m;

/**
 * What `kubectl get --watch` says of a pool's resources, a line each, and when. Its own start takes both processors for a third of a second: it is over
 * when this resolves, for resources that are there before are said first.
 * @returns ends it
 */
async function watch(kind: string, pool: string, path: string, onLine: (line: string, at: number) => void): Promise<() => void> {
  const form = `jsonpath={.metadata.labels.filemill\\.io/pool} ${path}{"\\n"}`;
  const args = ['get', kind, '--namespace', NAMESPACE, '--watch', '-o', form];
  const child = spawn('.cache/bin/kubectl', args, { cwd: checkout, env: environment, stdio: ['ignore', 'pipe', 'ignore'] });
  const lines = createInterface(child.stdout).on('line', (line) => {
    if (line.startsWith(`${pool} `)) onLine(line.slice(pool.length + 1), Date.now());
  });
  await once(lines, 'line', { signal: AbortSignal.timeout(30_000) });
  return () => void child.kill();
}

const STAGES = [
  'Job created',
  'pod scheduled',
  "the worker's process began",
  'container seen to run',
  'first request for an order',
  'output downloaded',
] as const;
type Stage = (typeof STAGES)[number];

/** When the first process of a pod's container began, and when it asked for its first order, ms since the epoch. */
async function beginOf(pod: string): Promise<{ readonly process: number; readonly asked: number }> {
  const asked = Date.parse(ASKS.exec(await inNamespace('logs', pod, '--timestamps', '--tail=-1'))?.[1] ?? '');
  return { process: Number(await inNamespace('exec', pod, '--', 'node', '-e', BEGUN)), asked };
}

/** A file for a pool without workers. @returns ms after it was sent */
async function coldStart(file: readonly [content: Blob, name: string]): Promise<Readonly<Record<Stage, number>>> {
  await inNamespace('delete', 'jobs', '-l', 'filemill.io/pool=pdf', '--wait=true');
  await eventually(
    'no worker',
    () => inNamespace('get', 'pods', '-l', 'filemill.io/pool=pdf', '-o', 'name'),
    (pods) => pods === '',
    60_000,
  );
  const at = new Map<Stage, number>();
  const note = (stage: Stage, when: number) => at.has(stage) || at.set(stage, when);
  const ends = await Promise.all([
    watch('jobs', 'pdf', '{.metadata.name}', (_, when) => note('Job created', when)),
    watch('pods', 'pdf', '{.spec.nodeName} {.status.containerStatuses[0].state.running.startedAt}', (line, when) => {
      if (/^\S/.test(line)) note('pod scheduled', when);
      if (/\S \S/.test(line)) note('container seen to run', when);
    }),
  ]);
  try {
    const sent = Date.now();
    must((await convert(base, file, 'txt')).bytes.length > 0, 'no text');
    note('output downloaded', Date.now());
    const [pod = ''] = await eventually(
      'its worker to be told of',
      () => stayingPods('filemill.io/pool=pdf'),
      (pods) => pods.length > 0,
    );
    const { process, asked } = await beginOf(pod);
    note("the worker's process began", Math.round(process));
    note('first request for an order', asked);
    return Object.fromEntries(STAGES.map((stage) => [stage, (at.get(stage) ?? Number.NaN) - sent])) as Record<Stage, number>;
  } finally {
    for (const end of ends) end();
  }
}

const middle = (values: readonly number[]): string => {
  const sorted = values.toSorted((a, b) => a - b);
  return `p50 ${sorted[Math.floor(sorted.length / 2)]} ms, longest ${sorted.at(-1)} ms`;
};

export async function measure(files: E2eFiles): Promise<void> {
  await step(`${COLD_STARTS} cold starts, by stage after the file was sent`, async () => {
    const starts: Readonly<Record<Stage, number>>[] = [];
    for (let n = 0; n < COLD_STARTS; n++) starts.push(await coldStart(await blobOf(files.pdf, 'a.pdf')));
    const own = starts.map((start) => start['first request for an order'] - start["the worker's process began"]);
    return [
      ...STAGES.map((stage) => `${stage} ${middle(starts.map((start) => start[stage]))}`),
      `of that the worker's own ${middle(own)}`,
    ].join('; ');
  });
  await step("a worker's start, from its process to its first request for an order, in a pod that does nothing else", async () => {
    const taken = (await execIn('filemill.io/pool=image', 'node', '-e', STARTS)).trim().split('\n').map(Number);
    must(taken.length === COLD_STARTS && taken.every((ms) => ms > 0), `it said ${taken}`);
    return middle(taken);
  });
  await step('a hundred small pictures, one after the other', async () => {
    const small = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#c33' } })
      .png()
      .toBuffer();
    const taken: number[] = [];
    for (let n = 0; n < 100; n++) {
      const start = performance.now();
      await convert(base, [new Blob([Uint8Array.from(small)]), 'small.png'], 'jpg');
      taken.push(performance.now() - start);
    }
    taken.sort((a, b) => a - b);
    return `p50 ${Math.round(taken[49] ?? 0)} ms, p99 ${Math.round(taken[98] ?? 0)} ms, with the download of each`;
  });
  await step('no converter of an image has failed its trial', async () => {
    const answer = await fetch(`${base}/api/v1/health`, { signal: AbortSignal.timeout(20_000) });
    const { data } = (await answer.json()) as { readonly data: { readonly missing: readonly { engine: string; reason: string }[] } };
    const broken = data.missing.filter(({ reason }) => reason.includes('known to be good'));
    must(broken.length === 0, `these are withdrawn: ${broken.map(({ engine, reason }) => `${engine} (${reason})`).join(', ')}`);
    return undefined;
  });
  await step('memory of each role', async () => {
    const held: string[] = [];
    for (const component of ['api', 'controller', 'egress', 'worker']) {
      const status = await execIn(`app.kubernetes.io/component=${component}`, 'cat', '/proc/1/status');
      held.push(`${component} ${Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024)} MiB`);
    }
    return held.join(', ');
  });
}
