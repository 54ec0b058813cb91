/** What several machines share: NATS JetStream for jobs, orders and words, and an S3 bucket for files. */
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { toolchains } from '../catalog/route.ts';
import type { Config } from '../config.ts';
import { ensureBatches, openBatches } from '../jobs/batches-nats.ts';
import { ensureDeeds, openDeeds } from '../jobs/idempotency-nats.ts';
import { ensureJobs, openJobs } from '../jobs/nats.ts';
import { sealWith } from '../jobs/seal.ts';
import { ensureLimits, openLimits } from '../limits/nats.ts';
import { connectNats, type Nats } from '../nats/connection.ts';
import { inboxOf } from '../nats/permissions.ts';
import { openS3 } from '../objects/s3.ts';
import { ensureRegistry, openRegistry } from '../pools/nats.ts';
import { openQueue } from '../queue/nats.ts';
import { ensurePool } from '../queue/pool-nats.ts';
import { natsSignals } from '../signals/nats.ts';
import type { Log } from '../telemetry/log.ts';
import { ensureUploads, openUploads } from '../uploads/nats.ts';
import { uploadsOver } from '../uploads/uploads.ts';
import { CannotStart } from './cannot-start.ts';
import { limitsOver } from './limits.ts';

/** @param pool of a worker @throws CannotStart · Unavailable */
export async function joinCluster({ nats }: Config, role: 'api' | 'worker', pool?: string): Promise<Nats> {
  if (nats === undefined) throw new CannotStart(`the role ${role} needs NATS: set NATS_URL`);
  const credentials = nats.credentialsFile === undefined ? undefined : await readFile(nats.credentialsFile, 'utf8');
  return connectNats({
    servers: nats.servers,
    name: `filemill ${role} on ${hostname()}`,
    inbox: inboxOf(role, pool),
    user: nats.user,
    password: nats.password,
    ...(credentials === undefined ? {} : { credentials }),
  });
}

/** Every stream, consumer and bucket, made or brought to its present shape: the one place that does it. @throws Mismatch · Unavailable */
export async function ensureCluster(nats: Nats, { nats: settings, upkeep }: Config): Promise<void> {
  const replicas = settings?.replicas ?? 1;
  for (const ensure of [ensureJobs, ensureBatches, ensureDeeds, ensureLimits, ensureUploads, ensureRegistry]) await ensure(nats, replicas);
  for (const pool of toolchains) await ensurePool(nats, pool, { capacity: upkeep.queueCapacity, replicas });
}

/** What an API replica keeps things in. @throws CannotStart where a secret or the bucket is missing */
export async function openCluster(nats: Nats, config: Config, log: Log, clock: () => number) {
  const { s3, secret } = config;
  if (s3 === undefined)
    throw new CannotStart('the role api needs a bucket: set S3_ENDPOINT, S3_BUCKET, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY');
  if (secret.key === undefined) throw new CannotStart('the role api needs a secret that all replicas share: set SECRET_KEY');
  const unreadable = (err: Error) => log.error({ err }, 'a stored record cannot be read');
  const objects = await openS3(s3);
  const jobs = await openJobs(nats, { report: unreadable });
  const queue = openQueue(nats);
  const uploadRecords = openUploads(nats, unreadable);
  const uploads = uploadsOver(uploadRecords, objects, config.uploads, clock);
  const registry = await openRegistry(nats, toolchains, clock, (err) => log.warn({ err }, 'what a pool can do could not be kept'));
  return {
    jobs,
    batches: openBatches(nats),
    deeds: openDeeds(nats),
    queue,
    objects,
    uploads,
    uploadRecords,
    registry,
    signals: natsSignals(nats),
    seal: sealWith(secret.key),
    limits: limitsOver(openLimits(nats, clock, unreadable), jobs, config, secret.key, clock),
    async close() {
      await uploads.idle();
      await registry.close();
      await queue.close();
      await jobs.close();
    },
  };
}
