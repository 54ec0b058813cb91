import { describe, expect, it } from 'vitest';
import { toolchainRow } from '../../../src/contracts/toolchains.ts';
import { memoryOf, OWN_BYTES, TooLittleMemory } from '../../../src/worker/memory.ts';
import { diskShareOf, slotLimits, threadsOf } from '../../../src/worker/slot.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const of = (settings: { memoryBytes?: number; limitBytes?: number; leakBytes?: number }, slots: number) => {
  const { leakBytes, memoryBytes, limitBytes } = settings;
  return memoryOf({ memoryBytes, limitBytes, residents: { leakBytes } }, slots);
};

describe("the disk of a conversion's folder", () => {
  it('is 2 GiB where the size of the work folder is unknown', () => expect(diskShareOf(undefined, 8)).toBe(2 * GIB));
  it.each([1, 3, 16])('is such that %i slots leave an eighth of the work folder', (slots) => {
    expect(slots * diskShareOf(GIB, slots)).toBeLessThanOrEqual((GIB * 7) / 8);
    expect(slots * diskShareOf(GIB, slots)).toBeGreaterThan(GIB * 0.87);
  });
});

describe('the processors of a model', () => {
  it.each([
    [8, 8, 1],
    [8, 2, 4],
    [8, 3, 2],
    [1, 4, 1],
    [96, 1, 16],
    [4, 0, 4],
  ])('are, of %i that %i slots may use, %i', (processors, slots, threads) => {
    expect(threadsOf({ modelThreads: undefined }, processors, slots)).toBe(threads);
    expect(threadsOf({ modelThreads: 3 }, processors, slots)).toBe(3);
  });
  it.each([
    [1, 1_200],
    [2, 1_200],
    [5, 3_000],
  ])('may work for as long as the clock allows, all %i of them', (threads, cpuSeconds) => {
    const limits = slotLimits(toolchainRow('ai').bounds, { mediaMaxSeconds: 600, maxSeconds: 1 }, GIB, GIB, threads);
    expect([limits.cpuSeconds, limits.wallMs]).toEqual([cpuSeconds, 600_000]);
  });
});

describe('the memory of a conversion', () => {
  it('is 2 GiB where the limit is unknown', () => expect(of({}, 8)).toEqual({ conversionBytes: 2 * GIB, warmBytes: GIB }));
  it.each([1, 2, 3, 7, 16])('is such that %i slots with their warm programs and the worker itself fit into the limit', (slots) => {
    const limitBytes = 12 * GIB;
    const { conversionBytes, warmBytes } = of({ limitBytes }, slots);
    const all = OWN_BYTES + slots * (conversionBytes + warmBytes);
    expect(all).toBeLessThanOrEqual(limitBytes);
    expect(all).toBeGreaterThan(0.99 * limitBytes);
  });
  it.each([1, 2, 5])('leaves a part for an express slot of each of %i pools, and is hardly less for it', (pools) => {
    const limitBytes = 12 * GIB;
    const slots = 2 * pools;
    const settings = { memoryBytes: undefined, limitBytes, residents: {} };
    const { conversionBytes, warmBytes, express } = memoryOf(settings, slots, pools);
    const ofExpress = (express?.conversionBytes ?? 0) + (express?.warmBytes ?? 0);
    const all = OWN_BYTES + slots * (conversionBytes + warmBytes) + pools * ofExpress;
    expect(all).toBeLessThanOrEqual(limitBytes);
    expect(all).toBeGreaterThan(0.99 * limitBytes);
    expect(conversionBytes).toBeGreaterThan(0.85 * memoryOf(settings, slots).conversionBytes);
    expect(ofExpress).toBeGreaterThan((conversionBytes + warmBytes) / 5);
  });
  it('is not divided for an express slot in which nothing could start', () => {
    const settings = { memoryBytes: undefined, limitBytes: 512 * MIB, residents: {} };
    expect(memoryOf(settings, 1, 1)).toEqual(memoryOf(settings, 1));
  });
  it('is what the operator has set, whatever the limit', () => {
    expect(of({ limitBytes: 4 * GIB, memoryBytes: 3 * GIB }, 4).conversionBytes).toBe(3 * GIB);
    expect(of({ limitBytes: 4 * GIB, leakBytes: 5 }, 4).warmBytes).toBe(5);
  });
  it('is refused where nothing could start in it, with what would do', () => {
    const needed = /raise it to (\d+) MiB/.exec(messageOf(() => of({ limitBytes: 300 * MIB }, 2)))?.[1];
    expect(() => of({ limitBytes: Number(needed) * MIB }, 2)).not.toThrow();
    expect(() => of({ limitBytes: (Number(needed) - 1) * MIB }, 2)).toThrow(TooLittleMemory);
  });
});

function messageOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    return (error as Error).message;
  }
  return '';
}
