/** What several machines share: NATS JetStream for jobs, orders and messages, and an S3 bucket for files. */
import type { Config } from '../../config.ts';
import { BANDS, SMALL_BANDS } from '../../contracts/messages/presence.ts';
import { encryptionWith, saltOf } from '../../jobs/encryption.ts';
import { openNatsBatches } from '../../jobs/nats/batches.ts';
import { openNatsIdempotency } from '../../jobs/nats/idempotency.ts';
import { openNatsJobs } from '../../jobs/nats/jobs.ts';
import { openNatsLimits } from '../../limits/nats.ts';
import type { Nats } from '../../nats/connection.ts';
import { openS3 } from '../../objects/s3/store.ts';
import { type Known, openNatsQueue } from '../../queue/nats/queue.ts';
import { openRoom } from '../../queue/nats/room.ts';
import { natsSignals } from '../../signals/nats.ts';
import type { Log } from '../../telemetry/log.ts';
import { openNatsUploads } from '../../uploads/nats.ts';
import { uploadsOver } from '../../uploads/uploads.ts';
import { CannotStart } from '../process/cannot-start.ts';
import { limitsOver } from '../process/limits.ts';
import type { UnreadableOf } from '../process/unreadable.ts';
import { openPools } from './pools.ts';

/** The stores of an API replica. @throws CannotStart where a secret or the bucket is missing */
export async function openCluster(nats: Nats, config: Config, log: Log, unreadable: UnreadableOf, clock: () => number) {
  const { s3, secret } = config;
  if (s3 === undefined)
    throw new CannotStart(
      'the role api needs a bucket: set S3_ENDPOINT and S3_BUCKET, and its keys where the AWS SDK finds no credentials',
    );
  if (secret.key === undefined) throw new CannotStart('the role api needs a secret that all replicas share: set SECRET_KEY');
  const objects = await openS3(s3);
  const jobs = await openNatsJobs(nats, { report: unreadable('job') });
  const uploadRecords = openNatsUploads(nats, unreadable('upload'));
  const uploads = uploadsOver(uploadRecords, objects, config.uploads, clock, config.limits.enabled);
  const registry = await openPools(nats, config.pools, log, clock);
  const knows = (pool: string): Known => {
    const said = registry.pools().get(pool)?.engines;
    if (said?.has(BANDS) !== true) return 'lanes';
    return said.has(SMALL_BANDS) ? 'sizes' : 'numbers';
  };
  const queue = openNatsQueue(nats, { knows });
  const room = openRoom(nats);
  const signals = natsSignals(nats);
  await signals.join();
  return {
    jobs,
    batches: openNatsBatches(nats, unreadable('batch')),
    idempotency: openNatsIdempotency(nats, unreadable('idempotency')),
    queue,
    room,
    objects,
    uploads,
    uploadRecords,
    registry,
    signals,
    encryption: encryptionWith(secret.key, saltOf(secret.key, secret.salt)),
    limits: limitsOver(config, {
      store: openNatsLimits(nats, clock, unreadable('client')),
      jobs,
      salt: saltOf(secret.key, secret.salt),
      clock,
      atHome: false,
    }),
    async close() {
      signals.close();
      await uploads.idle();
      await registry.close();
      await queue.close();
      await jobs.close();
    },
  };
}
