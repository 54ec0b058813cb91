/** What the record of a recipe has room for. */
import { describe, expect, it } from 'vitest';
import { passOn } from '../../../src/jobs/lifecycle.ts';
import { refuseLarge, withinRoom } from '../../../src/jobs/room.ts';
import { toText } from '../../../src/jobs/text.ts';
import { aRecord, jobId, START } from '../../conformance/samples.ts';

const warningsOf = (count: number) => Array.from({ length: count }, (_, n) => ({ code: `w${n}`, message: 'ä'.repeat(400) }));

describe('the record of a recipe that goes on', () => {
  const stints = ['pdf', 'image'].map((pool) => ({ pool, runs: [] }));
  const recipe = { steps: [], outputs: [], names: ['x'.repeat(9_000)], stints, at: 0, client: 'c' };
  const goesOn = (count: number) =>
    passOn(aRecord({ id: jobId(1), state: 'running', recipe }), START, {
      carried: { key: 'k', sizeBytes: 1 },
      warnings: warningsOf(count),
    });

  it('has the first of its warnings where it has no room for all', () => {
    expect(() => toText(goesOn(16))).toThrow(RangeError);
    const { warnings } = withinRoom(goesOn(16));
    expect(warnings).toEqual(warningsOf(warnings.length));
    expect(warnings.length).toBeGreaterThan(3);
    expect(() => toText(withinRoom(goesOn(16)))).not.toThrow();
  });

  it('has all for which there is room', () => expect(withinRoom(goesOn(3))).toEqual(goesOn(3)));
});

const webhook = (bytes: number) => ({ state: 'waiting', attempts: 0, nextAt: 0, messageId: 'm', sealed: 'x'.repeat(bytes) }) as const;
const record = (outputs: number, names: number, sealed: number) =>
  aRecord({
    id: jobId(1),
    recipe: {
      steps: [],
      outputs: Array<string>(outputs).fill('a'),
      names: ['x'.repeat(names)],
      stints: [{ pool: 'image', runs: [] }],
      at: 0,
      client: 'c',
    },
    webhook: webhook(sealed),
  });

it.each<[string, number, number, number, boolean]>([
  ['is taken where there is room', 20, 4_000, 4_000, true],
  ['is refused for what it is', 1, 14_000, 0, false],
  ['is refused for its webhook', 1, 8_000, 6_000, false],
  ['is refused for the results that it will have', 20, 0, 6_000, false],
])('a recipe %s', (_, outputs, names, sealed, fits) => {
  const refused = () => refuseLarge(record(outputs, names, sealed));
  if (fits) expect(refused()).toEqual(record(outputs, names, sealed));
  else expect(refused).toThrow('The recipe is too long for so many files');
});
