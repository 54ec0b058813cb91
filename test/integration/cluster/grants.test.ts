/** Grants while replicas are frozen, of other versions or without the key, and while the object store does not take their URLs. */
import { headers, type NatsConnection } from 'nats';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../kit/api/wire.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { openS3Front, type S3Front } from '../../kit/objects/s3-front.ts';
import { type Cluster, startCluster } from '../../kit/roles/cluster.ts';
import { type Crew, startCrew } from '../../kit/roles/crew.ts';
import { type Answer, convert, readAnswer, settled, untilEnded } from '../../kit/roles/service.ts';
import { openStores } from '../../kit/roles/stores.ts';

const [FIRST_KEY, NEXT_KEY] = ['a-first-secret-that-replicas-share-here', 'the-secret-that-is-to-take-its-place'];
/** A worker that asks only a frozen replica waits longer, ms: one job in three would. */
const FROZEN_MS = 1_000;

let cluster: Cluster;
let front: S3Front;
let crew: Crew;
let image: Buffer;
beforeAll(async () => {
  image = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  cluster = await startCluster();
  front = await openS3Front(cluster.bucket.endpoint);
  const at = { S3_ENDPOINT: front.endpoint };
  crew = await startCrew(cluster, {
    replicas: [
      { ...at, SECRET_KEY: FIRST_KEY },
      { ...at, SECRET_KEY: `${NEXT_KEY},${FIRST_KEY}` },
      { ...at, SECRET_KEY: FIRST_KEY },
    ],
    workers: [{ POOL: 'image', LOG_LEVEL: 'debug' }, { POOL: 'pdf' }],
  });
}, 60_000);
afterAll(async () => {
  await cluster?.stop();
  await front?.close();
});

const urlOf = (index: number): string => crew.replicas[index]?.url ?? '';
const picture = (index = 0): Promise<Answer> => convert(urlOf(index), { name: 'a.png', bytes: image }, 'webp');

/** How long each job so far took from its claim to when its files were there, ms. */
function grantTimes(): number[] {
  const claimed = new Map<string, number>();
  return (crew.workers[0]?.lines ?? []).flatMap((line) => {
    const { phase, attempt, time } = JSON.parse(line.startsWith('{') ? line : '{}') as {
      phase?: string;
      attempt: string;
      time: string | number;
    };
    if (phase === 'claimed') claimed.set(attempt, new Date(time).getTime());
    return phase === 'converting' ? [new Date(time).getTime() - (claimed.get(attempt) ?? 0)] : [];
  });
}

const shares = (times: readonly number[]) => {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0);
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), longest: at(1) };
};

it('one replica of three that is frozen, woken and frozen again keeps no job waiting', { timeout: 120_000 }, async () => {
  const before = grantTimes().length;
  const times: number[] = [];
  const timed = async (index: number) => {
    const began = performance.now();
    const { data } = await picture(index);
    times.push(performance.now() - began);
    expect(data?.status).toBe('done');
  };
  const frozen = crew.replicas[2]?.child;
  for (let time = 0; time < 2; time++) {
    frozen?.kill('SIGSTOP');
    for (let turn = 0; turn < 50; turn++) await Promise.all([timed(0), timed(1)]);
    frozen?.kill('SIGCONT');
    await timed(2);
  }
  const [jobs, granted] = [shares(times), shares(grantTimes().slice(before))];
  const said = `ms: jobs ${JSON.stringify(jobs)}, grants ${JSON.stringify(granted)}`;
  console.info(said);
  expect(Math.max(jobs.p90, granted.p90), said).toBeLessThan(FROZEN_MS);
});

/** Takes its share of the questions, as a replica of another version does. */
async function anotherAnswers(core: NatsConnection, respond: Parameters<NatsConnection['subscribe']>[1]): Promise<() => void> {
  const subscription = core.subscribe('grant.*', { ...respond, queue: 'answers' });
  await core.flush();
  return () => subscription.unsubscribe();
}

it('what a newer replica grants, and what an older one refuses, is asked of other replicas', { timeout: 60_000 }, async () => {
  const { core } = await cluster.nats.connect();
  let asked = 0;
  const endNewer = await anotherAnswers(core, {
    callback: (_, message) => {
      asked++;
      message.respond(JSON.stringify({ version: 99, sources: [] }));
    },
  });
  const endOlder = await anotherAnswers(core, {
    callback: (_, message) => {
      asked++;
      const marks = headers();
      marks.set('Filemill-Failed', 'yes');
      message.respond('it knows this version not', { headers: marks });
    },
  });
  for (let turn = 0; turn < 10; turn++) expect((await picture()).data?.status).toBe('done');
  expect(asked).toBeGreaterThan(0);
  endNewer();
  endOlder();
});

async function protect(index: number): Promise<Answer> {
  const body = new FormData();
  body.set('password', 'kestrel');
  body.set('file', new Blob([pdf([['page']]) as Uint8Array<ArrayBuffer>]), 'a.pdf');
  return settled(urlOf(index), await readAnswer(await fetch(`${urlOf(index)}/api/v1/tools/protect-pdf`, { method: 'POST', body })));
}

it('a key is exchanged replica by replica, and no password is lost meanwhile', { timeout: 90_000 }, async () => {
  // Only one of three replicas can decrypt what it encrypted: the others leave it to that one.
  const answers = await Promise.all([0, 1, 1, 2, 1, 1].map(protect));
  expect(answers.map(({ data, error }) => data?.status ?? error)).toEqual(answers.map(() => 'done'));
});

it('a URL that the store does not take is asked for again', { timeout: 60_000 }, async () => {
  const seen = new Set<string>();
  front.refuse = (asked) => !seen.has(asked) && seen.add(asked).size > 0;
  const { data } = await picture();
  front.refuse = () => false;
  expect(data?.status).toBe('done');
  expect(front.refused.map((asked) => asked.split(' ')[0])).toEqual(['GET', 'PUT']);
  const stores = await openStores(cluster);
  expect(await stores.takenOver()).toBe(0);
});

it('while the store takes none, the order rests, and the job is done when it does', { timeout: 60_000 }, async () => {
  front.refused.length = 0;
  front.refuse = () => true;
  const sent = await convert(urlOf(0), { name: 'a.png', bytes: image }, 'jpg', {}, { prefer: 'respond-async' });
  // Three for each time that the order is taken.
  await eventually(() => front.refused.length >= 6, 'it was taken twice', 30_000);
  front.refuse = () => false;
  const { data, error } = await untilEnded(urlOf(0), sent.data?.job_id ?? '');
  expect(data?.status, JSON.stringify(error)).toBe('done');
});
