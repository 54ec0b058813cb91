/** A real service for a test: in this process on a free port, or as a separate process, each with a data folder that goes with it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openAsBlob } from 'node:fs';
import { chmod, copyFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { untilNextLook } from '../exec/looks.ts';

export const checkout = join(import.meta.dirname, '../../..');

export interface Service {
  readonly url: string;
  readonly dataDir: string;
  stop(): Promise<void>;
}

/** Settings as in the configuration file, by slice. */
export type Settings = Readonly<Record<string, object | string>>;

async function settingsFile(folder: string, settings: Settings): Promise<string> {
  const path = join(folder, 'config.yaml');
  // JSON is YAML. A test sends more than a client may, unless limits are what it is about; and then it is no client at home.
  const { api, limits, worker } = settings;
  await writeFile(
    path,
    // Trials of all engines after each start would take as much of the machine as many a test.
    JSON.stringify({
      ...settings,
      // A busy machine may take longer than a client would wait.
      api: { syncWaitMs: 90_000, mcp: { answerMs: 50_000 }, ...(api as object | undefined) },
      worker: { trials: false, ...(worker as object | undefined) },
      limits: limits === undefined ? { enabled: false } : { loopback: true, ...(limits as object) },
    }),
  );
  return path;
}

/** Reading the versions of all converters takes seconds, and they do not change between tests. */
const KNOWN_VERSIONS = join(checkout, '.cache/test-versions.json');

export const useKnownVersions = (dataDir: string): Promise<void> =>
  copyFile(KNOWN_VERSIONS, join(dataDir, 'versions.json')).catch(() => {});

export async function keepVersions(dataDir: string): Promise<void> {
  const fresh = `${KNOWN_VERSIONS}.${basename(dataDir)}`;
  await copyFile(join(dataDir, 'versions.json'), fresh);
  await rename(fresh, KNOWN_VERSIONS);
}

/**
 * Every converter and the embedded store, in this process: for settings, a clock, a data folder or counts that no other test touches.
 * Other tests take `sharedService()`.
 */
export async function startService(settings: Settings = {}, clock: () => number = Date.now): Promise<Service> {
  // All of the program, which most tests have no use for.
  const [{ loadConfig }, { local }] = await Promise.all([import('../../../src/config.ts'), import('../../../src/roles/local.ts')]);
  const dataDir = await mkdtemp(join(tmpdir(), 'filemill-test-'));
  await chmod(dataDir, 0o755);
  const config = loadConfig({
    CONFIG_FILE: await settingsFile(dataDir, settings),
    DATA_DIR: dataDir,
    PORT: '0',
    LOG_LEVEL: process.env['TEST_LOG'] ?? 'silent',
  });
  await useKnownVersions(dataDir);
  const running = await local(config, checkout, '0.0.0', clock);
  await keepVersions(dataDir);
  return {
    url: `http://127.0.0.1:${running.port}`,
    dataDir,
    async stop() {
      await running.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export interface ServiceProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** Everything it logged so far. */
  readonly lines: readonly string[];
}

export interface Starting extends Omit<ServiceProcess, 'url'> {
  /** Where it serves, as soon as it does; undefined when it ended before. */
  readonly serving: Promise<string | undefined>;
  /** Its end, with all its lines heard. */
  readonly ended: Promise<unknown>;
}

/** A command that becomes `filemill local`, as users start it: `scripts/filemill local`, or something that runs it. */
export async function spawnService(
  dataDir: string,
  settings: Settings = {},
  environment: Readonly<Record<string, string>> = {},
  [command = '', ...args]: readonly string[] = [join(checkout, 'scripts/filemill'), 'local'],
): Promise<Starting> {
  const child = spawn(command, args, {
    env: {
      PATH: process.env['PATH'],
      HOME: dataDir,
      CONFIG_FILE: await settingsFile(dataDir, settings),
      DATA_DIR: dataDir,
      PORT: '0',
      LOG_LEVEL: 'info',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const ended = once(child, 'close');
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const errors = createInterface({ input: child.stderr });
  const serving = new Promise<string | undefined>((resolve) => {
    errors.on('line', (line) => {
      lines.push(line);
      const port = /serves on http:\/\/localhost:(\d+)/.exec(line)?.[1];
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
    });
    void ended.then(() => resolve(undefined));
  });
  return { child, lines, serving, ended };
}

/** Resolves when it serves. The data folder is the caller's. @throws with its words when it ends before */
export async function startProcess(
  dataDir: string,
  settings: Settings = {},
  environment: Readonly<Record<string, string>> = {},
  command?: readonly string[],
): Promise<ServiceProcess> {
  const { child, lines, serving } = await spawnService(dataDir, settings, environment, command);
  const url = await serving;
  if (url === undefined) throw new Error(`filemill ended with ${child.exitCode ?? child.signalCode}: ${lines.join('\n')}`);
  return { url, child, lines };
}

/** Ends a process and waits for its end. */
export async function endProcess({ child }: ServiceProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

export interface JobBody {
  readonly job_id: string;
  readonly status: 'processing' | 'done' | 'error';
  readonly progress?: number;
  readonly output?: {
    readonly filename: string;
    readonly save_as: string;
    readonly size_bytes: number;
    readonly url: string;
    readonly content_type: string;
    readonly files: number;
    readonly sha256: string;
  };
  readonly links: { readonly self: string; readonly output: string };
  readonly created_at: string;
  readonly expires_at: string;
  readonly warnings: readonly { readonly code: string; readonly message: string }[];
  readonly engine?: { readonly name: string; readonly version: string };
}

export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>> & { readonly request_id: string; readonly retryable: boolean };
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly data: JobBody | undefined;
  readonly error: ErrorBody | undefined;
}

/** Sends a file (a path, or bytes with a name) to `POST /api/v1/convert`. */
export async function convert(
  url: string,
  file: string | { name: string; bytes: Uint8Array },
  toFormat: string,
  fields: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ to_format: toFormat, ...fields })) form.set(name, value);
  if (typeof file === 'string') form.set('file', await openAsBlob(file), basename(file));
  else form.set('file', new Blob([new Uint8Array(file.bytes)]), file.name);
  return readAnswer(await fetch(`${url}/api/v1/convert`, { method: 'POST', body: form, headers: { ...headers } }));
}

export async function readAnswer(response: Response): Promise<Answer> {
  const body = (await response.json()) as { data?: JobBody; error?: ErrorBody };
  return { status: response.status, headers: response.headers, data: body.data, error: body.error };
}

/** Asks for the job until it has ended. @throws when it has not within `withinMs` */
export async function untilEnded(url: string, jobId: string, withinMs = 90_000): Promise<Answer> {
  const [begun, until] = [performance.now(), Date.now() + withinMs];
  for (;;) {
    const answer = await readAnswer(await fetch(`${url}/api/v1/jobs/${jobId}`));
    if (answer.status !== 200 || answer.data?.status !== 'processing') return answer;
    if (Date.now() > until) throw new Error(`job ${jobId} has not ended in ${withinMs} ms`);
    await untilNextLook(begun);
  }
}

/** @returns the answer, or what its job came to where that was still under way: a busy machine may not be done within the wait */
export const settled = async (url: string, answer: Answer): Promise<Answer> =>
  answer.data?.status === 'processing' ? untilEnded(url, answer.data.job_id) : answer;

/** Converts bytes, and waits. @returns the answer, the output as text where there is one, and what the warnings say */
export async function convertText({ url }: Pick<Service, 'url'>, name: string, content: string | Buffer, toFormat: string) {
  const answer = await settled(url, await convert(url, { name, bytes: Buffer.from(content) }, toFormat));
  const text = answer.data?.output === undefined ? '' : await (await fetch(answer.data.output.url)).text();
  return { answer, text, warnings: (answer.data?.warnings ?? []).map((warning) => warning.message) };
}

/** Converts, waits and downloads into `folder`. @throws when the job fails @returns the path of the output */
export async function convertTo(
  url: string,
  folder: string,
  file: string,
  toFormat: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<{ path: string; job: JobBody }> {
  const answer = await settled(url, await convert(url, file, toFormat, fields));
  const job = answer.data;
  if (job?.output === undefined)
    throw new Error(`${basename(file)} to ${toFormat}: ${answer.status} ${JSON.stringify(answer.error ?? answer.data)}`);
  const response = await fetch(`${url}/api/v1/jobs/${job.job_id}/output`);
  const path = join(await mkdtemp(join(folder, 'out-')), job.output.filename);
  await writeFile(path, Buffer.from(await response.arrayBuffer()));
  return { path, job };
}
