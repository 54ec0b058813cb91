/** Questions to several answerers of which one is frozen: how long the unluckiest waits, and what slow answerers get to hear. */
import type { Msg } from 'nats';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Nats } from '../../../src/nats/connection.ts';
import { hedgedAsker } from '../../../src/nats/requests.ts';
import { Unavailable } from '../../../src/nats/unavailable.ts';
import { type Servers, startNats } from '../../kit/nats/nats.ts';

const SUBJECT = 'grant.image';
const read = (text: string) => text;

let servers: Servers;
let asking: Nats;
beforeAll(async () => {
  servers = await startNats();
  asking = await servers.connect();
}, 30_000);
afterAll(() => servers?.stop());

/** Takes its share of this test's questions. */
async function answering(respond: (message: Msg) => void): Promise<void> {
  const { core } = await servers.connect();
  const subscription = core.subscribe(SUBJECT, { queue: 'answers', callback: (_, message) => respond(message) });
  await core.flush();
  onTestFinished(() => subscription.unsubscribe());
}

it('with one mute answerer of three, all but two of 2,000 questions take less than a second', { timeout: 60_000 }, async () => {
  await Promise.all([() => {}, (m: Msg) => m.respond('a'), (m: Msg) => m.respond('b')].map(answering));
  const ask = hedgedAsker(asking);
  const times: number[] = [];
  const lane = async () => {
    for (let turn = 0; turn < 125; turn++) {
      const began = performance.now();
      await ask(SUBJECT, '', read);
      times.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: 16 }, lane));
  times.sort((a, b) => a - b);
  const at = (share: number) => Math.round(times[Math.ceil(share * times.length) - 1] ?? 0);
  const said = `ms: p50 ${at(0.5)}, p90 ${at(0.9)}, p99 ${at(0.99)}, p99.9 ${at(0.999)}, longest ${at(1)}`;
  console.info(said);
  // A busy machine may hold this process for longer than that, once.
  expect(at(0.999), said).toBeLessThan(1_000);
});

it('ten questions in a row without an answer cost less than a second', async () => {
  const ask = hedgedAsker(asking);
  let heard = 0;
  await answering((message) => {
    if (++heard > 10) message.respond('at last');
  });
  const began = performance.now();
  expect(await ask(SUBJECT, '', read)).toBe('at last');
  expect(performance.now() - began).toBeLessThan(1_000);
});

it('answerers that are all slow are asked three times for each question, and not ever more often', { timeout: 30_000 }, async () => {
  const ask = hedgedAsker(asking);
  let heard = 0;
  await answering((message) => {
    heard++;
    setTimeout(() => message.respond('slow'), 600);
  });
  const turns = 12;
  for (let turn = 0; turn < turns; turn++) await ask(SUBJECT, '', read);
  expect(heard / turns).toBeLessThan(5);
});

it('without an answer, a question is asked a bounded number of times', { timeout: 30_000 }, async () => {
  const ask = hedgedAsker(asking, { limitMs: 3_000 });
  let heard = 0;
  await answering(() => {
    heard++;
  });
  await expect(ask(SUBJECT, '', read)).rejects.toThrow(Unavailable);
  expect(heard).toBeGreaterThan(5);
  expect(heard).toBeLessThan(20);
});
