/** This commit beside the one before it, as in every upgrade: replicas and workers of both over one NATS and one bucket, and no job is lost on it. */
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../kit/api/wire.ts';
import { rounds } from '../../kit/exec/rounds.ts';
import { type Cluster, type Role, startCluster } from '../../kit/roles/cluster.ts';
import { poolOf } from '../../kit/roles/crew.ts';
import { type Answer, convert, untilEnded } from '../../kit/roles/service.ts';
import { checkOut, commitBefore, type VersionBefore } from '../../kit/roles/version-before.ts';

const JOBS = rounds(50, 16);
const AT_ONCE = 5;

type Version = 'before' | 'now';
interface Mix {
  readonly replicas: readonly Version[];
  readonly workers: readonly Version[];
}
/** In the order in which they are started: the first replica makes the streams, the last one changes them. */
const MIXES: Readonly<Record<string, Mix>> = {
  'an older replica and a newer worker': { replicas: ['before'], workers: ['now'] },
  'a newer replica and an older worker': { replicas: ['now'], workers: ['before'] },
  'a newer replica beside an older one, and workers of both': { replicas: ['before', 'now'], workers: ['before', 'now'] },
  'an older replica that starts again beside a newer one': { replicas: ['now', 'before'], workers: ['now'] },
};

const commit = commitBefore();
if (commit === undefined) console.warn('cluster-versions: skipped, as this clone has no commit before HEAD: fetch its history to run it');

describe.skipIf(commit === undefined)('two versions together', () => {
  let before: VersionBefore;
  let picture: Buffer;
  beforeAll(async () => {
    before = await checkOut(commit ?? '');
    picture = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'teal' } })
      .png()
      .toBuffer();
  }, 60_000);
  afterAll(() => before?.remove());

  const start = (cluster: Cluster, role: 'api' | 'worker', version: Version, environment = {}) =>
    cluster.start(role, environment, {}, version === 'before' ? before.program : undefined);

  it.each(Object.entries(MIXES))('%s end every job well', { timeout: 180_000 }, async (_, { replicas: wanted, workers }) => {
    const cluster = await startCluster();
    try {
      const replicas: Role[] = [];
      for (const version of wanted) replicas.push(await start(cluster, 'api', version));
      await Promise.all(
        workers.map((version, index) => start(cluster, 'worker', version, { POOL: 'image', WORKER_NAME: `worker-${index}` })),
      );
      for (const { url } of replicas)
        await eventually(async () => (await poolOf(url, 'image')).workers >= workers.length, `${url} knows all workers`, 30_000);

      const ended: Answer[] = [];
      let begun = 0;
      const client = async () => {
        for (let n = begun++; n < JOBS; n = begun++) {
          const [made, asked] = [0, 1].map((turn) => replicas[(n + turn) % replicas.length]?.url ?? '');
          const { data } = await convert(made ?? '', { name: 'a.png', bytes: picture }, 'webp', {}, { prefer: 'respond-async' });
          ended.push(await untilEnded(asked ?? '', data?.job_id ?? ''));
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, client));
      const others = ended.filter(({ data }) => data?.status !== 'done').map(({ data, error }) => error ?? data);
      expect([ended.length, others]).toEqual([JOBS, []]);
    } finally {
      await cluster.stop();
    }
  });
});
