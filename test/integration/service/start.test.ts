/**
 * Starting and stopping as users do it: quickly, in good order, and with one sentence where it cannot be.
 *
 * Slow: it starts the service some twenty times, and once reads the versions of all converters.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobRecord } from '../../../src/jobs/record.ts';
import { openSqliteJobs } from '../../../src/jobs/sqlite/jobs.ts';
import { openSqliteQueue } from '../../../src/queue/sqlite.ts';
import { anOrder, aRecord } from '../../conformance/samples.ts';
import { processesOf } from '../../kit/exec/left-behind.ts';
import { fixtures } from '../../kit/fixtures/documents/documents.ts';
import {
  checkout,
  convert,
  convertTo,
  endProcess,
  readAnswer,
  type Settings,
  spawnService,
  startProcess,
  untilEnded,
} from '../../kit/roles/service.ts';

const run = promisify(execFile);
const root = await mkdtemp(join(tmpdir(), 'filemill-start-'));
await chmod(root, 0o755);
const started: { kill(signal: NodeJS.Signals): boolean }[] = [];
afterAll(async () => {
  for (const child of started) child.kill('SIGKILL');
  await rm(root, { recursive: true, force: true });
});

const isRoot = process.getuid?.() === 0;
/** Mount namespaces are root's, and not everywhere even his. */
const canMount =
  isRoot &&
  (await run('unshare', ['-m', 'true']).then(
    () => true,
    () => false,
  ));

const asOther = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
const othersCanRead = await run('setpriv', [...asOther.slice(1), 'test', '-r', join(checkout, 'src/main.ts')]).then(
  () => true,
  () => false,
);

let folders = 0;
async function dataFolder(): Promise<string> {
  const path = join(root, `data-${++folders}`);
  await mkdir(path, { mode: 0o755 });
  return path;
}

async function begin(
  dataDir: string,
  settings: Settings = {},
  environment: Readonly<Record<string, string>> = {},
  command?: readonly string[],
) {
  const service = await startProcess(dataDir, settings, environment, command);
  started.push(service.child);
  return service;
}

async function refused(
  dataDir: string,
  settings: Settings = {},
  environment: Readonly<Record<string, string>> = {},
  command?: readonly string[],
) {
  const { child, lines, serving, ended } = await spawnService(await dataFolder(), settings, { DATA_DIR: dataDir, ...environment }, command);
  started.push(child);
  expect(await serving).toBeUndefined();
  await ended;
  return { code: child.exitCode, said: lines.filter((line) => !line.startsWith('{')) };
}

async function recordIn(dataDir: string, id: string): Promise<JobRecord | undefined> {
  const jobs = openSqliteJobs(join(dataDir, 'filemill.db'), Date.now);
  const stored = await jobs.get(id);
  await jobs.close();
  return stored?.record;
}

const png = await sharp({ create: { width: 40, height: 30, channels: 3, background: '#c02040' } })
  .png()
  .toBuffer();
const picture = { name: 'red.png', bytes: png };
let film: string;

beforeAll(async () => {
  const short = join(root, 'short.mp4');
  film = join(root, 'film.mp4');
  await run('/usr/bin/ffmpeg', [
    '-v',
    'error',
    '-f',
    'lavfi',
    '-i',
    'testsrc2=size=640x360:rate=25:duration=4',
    '-c:v',
    'mpeg4',
    '-q:v',
    '6',
    short,
  ]);
  // Ten minutes of it without encoding them.
  await run('/usr/bin/ffmpeg', ['-v', 'error', '-stream_loop', '149', '-i', short, '-c', 'copy', film]);
});

/** Sends the film and waits until it is being encoded. */
async function longJob(url: string): Promise<string> {
  const answer = await convert(url, film, 'webm', {}, { prefer: 'respond-async' });
  const id = answer.data?.job_id ?? '';
  await expect.poll(() => progressOf(url, id), { timeout: 30_000, interval: 100 }).toBeDefined();
  return id;
}

const progressOf = async (url: string, id: string) => (await readAnswer(await fetch(`${url}/api/v1/jobs/${id}`))).data?.progress;

describe('a start', () => {
  it('is answered in under 2 s, but for the very first', async () => {
    const dataDir = await dataFolder();
    await endProcess(await begin(dataDir));
    const took: number[] = [];
    for (let tries = 0; tries < 3; tries++) {
      const from = performance.now();
      const service = await begin(dataDir);
      await (await fetch(`${service.url}/api/v1/health`)).text();
      took.push(Math.round(performance.now() - from));
      await endProcess(service);
    }
    console.log(`second starts: ${took.join(', ')} ms`);
    // Where others keep the cores busy, the clock tells how busy: it is given in proportion.
    const crowd = Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
    expect(Math.min(...took)).toBeLessThan(2_000 * crowd);
  });

  it('runs what waited, again what ran, and keeps what was done', async () => {
    const dataDir = await dataFolder();
    const settings = { worker: { slots: { image: 1, media: 1 } } };
    const first = await begin(dataDir, settings);
    const done = (await convert(first.url, picture, 'jpg')).data?.job_id ?? '';
    const running = await longJob(first.url);
    const waiting =
      (await convert(first.url, film, 'mkv', { video_codec: 'mpeg4', end_time: '1' }, { prefer: 'respond-async' })).data?.job_id ?? '';
    await endProcess(first, 'SIGKILL');

    const second = await begin(dataDir, settings);
    expect((await untilEnded(second.url, done)).data?.status).toBe('done');
    expect((await fetch(`${second.url}/api/v1/jobs/${done}/output`)).status).toBe(200);
    await expect.poll(() => progressOf(second.url, running), { timeout: 30_000, interval: 100 }).toBeDefined();
    await fetch(`${second.url}/api/v1/jobs/${running}`, { method: 'DELETE' });
    expect((await untilEnded(second.url, waiting)).data?.status).toBe('done');
    await endProcess(second);
    expect(await processesOf(dataDir)).toEqual([]);
  });

  it.skipIf(!canMount)('goes well without a converter: its formats are absent, and health says which', async () => {
    const dataDir = await dataFolder();
    const hidden = 'mount --bind /dev/null /usr/bin/ffmpeg && exec "$0" local';
    const service = await begin(dataDir, {}, {}, ['unshare', '-m', 'sh', '-c', hidden, join(checkout, 'scripts/filemill')]);
    const { data } = (await (await fetch(`${service.url}/api/v1/health`)).json()) as {
      data: {
        status: string;
        missing: { engine: string; formats: string[] }[];
        engines: Record<string, { available: boolean; all: { name: string; available: boolean }[] }>;
      };
    };
    expect(data.status).toBe('degraded');
    expect(data.missing.flatMap(({ engine, formats }) => (engine === 'FFmpeg' ? formats : []))).toContain('mp4');
    const engines = data.engines['audio_video']?.all ?? [];
    expect(engines.find(({ name }) => name === 'FFmpeg')?.available).toBe(false);
    expect(data.engines['image']?.available).toBe(true);
    expect((await convert(service.url, film, 'webm')).error).toMatchObject({ code: 'INVALID_FORMAT', details: { targets: [] } });
    expect((await convert(service.url, picture, 'mp4')).error?.code).toBe('INVALID_FORMAT');
    expect((await convert(service.url, picture, 'jpg')).data?.status).toBe('done');
    await endProcess(service);
  });

  it.skipIf(!canMount)('works from a checkout under a closed home', async () => {
    const dataDir = await dataFolder();
    const home = join(root, 'home');
    await mkdir(join(home, 'checkout'), { recursive: true });
    await chmod(home, 0o700);
    const mounted = `mount --bind '${checkout}' '${home}/checkout' && exec '${home}/checkout/scripts/filemill' local`;
    const service = await begin(dataDir, {}, {}, ['unshare', '-m', 'sh', '-c', mounted]);
    expect((await convertTo(service.url, root, join(await written('red.png', png)), 'jpg')).job.status).toBe('done');
    const docx = await fixtures['docx']?.('closed', root);
    expect((await convertTo(service.url, root, docx ?? '', 'pdf')).job.engine?.name).toMatch(/LibreOffice/);
    await endProcess(service);
  });

  it('is refused on a data folder in use, and does no harm to the service that uses it', async () => {
    const dataDir = await dataFolder();
    const service = await begin(dataDir);
    expect(await refused(dataDir)).toEqual({
      code: 1,
      said: [`filemill cannot start: another filemill is running on ${dataDir}: stop it, or set DATA_DIR`],
    });
    expect((await convert(service.url, picture, 'jpg')).data?.status).toBe('done');
    await endProcess(service);
  });

  it('is refused on a port in use, before any job is taken', async () => {
    const dataDir = await dataFolder();
    const record = aRecord({ createdAt: Date.now(), expiresAt: Date.now() + 3_600_000 });
    const jobs = openSqliteJobs(join(dataDir, 'filemill.db'), Date.now);
    const queue = openSqliteQueue(join(dataDir, 'filemill.db'), Date.now, { capacity: 10 });
    await jobs.create(record);
    await queue.publish(anOrder({ jobId: record.id }));
    await Promise.all([jobs.close(), queue.close()]);
    const other = createServer().listen(0, '0.0.0.0');
    await once(other, 'listening');
    const port = String((other.address() as { port: number }).port);
    expect(await refused(dataDir, {}, { PORT: port })).toEqual({
      code: 1,
      said: [`filemill cannot start: port ${port} is in use: stop what listens there, or set PORT`],
    });
    other.close();
    expect(await recordIn(dataDir, record.id)).toEqual(record);
  });

  it('serves the toolchains that TOOLCHAINS names as if it had no others', async () => {
    const service = await begin(await dataFolder(), {}, { TOOLCHAINS: 'image,pdf' });
    expect((await convert(service.url, picture, 'jpg')).data?.status).toBe('done');
    expect((await convert(service.url, film, 'webm')).error?.code).toBe('INVALID_FORMAT');
    const read = async (path: string) => (await (await fetch(`${service.url}/api/v1/${path}`)).json()) as { data: never };
    const { sources }: { sources: { format: string }[] } = (await read('formats')).data;
    const formats = sources.map(({ format }) => format);
    expect([formats.includes('pdf'), formats.includes('mp4'), formats.includes('docx')]).toEqual([true, false, false]);
    const { tools }: { tools: { slug: string; reason?: string }[] } = (await read('tools')).data;
    const reasons = new Map(tools.map(({ slug, reason }) => [slug, reason]));
    expect(reasons.get('compress-pdf')).toBeUndefined();
    expect(reasons.get('trim-video')).toBe('this server has only the toolchains image, pdf (worker.toolchains)');
    expect(reasons.get('extract-audio-from-video')).toBe('no engine that reads its formats is installed');
    const { status, missing, queue }: { status: string; missing: unknown[]; queue: object } = (await read('health')).data;
    // No order waits in a pool without workers, although some of its engines are there for others.
    expect({ status, missing, pools: Object.keys(queue) }).toEqual({ status: 'ok', missing: [], pools: ['image', 'pdf'] });
  });

  it('is refused where a toolchain is named that there is not', async () => {
    const { code, said } = await refused(await dataFolder(), {}, { TOOLCHAINS: 'image,films' });
    expect(code).toBe(2);
    expect(said.join('\n')).toContain('TOOLCHAINS');
  });

  it('is refused where the data folder is none', async () => {
    const path = await written('no-folder', Buffer.from(''));
    const { code, said } = await refused(path);
    expect({ code, said }).toEqual({ code: 1, said: [expect.stringContaining(`the data folder ${path} cannot be written (EEXIST)`)] });
  });

  it.skipIf(isRoot && !othersCanRead)('is refused where the data folder cannot be written', async () => {
    const dataDir = await dataFolder();
    await chmod(dataDir, 0o555);
    const filemill = [join(checkout, 'scripts/filemill'), 'local'];
    const { code, said } = await refused(dataDir, {}, {}, isRoot ? [...asOther, ...filemill] : filemill);
    expect({ code, said }).toEqual({ code: 1, said: [expect.stringContaining(`the data folder ${dataDir} cannot be written (EACCES)`)] });
  });

  it('names every mistake of the configuration at once', async () => {
    const { code, said } = await refused(await dataFolder(), { worker: { drainMs: 'long' } }, { PORT: 'abc', LOG_LEVEL: 'loud' });
    expect(code).toBe(2);
    expect(said).toEqual([
      'The configuration has 3 mistakes:',
      '  PORT, api.port: received "abc"; expected a whole number from 0 to 65535',
      '  worker.drainMs: received "long"; expected a whole number from 0 on',
      '  LOG_LEVEL, log.level: received "loud"; expected one of trace, debug, info, warn, error, silent',
    ]);
  });

  it.each<[string[], number, string]>([
    [['worker', '--pool', 'image'], 1, 'filemill cannot start: the role worker needs NATS: set NATS_URL'],
    [['worker'], 1, 'filemill cannot start: the role worker needs a pool: set POOL'],
    [['api', '--pool', 'image'], 2, 'invalid arguments "api --pool image"; usage: "filemill <role>"'],
    [['worker', 'image'], 2, 'invalid arguments "worker image"; usage: "filemill <role>"'],
    [['local', '--port=80'], 2, 'invalid arguments "local --port=80"; usage: "filemill <role>"'],
    [['miller'], 2, 'there is no command "miller"; filemill help lists them'],
    [['merge'], 2, 'there is no command "merge"; did you mean "tool merge-pdf" or "tool merge-videos"?'],
  ])('as %j ends with %i, and says why', async (args, status, why) => {
    const { code, said } = await refused(await dataFolder(), {}, {}, [join(checkout, 'scripts/filemill'), ...args]);
    expect([code, said.join('\n')]).toEqual([status, expect.stringContaining(why)]);
  });
});

it.each<[string[], RegExp]>([
  [['--help'], /^filemill help <role> +lists the settings of a role\b/m],
  [['help', 'worker'], /^ {2}MEMORY_LIMIT +worker\.limitBytes\b/m],
  [['nats-users', '--help'], /filemill nats-users <folder> \[--pool <pool>\]/],
  [['--version'], /^\d+\.\d+\.\d+(?: \([0-9a-f]{12}\))?$/m],
])('%j is answered at once', async (args, words) => {
  const { stdout } = await run(join(checkout, 'scripts/filemill'), args);
  expect(stdout).toMatch(words);
});

/** The last line of a start: which converters are missing. */
const LAST_WORDS = /^\d\d:\d\d:\d\d (?:info {2}every converter has been tried and works|warn {2}.* is missing: .*)\r?$/m;

it('says what happens as plain text at a terminal, and as lines of JSON elsewhere', async () => {
  const env = { PATH: process.env['PATH'], PORT: '0', DATA_DIR: await dataFolder() };
  const filemill = join(checkout, 'scripts/filemill');
  // script(1) gives it a terminal.
  const child = spawn('script', ['-qec', `${filemill} local`, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'ignore'] });
  started.push(child);
  let said = '';
  for await (const text of child.stdout) {
    said += text;
    if (LAST_WORDS.test(said)) break;
  }
  expect(said).toMatch(/^\d\d:\d\d:\d\d info {2}listening at http/m);
  expect(said.search(/serves on/)).toBeLessThan(said.search(LAST_WORDS));
  const { lines } = await begin(await dataFolder());
  expect(lines.filter((line) => line.startsWith('{"level":"info"')).length).toBeGreaterThan(0);
  // It tries every converter, one after the other, beside the other tests.
}, 400_000);

describe('SIGTERM', () => {
  it('is heard in the very moment in which it says that it serves', async () => {
    // The signal is there before anything after those words is.
    const preload = `const { stderr } = process; const write = stderr.write; stderr.write = (...words) => {
      const written = write.apply(stderr, words);
      if (!/serves on/.test(words[0])) return written;
      process.kill(process.pid, 'SIGTERM');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
      return written;
    };`;
    const service = await begin(await dataFolder(), {}, { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(preload)}` });
    await expect.poll(() => service.child.exitCode, { timeout: 20_000 }).toBe(0);
    expect(service.lines.at(-1)).toBe('filemill has stopped');
  });
});

describe('Ctrl-C', () => {
  /** As a terminal sends it: to every process of the group. */
  const interrupt = (leader: number | undefined) => {
    if (leader === undefined) throw new Error('the service has no process');
    process.kill(-leader, 'SIGINT');
  };
  // It becomes the service, and leads the group: no process is added.
  const ownGroup = ['setsid', join(checkout, 'scripts/filemill'), 'local'];

  it('lets a short job end, tells the client that waits for a long one how it stands, and requeues that', async () => {
    const dataDir = await dataFolder();
    const settings = { api: { syncMaxBytes: 1 << 30, syncWaitMs: 60_000 } };
    const service = await begin(dataDir, settings, {}, ownGroup);
    const waiter = convert(service.url, film, 'webm');
    const long = await longJob(service.url);
    const short =
      (await convert(service.url, film, 'mkv', { video_codec: 'mpeg2', end_time: '20' }, { prefer: 'respond-async' })).data?.job_id ?? '';

    const from = performance.now();
    const ended = once(service.child, 'exit');
    interrupt(service.child.pid);
    const told = await waiter;
    expect(told).toMatchObject({ status: 200, data: { status: 'processing' } });
    await ended;
    const took = performance.now() - from;
    console.log(`drained in ${(took / 1000).toFixed(1)} s`);
    expect(service.child.exitCode).toBe(0);
    expect(took).toBeLessThan(10_000);
    expect(service.lines.at(-1)).toBe('filemill has stopped');
    expect(await processesOf(dataDir)).toEqual([]);

    for (const id of [long, told.data?.job_id ?? '']) {
      expect(await recordIn(dataDir, id)).toMatchObject({ state: 'queued', attempts: 0, queuedAt: expect.any(Number) });
    }
    expect((await recordIn(dataDir, short))?.state).toMatch(/queued/);

    const again = await begin(dataDir, settings);
    await expect.poll(() => progressOf(again.url, long), { timeout: 30_000, interval: 100 }).toBeDefined();
    for (const id of [long, told.data?.job_id]) await fetch(`${again.url}/api/v1/jobs/${id}`, { method: 'DELETE' });
    expect((await untilEnded(again.url, short)).data?.status).toBe('done');
    await endProcess(again);
  });

  it('waits for a job that is nearly done', async () => {
    const dataDir = await dataFolder();
    // As long as a busy machine may need.
    const service = await begin(dataDir, { worker: { drainMs: 50_000 } });
    const id =
      (await convert(service.url, film, 'mkv', { video_codec: 'mpeg4', end_time: '60' }, { prefer: 'respond-async' })).data?.job_id ?? '';
    await expect.poll(async () => (await recordIn(dataDir, id))?.state, { timeout: 30_000, interval: 20 }).toBe('running');
    await endProcess(service, 'SIGINT');
    expect(service.child.exitCode).toBe(0);
    expect(await recordIn(dataDir, id)).toMatchObject({ state: 'done', attempts: 1 });
  });
});

async function written(name: string, bytes: Buffer): Promise<string> {
  const path = join(root, name);
  await writeFile(path, bytes);
  return path;
}
