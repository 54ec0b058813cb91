/** A small cluster for a test: real NATS and S3 servers, and roles as separate processes. */
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Permissions } from '../../../src/nats/permissions.ts';
import { type Servers, startNats } from '../nats/nats.ts';
import { type Minio, type MinioSettings, startMinio } from '../objects/minio.ts';
import { checkout, endProcess, type Settings, type Starting, spawnService } from './service.ts';

export interface Role extends Starting {
  /** Where an API replica serves; undefined for workers. */
  readonly url: string | undefined;
}

export interface Cluster {
  readonly nats: Servers;
  readonly minio: Minio;
  /** What all replicas share. */
  readonly bucket: MinioSettings;
  /** Resolves when it serves, or takes orders. @param program of another version @throws with its words when it ends before */
  start(role: 'api' | 'worker', environment?: Readonly<Record<string, string>>, settings?: Settings, program?: string): Promise<Role>;
  stop(): Promise<void>;
}

const TAKES = /takes orders of the pool/;

export async function startCluster(servers: 1 | 3 = 1, users: Readonly<Record<string, Permissions>> = {}): Promise<Cluster> {
  const [nats, minio] = await Promise.all([startNats(servers, users), startMinio()]);
  const bucket = minio.settings();
  const folder = await mkdtemp(join(tmpdir(), 'filemill-cluster-'));
  const roles: Role[] = [];
  return {
    nats,
    minio,
    bucket,
    async start(role, environment = {}, settings = {}, program = join(checkout, 'scripts/filemill')) {
      const dataDir = await mkdtemp(join(folder, `${role}-`));
      await copyFile(join(checkout, '.cache/test-versions.json'), join(dataDir, 'versions.json')).catch(() => {});
      const own = {
        NATS_URL: nats.addresses.join(','),
        S3_ENDPOINT: bucket.endpoint,
        S3_REGION: bucket.region,
        S3_BUCKET: bucket.bucket,
        S3_ACCESS_KEY_ID: bucket.accessKeyId,
        S3_SECRET_ACCESS_KEY: bucket.secretAccessKey,
        SECRET_KEY: 'a-secret-that-all-replicas-of-this-test-share',
      };
      // Workers are trusted with no credential of the bucket, nor with the key that encrypts passwords.
      const given = role === 'worker' ? { NATS_URL: own.NATS_URL } : own;
      const starting = await spawnService(dataDir, settings, { ...given, ...environment }, [program, role]);
      const url = await Promise.race([starting.serving, takesOrders(starting)]);
      if (starting.child.exitCode !== null) throw new Error(`the role ${role} ended: ${starting.lines.join('\n')}`);
      const started = { ...starting, url };
      roles.push(started);
      return started;
    },
    async stop() {
      await Promise.all(roles.map((role) => endProcess({ ...role, url: role.url ?? '' })));
      await Promise.all([nats.stop(), minio.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function takesOrders({ lines, ended }: Starting): Promise<undefined> {
  let over = false;
  void ended.then(() => {
    over = true;
  });
  while (!over && !lines.some((line) => TAKES.test(line))) await new Promise((resolve) => setTimeout(resolve, 50));
  return undefined;
}
