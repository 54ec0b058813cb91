/** What goes wrong in the service itself, in a separate real process: no process can be started, or an error is not caught. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { processesOf } from '../../kit/exec/left-behind.ts';
import {
  checkout,
  convert,
  endProcess,
  readAnswer,
  type ServiceProcess,
  spawnService,
  startProcess,
  untilEnded,
} from '../../kit/roles/service.ts';

const run = promisify(execFile);
const root = await mkdtemp(join(tmpdir(), 'filemill-faults-'));
await chmod(root, 0o755);
const started: { kill(signal: NodeJS.Signals): boolean }[] = [];
afterAll(async () => {
  for (const child of started) child.kill('SIGKILL');
  await rm(root, { recursive: true, force: true });
});

const picture = {
  name: 'picture.png',
  bytes: await sharp({ create: { width: 60, height: 40, channels: 3, background: 'teal' } })
    .png()
    .toBuffer(),
};
const table = { name: 'table.csv', bytes: Buffer.from('name,age\nAda,36\n') };
const preload = `--import=${join(checkout, 'test/kit/roles/faults.ts')}`;
/** As many descriptors as a small machine gives, so that they can all be taken in a moment. */
const command = ['prlimit', '--nofile=600:600', join(checkout, 'scripts/filemill'), 'local'];

let folders = 0;
async function dataFolder(): Promise<string> {
  const path = join(root, `data-${++folders}`);
  await mkdir(path, { mode: 0o755 });
  return path;
}

async function begin(faults: readonly string[], folder?: string): Promise<ServiceProcess & { readonly dataDir: string }> {
  const dataDir = folder ?? (await dataFolder());
  const service = await startProcess(dataDir, {}, { NODE_OPTIONS: preload, FAULTS: faults.join(',') }, command);
  started.push(service.child);
  return { ...service, dataDir };
}

/** Minutes of it, so that encoding takes longer than any drain. */
async function film(): Promise<string> {
  const [short, long] = [join(root, 'short.mp4'), join(root, 'film.mp4')];
  const source = 'testsrc2=size=640x360:rate=25:duration=4';
  await run('/usr/bin/ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', source, '-c:v', 'mpeg4', '-q:v', '6', short]);
  await run('/usr/bin/ffmpeg', ['-v', 'error', '-stream_loop', '99', '-i', short, '-c', 'copy', long]);
  return long;
}

/** Brings the next of its faults about. */
async function fault({ child, lines }: ServiceProcess): Promise<void> {
  const before = lines.filter((line) => line.startsWith('fault:')).length;
  child.kill('SIGUSR2');
  await expect.poll(() => lines.filter((line) => line.startsWith('fault:')).length).toBe(before + 1);
}

const logged = ({ lines }: Pick<ServiceProcess, 'lines'>, words: string): Record<string, unknown>[] =>
  lines.filter((line) => line.startsWith('{') && line.includes(words)).map((line) => JSON.parse(line) as Record<string, unknown>);

/** Metrics are of the last second. */
const SCRAPED = { timeout: 3_000 };
const metric = async (url: string, name: string): Promise<string | undefined> =>
  (await (await fetch(`${url}/metrics`)).text()).split('\n').find((line) => line.startsWith(name));

describe('a process that cannot be started', () => {
  it('gives its order back, uncounted, and the service goes on', async () => {
    const service = await begin(['EMFILE', '', 'ENOMEM', '']);
    // The picture is for a warm program, the table for one that is started each time.
    const cases = [
      ['EMFILE', picture, 'jpg'],
      ['ENOMEM', table, 'html'],
    ] as const;
    for (const [index, [code, file, target]] of cases.entries()) {
      await fault(service);
      const { data } = await convert(service.url, file, target, {}, { prefer: 'respond-async' });
      await expect
        .poll(() => logged(service, 'the conversion was interrupted; the order was requeued').length, { timeout: 15_000 })
        .toBeGreaterThan(index);
      expect(logged(service, 'the conversion was interrupted; the order was requeued').at(-1)).toMatchObject({
        err: { message: expect.stringContaining(code) },
      });
      await expect.poll(() => metric(service.url, `filemill_spawn_failures_total{code="${code}"}`), SCRAPED).toMatch(/ [1-9]\d*$/);
      await fault(service);
      expect(await untilEnded(service.url, data?.job_id ?? '')).toMatchObject({ data: { status: 'done' } });
      expect(logged(service, 'the job ended').at(-1)).toMatchObject({ state: 'done', attempts: 1 });
    }
    expect(logged(service, 'uncaught error')).toEqual([]);
    await endProcess(service);
    expect(service.child.exitCode).toBe(0);
  });

  it('is a sentence when it happens at the start', async () => {
    const environment = { NODE_OPTIONS: preload, FAULT_AT_START: 'EMFILE' };
    const { child, lines, serving, ended } = await spawnService(await dataFolder(), {}, environment, command);
    started.push(child);
    expect(await serving).toBeUndefined();
    await ended;
    expect([child.exitCode, lines.join('\n')]).toEqual([1, expect.stringMatching(/the launcher .* cannot be started \(EMFILE\)/)]);
  });
});

describe('an uncaught error', () => {
  it.each(['rejection', 'exception'])('ends the service after what it had in hand, with its stack in the log (%s)', async (kind) => {
    const dataDir = await dataFolder();
    const service = await begin([kind], dataDir);
    const ended = once(service.child, 'close');
    const { data } = await convert(service.url, picture, 'jpg', {}, { prefer: 'respond-async' });
    await fault(service);
    await ended;
    expect(service.child.exitCode).toBe(1);
    expect(logged(service, 'uncaught error')).toEqual([
      expect.objectContaining({
        level: 'fatal',
        kind,
        err: expect.objectContaining({ message: `an injected ${kind}`, stack: expect.stringContaining('faults.ts') }),
      }),
    ]);
    expect(service.lines.at(-1)).toBe('filemill has stopped after an uncaught error');
    // Its supervisor starts it again, and nothing is lost.
    const again = await begin([], dataDir);
    expect(await untilEnded(again.url, data?.job_id ?? '')).toMatchObject({ data: { status: 'done' } });
    await endProcess(again);
  });

  it('is counted while the service finishes, and a second time ends it at once', async () => {
    const service = await begin(['rejection', 'exception']);
    const ended = once(service.child, 'close');
    const { data } = await convert(service.url, await film(), 'webm', {}, { prefer: 'respond-async' });
    const progress = async () => (await readAnswer(await fetch(`${service.url}/api/v1/jobs/${data?.job_id}`))).data?.progress;
    await expect.poll(progress, { timeout: 30_000, interval: 100 }).toBeDefined();
    await fault(service);
    await expect.poll(() => metric(service.url, 'filemill_uncaught_errors_total{kind="rejection"}'), SCRAPED).toMatch(/ 1$/);
    await fault(service);
    await ended;
    expect(service.child.exitCode).toBe(1);
    expect(service.lines).not.toContain('filemill has stopped after an uncaught error');
    // The kernel ends them as their parent's death reaches them.
    await expect.poll(() => processesOf(service.dataDir), { timeout: 10_000 }).toEqual([]);
    expect(logged(service, 'uncaught error').map(({ kind }) => kind)).toEqual(['rejection', 'exception']);
  });
});
