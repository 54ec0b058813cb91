/** filemill and its peers as running servers, and how each is asked for the same work. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { endProcess, startProcess } from '../../test/kit/roles/service.ts';
import { type Built, gotenberg, imgproxy, type Missing } from './build.ts';
import type { Wanted } from './load.ts';

/** A file, and what it is to become. */
export interface Work {
  readonly name: string;
  readonly file: string;
  readonly target: 'jpg' | 'webp' | 'pdf';
  /** px; of pictures that shrink. */
  readonly width?: number;
}

export interface Contender {
  readonly name: string;
  /** Of the server, whose children count too. */
  readonly pid: number;
  /** Undefined where it cannot do this work. */
  wanted(work: Work): Wanted | undefined;
  stop(): Promise<void>;
}

const MAGIC = { jpg: '\xff\xd8\xff', webp: 'RIFF', pdf: '%PDF-' } as const;
const START_MS = 60_000;
const PROBE_MS = 100;

export async function startFilemill(folder: string): Promise<Contender> {
  const service = await startProcess(await mkdtemp(join(folder, 'data-')), {}, { LOG_LEVEL: 'warn' });
  return {
    name: 'filemill',
    pid: service.child.pid ?? 0,
    wanted: ({ file, target, width }) => ({
      url: `${service.url}/api/v1/convert?download=1`,
      form: {
        fields: { to_format: target, ...(width !== undefined && { img_resize_w: String(width) }) },
        fileField: 'file',
        file,
      },
      magic: MAGIC[target],
    }),
    stop: () => endProcess(service),
  };
}

/** @returns what runs, and a sentence for each peer that does not */
export async function startPeers(checkouts: string, folder: string): Promise<{ peers: readonly Contender[]; missing: readonly string[] }> {
  const peers: Contender[] = [];
  const missing: string[] = [];
  for (const [build, start] of [
    [imgproxy, startImgproxy],
    [gotenberg, startGotenberg],
  ] as const) {
    const built: Built | Missing = await build(checkouts);
    if ('missing' in built) missing.push(built.missing);
    else peers.push(...(await start(built, folder)));
  }
  return { peers, missing };
}

/** Twice: reading its disk, and fetching the file over HTTP as a client's file would have to come. */
async function startImgproxy({ program, env, commit }: Built, folder: string): Promise<readonly Contender[]> {
  const { port, close } = await serveFiles(folder);
  const server = await startServer(
    program,
    [],
    (bind) => `http://127.0.0.1:${bind}/health`,
    (bind) => ({
      ...env,
      IMGPROXY_BIND: `127.0.0.1:${bind}`,
      IMGPROXY_LOCAL_FILESYSTEM_ROOT: folder,
      IMGPROXY_ALLOW_LOOPBACK_SOURCE_ADDRESSES: 'true',
      IMGPROXY_QUALITY: '80',
      IMGPROXY_MAX_SRC_RESOLUTION: '100',
      IMGPROXY_LOG_LEVEL: 'error',
    }),
  );
  const from = (name: string, source: string, stop: () => Promise<void>): Contender => ({
    name: `imgproxy ${commit}, ${name}`,
    pid: server.pid,
    wanted({ file, target, width }) {
      if (target === 'pdf' || dirname(file) !== folder) return undefined;
      const resize = width === undefined ? '' : `/rs:fit:${width}:0`;
      return { url: `${server.url}/unsafe${resize}/plain/${source}${basename(file)}@${target}`, magic: MAGIC[target] };
    },
    stop,
  });
  return [
    from('from its disk', 'local:///', async () => {}),
    from('over HTTP', `http://127.0.0.1:${port}/`, async () => {
      await server.stop();
      close();
    }),
  ];
}

async function startGotenberg({ program, env, commit }: Built, folder: string): Promise<readonly Contender[]> {
  const server = await startServer(
    program,
    ['--log-level=error', '--api-timeout=120s', '--libreoffice-auto-start=true'],
    (port) => `http://127.0.0.1:${port}/health`,
    (port) => ({ ...env, API_PORT: String(port), OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none' }),
    await mkdtemp(join(folder, 'gotenberg-')),
  );
  return [
    {
      name: `Gotenberg ${commit}`,
      pid: server.pid,
      wanted: ({ file, target }) =>
        target === 'pdf'
          ? { url: `${server.url}/forms/libreoffice/convert`, form: { fields: {}, fileField: 'files', file }, magic: MAGIC.pdf }
          : undefined,
      stop: server.stop,
    },
  ];
}

interface Server {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Resolves when its address for health answers 200. @throws when it ends before, or does not within a minute */
async function startServer(
  program: string,
  args: readonly string[],
  health: (port: number) => string,
  env: (port: number) => Readonly<Record<string, string>>,
  home = dirname(program),
): Promise<Server> {
  const port = await freePort();
  await mkdir(home, { recursive: true });
  const child: ChildProcess = spawn(program, args, {
    env: { PATH: `${dirname(program)}:/usr/bin:/bin`, HOME: home, ...env(port) },
    cwd: home,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const until = performance.now() + START_MS;
  for (;;) {
    const isUp = await fetch(health(port), { signal: AbortSignal.timeout(1_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) break;
    if (child.exitCode !== null) throw new Error(`${basename(program)} ended with ${child.exitCode}`);
    if (performance.now() > until) throw new Error(`${basename(program)} did not serve within ${START_MS / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, PROBE_MS));
  }
  const url = `http://127.0.0.1:${port}`;
  return { url, pid: child.pid ?? 0, stop: () => endProcess({ url, child, lines: [] }) };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The origin that imgproxy fetches from: files of one folder, as they are. */
async function serveFiles(folder: string): Promise<{ port: number; close(): void }> {
  const server = createServer((request, response) => {
    const name = basename(request.url ?? '');
    createReadStream(join(folder, name))
      .on('error', () => response.destroy())
      .pipe(response);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}
