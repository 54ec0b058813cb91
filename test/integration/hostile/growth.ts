/** Measures how the work of a program grows with its input: twice as much may take a little more than twice the processor time. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

const PROGRAMS = join(import.meta.dirname, '../../../src/exec/programs');

/** How much longer twice the size may take: a doubling, and what caches and collections add. */
const MOST_FACTOR = 2.6;
/** Below this a cost is mostly noise, s. */
const FLOOR_S = 0.4;
/** What Node takes to start, which counts as no work, s. It may be less on a fast machine: then the bound is the looser. */
const START_S = 0.05;
/** Beyond this no more is tried: it has to be found earlier, s. */
const MOST_S = 20;

export interface Reader {
  /** One of ours by its path in `exec/programs`, or an engine by its absolute path. */
  readonly program: string;
  /** Between the paths of input and output, and behind them. Whatever lies there may be replaced. */
  readonly args: (input: string, output: string) => readonly string[];
  /** A file of `count` parts; text is of bytes, a letter each. */
  readonly file: (count: number) => string | Uint8Array;
  /** Parts of the smallest file. */
  readonly count: number;
  /** Ends the name of the file, where its program goes by that. */
  readonly extension?: string;
}

export const times = (count: number, part: (at: number) => string): string => Array.from({ length: count }, (_, at) => part(at)).join('');

/** Measured at 1, 2, 4 and 8 times the size. */
export function proveLinear(readers: Readonly<Record<string, Reader>>): void {
  const folder = mkdtempSync(join(tmpdir(), 'growth-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Processor time of a program and all that it started, s: other processes of the machine do not count. */
  const costOf = (program: string, args: readonly string[]): number => {
    const script = '"$@" >/dev/null 2>&1; times';
    const command = program.startsWith('/') ? [program] : [process.execPath, join(PROGRAMS, program)];
    const { stdout } = spawnSync('bash', ['-c', script, 'bash', ...command, ...args], {
      cwd: folder,
      encoding: 'utf8',
      timeout: 6 * MOST_S * 1000,
      env: { ...process.env, LC_ALL: 'C', NODE_NO_WARNINGS: '1' },
    });
    const [, children = ''] = stdout.split('\n');
    return [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
      (sum, [, minutes, seconds]) => sum + 60 * Number(minutes) + Number(seconds),
      0,
    );
  };

  it.each(Object.entries(readers))(
    'reads twice as much in twice the time: %s',
    (name, { program, args, file, count, extension = '' }) => {
      const base = join(folder, String(Object.keys(readers).indexOf(name)));
      const path = `${base}${extension}`;
      let made = 0;
      const cost = (size: number): number => {
        writeFileSync(path, file(count * size), 'latin1');
        return Math.max(0, costOf(program, args(path, `${base}-${++made}`)) - START_S);
      };
      const costs: number[] = [];
      for (const size of [1, 2, 4, 8]) {
        costs.push(cost(size));
        const [last = 0, before = 0] = costs.slice(-2).toReversed();
        // One step may be larger, where a heap outgrows what its collector does in passing: two are not.
        const isSteep = last > MOST_FACTOR ** 2 * (costs.at(-3) ?? 0);
        if (costs.length > 1 && isSteep && last > Math.max(FLOOR_S, MOST_FACTOR * before)) {
          // Once more, since a collection may have come into one of them.
          const again = [Math.max(before, cost(size / 2)), Math.min(last, cost(size))] as const;
          expect(again[1], `${name}: ${again.map((each) => each.toFixed(2)).join(' s, then ')} s`).toBeLessThanOrEqual(
            Math.max(FLOOR_S, MOST_FACTOR * again[0]),
          );
        }
        if (last > MOST_S) break;
      }
      if (process.env['TEST_LOG'] !== undefined) process.stderr.write(`${name}: ${costs.map((each) => each.toFixed(2)).join(', ')} s\n`);
      expect(costs.at(-1), `${name}: ${costs.join(', ')} s`).toBeLessThanOrEqual(MOST_S);
    },
    10 * MOST_S * 1000,
  );
}
