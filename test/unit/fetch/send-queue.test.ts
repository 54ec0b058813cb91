/** Whose message is sent next. */
import { expect, it } from 'vitest';
import { sendQueue, type Turn } from '../../../src/fetch/send-queue.ts';

const turn = (host: string, client: string, name = ''): Turn & { readonly name: string } => ({ host, client, name });

/** Takes what may be taken in one simulated second, each ended at once. */
function takenWithin(turns: ReturnType<typeof sendQueue<Turn>>, ms: number): Turn[] {
  const taken: Turn[] = [];
  for (let now = 1; now <= ms; ) {
    const next = turns.take(now);
    if (next === undefined) break;
    if (typeof next === 'number') now += next;
    else {
      taken.push(next);
      turns.end(next);
    }
  }
  return taken;
}

it.each([
  ['one host', (n: number) => turn('victim.example', `c${n}`)],
  ['names that one client makes up, all of the same machine', (n: number) => turn(`a${n}.victim.example`, 'attacker')],
])('10,000 messages to %s are sent a few a second, and keep no other waiting', (_, of) => {
  const turns = sendQueue<Turn>({ perSecond: 5, atOnce: 20, perHost: 4 });
  const added = Array.from({ length: 9_999 }, (_, n) => turns.add(of(n)));
  expect(added.every(Boolean)).toBe(true);
  expect(turns.add(turn('other.example', 'somebody'))).toBe(true);
  expect(turns.add(turn('late.example', 'somebody'))).toBe(false);
  const taken = takenWithin(turns, 1_000);
  expect(taken.filter(({ host }) => host === 'other.example')).toHaveLength(1);
  expect(taken.length).toBeLessThanOrEqual(7);
  expect(taken.length).toBeGreaterThan(4);
});

it('servers that never answer hold their own messages up, and those of all hosts together have a bound', () => {
  const turns = sendQueue<Turn>({ perSecond: 1_000, atOnce: 3, perHost: 2 });
  for (const name of ['a', 'b', 'c']) turns.add(turn('dead.example', name));
  turns.add(turn('alive.example', 'd'));
  turns.add(turn('third.example', 'e'));
  const taken = [1, 3, 5, 7, 9].map((now) => turns.take(now)).filter((next) => typeof next === 'object');
  expect(taken.map(({ host }) => host).sort()).toEqual(['alive.example', 'dead.example', 'third.example']);
});

it('servers of many names that never answer hold up the messages of the client that named them', () => {
  const turns = sendQueue<Turn>({ perSecond: 1_000, atOnce: 20, perHost: 2 });
  for (let n = 0; n < 30; n++) turns.add(turn(`a${n}.dead.example`, 'attacker'));
  turns.add(turn('alive.example', 'somebody'));
  const taken: Turn[] = [];
  for (let now = 1; now < 100; now += 3) {
    const next = turns.take(now);
    if (typeof next === 'object') taken.push(next);
  }
  expect(taken.map(({ client }) => client).sort()).toEqual(['attacker', 'attacker', 'somebody']);
  // Nothing is looked at again before one of them ends.
  expect(turns.take(1_000)).toBeUndefined();
  turns.end(taken[0] ?? turn('', ''));
  expect(turns.take(1_001)).toMatchObject({ client: 'attacker' });
});
