/** Several machines in small, on one: the way over NATS and S3, beside the engine alone. */

import { eventually } from '../test/kit/api/wire.ts';
import { startCluster } from '../test/kit/roles/cluster.ts';
import { poolOf } from '../test/kit/roles/crew.ts';
import { orders } from './orders.ts';
import { rawSharp } from './raw.ts';
import { GOAL_HEAD, goalRow, quantile, through } from './rows.ts';

/** @param picture path of a small PNG */
export async function cluster(picture: string): Promise<void> {
  console.log(`\n${GOAL_HEAD}`);
  await pictures(picture);
  await orders();
}

async function pictures(picture: string): Promise<void> {
  const machines = await startCluster();
  try {
    const { url = '' } = await machines.start('api', { LOG_LEVEL: 'warn' });
    await machines.start('worker', { POOL: 'image' });
    await eventually(async () => (await poolOf(url, 'image')).workers > 0, 'the replica knows of the worker', 30_000);
    const alone = quantile((await rawSharp({ input: picture, source: 'png', target: 'jpg', options: {} }, 1, 200)).took, 0.5);
    const whole = quantile((await through(url, picture, 'jpg', {}, 1, 200)).took, 0.5);
    goalRow(
      'small PNG → JPG over HTTP, NATS and MinIO, p50 above the engine',
      'at most 40 ms',
      `${(whole - alone).toFixed(1)} ms: ${whole.toFixed(1)} − ${alone.toFixed(1)}`,
    );
  } finally {
    await machines.stop();
  }
}
