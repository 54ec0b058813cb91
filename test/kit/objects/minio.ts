/** A real S3 for a test: a separate MinIO server on a free port, with a folder that goes with it. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type S3Settings, s3Settings } from '../../../src/objects/settings.ts';
import { freePort } from '../exec/ports.ts';
import { GO } from '../kube/processes.ts';

const PROGRAM = join(import.meta.dirname, '../../../.cache/bin/minio');
const USER = 'filemill';
const PASSWORD = 'filemill-test-secret';

/** With the keys of its root user. */
export type MinioSettings = S3Settings & { readonly accessKeyId: string; readonly secretAccessKey: string };

export interface Minio {
  readonly endpoint: string;
  readonly pid: number;
  /** Settings for a bucket that was not used before, unless they name one. */
  settings(change?: Partial<S3Settings>): MinioSettings;
  /** Files of uploads that neither ended nor were abandoned, whatever their bucket. */
  unfinished(): Promise<string[]>;
  /** SIGKILL, and waits for its end. */
  kill(): Promise<void>;
  /** On the same port and folder, after `kill`. */
  restart(): Promise<void>;
  /** Removes what is stored, as with a disk that is replaced, after `kill`. */
  empty(): Promise<void>;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

export interface MinioOptions {
  /** Variables that it reads, such as MINIO_DOMAIN. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Its disk is a file system of this size, in the words of tmpfs(5): needs root. */
  readonly diskSize?: string;
  /** A folder with `public.crt` and `private.key`: it then speaks TLS. */
  readonly certificates?: string;
}

export async function startMinio({ environment = {}, diskSize, certificates }: MinioOptions = {}): Promise<Minio> {
  if (!existsSync(PROGRAM)) throw new Error('there is no MinIO server: scripts/build-servers makes it');
  const folder = await mkdtemp(join(tmpdir(), 'filemill-minio-'));
  if (diskSize !== undefined) execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskSize}`, 'tmpfs', folder]);
  const port = await freePort();
  const start = async (): Promise<ChildProcess> => {
    const tls = certificates === undefined ? [] : ['--certs-dir', certificates];
    const child = spawn(PROGRAM, ['server', '--address', `127.0.0.1:${port}`, ...tls, folder], {
      env: {
        HOME: folder,
        MINIO_ROOT_USER: USER,
        MINIO_ROOT_PASSWORD: PASSWORD,
        MINIO_BROWSER: 'off',
        MINIO_UPDATE: 'off',
        ...GO,
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    await serving(child);
    return child;
  };
  let child = await start();
  const kill = async () => {
    const ended = once(child, 'close');
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await ended;
  };
  const endpoint = `${certificates === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  return {
    endpoint,
    get pid() {
      return child.pid ?? 0;
    },
    settings: (change) =>
      s3Settings.parse({
        endpoint,
        bucket: `b-${randomBytes(8).toString('hex')}`,
        accessKeyId: USER,
        secretAccessKey: PASSWORD,
        ...change,
      }) as MinioSettings,
    async unfinished() {
      const names = await readdir(join(folder, '.minio.sys/multipart'), { recursive: true }).catch(() => []);
      return names.filter((name) => /\/(xl\.meta|part\.\d+)$/.test(name));
    },
    kill,
    async restart() {
      child = await start();
    },
    async empty() {
      for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
    },
    async stop() {
      await kill();
      if (diskSize !== undefined) execFileSync('umount', [folder]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves when it says where it serves. @throws with its words when it ends before */
async function serving(child: ChildProcess): Promise<void> {
  const said: string[] = [];
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        said.push(line);
        if (line.startsWith('API:')) resolve();
      });
    }
    child.once('error', reject);
    child.once('close', () => reject(new Error(`MinIO ended: ${said.join('\n')}`)));
  });
}
