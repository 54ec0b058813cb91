/** A client that cancels thousands of jobs: each is deleted by a separate request, and all of them are sent at once. */
import { Agent, request } from 'node:http';
import { openS3 } from '../src/objects/s3/store.ts';
import { natsPresence } from '../src/worker/nats.ts';
import { startPresence } from '../src/worker/presence.ts';
import { eventually } from '../test/kit/api/wire.ts';
import { startCluster } from '../test/kit/roles/cluster.ts';
import { poolOf } from '../test/kit/roles/crew.ts';
import { GOAL_HEAD, goalRow, sizeOf } from './rows.ts';

/** Requests that submit, under way at once. */
const TOGETHER = 24;
const BOUNDARY = 'filemill-deletions';

const formOf = (picture: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="to_format"\r\n\r\navif\r\n`),
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n`),
    picture,
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);

/** By `node:http`: the client shares the machine's cores with what is measured. */
function send(agent: Agent, url: string, method: string, body?: Buffer): Promise<{ readonly status: number; readonly text: string }> {
  const headers = body && {
    'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
    'content-length': body.length,
    prefer: 'respond-async',
  };
  return new Promise((resolve, reject) => {
    request(url, { method, agent, ...(headers && { headers }) }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    })
      .on('error', reject)
      .end(body);
  });
}

async function submit(url: string, agent: Agent, body: Buffer, jobs: number): Promise<string[]> {
  const ids: string[] = [];
  let begun = 0;
  const client = async () => {
    while (begun++ < jobs) {
      const { status, text } = await send(agent, `${url}/api/v1/convert`, 'POST', body);
      if (status !== 200) throw new Error(text);
      ids.push((JSON.parse(text) as { data: { job_id: string } }).data.job_id);
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, client));
  return ids;
}

async function measure(servers: 1 | 3, picture: Buffer): Promise<void> {
  const jobs = sizeOf('BENCH_DELETED', 2_000);
  const cluster = await startCluster(servers);
  const agent = new Agent({ keepAlive: true, maxSockets: TOGETHER });
  // Without a bound on connections: each is sent at once.
  const all = new Agent({ keepAlive: true });
  try {
    const { url = '' } = await cluster.start('api', { LOG_LEVEL: 'warn' });
    // It is there, and takes nothing.
    const worker = { pool: 'image', toolchain: 'image', worker: 'idle', slots: 1 };
    const abilities = () => ({ engines: { sharp: '1' }, broken: new Map(), fault: undefined });
    const presence = startPresence(
      natsPresence(await cluster.nats.connect()),
      worker,
      { conversionsPerWorker: 0, idleSeconds: 0 },
      abilities,
    );
    await eventually(async () => (await poolOf(url, 'image')).workers > 0, 'the replica knows of the worker', 30_000);
    const ids = await submit(url, agent, formOf(picture), jobs);

    const begun = performance.now();
    const answers = await Promise.all(ids.map((id) => send(all, `${url}/api/v1/jobs/${id}`, 'DELETE')));
    const seconds = (performance.now() - begun) / 1_000;
    await presence.finishDraining();

    let left = (await poolOf(url, 'image')).waiting;
    for await (const _ of (await openS3(cluster.bucket)).scan('')) left++;
    const failed = answers.filter(({ status }) => status !== 204).length;
    const measured = `${seconds.toFixed(1)} s (${failed} failed, ${left} orders and files left)`;
    goalRow(`DELETE of ${jobs.toLocaleString('en')} waiting jobs at once, NATS of ${servers}`, 'under 3 s', measured);
  } finally {
    agent.destroy();
    all.destroy();
    await cluster.stop();
  }
}

export async function deletions(picture: Buffer): Promise<void> {
  console.log(`\n${GOAL_HEAD}`);
  for (const servers of [1, 3] as const) await measure(servers, picture);
}
