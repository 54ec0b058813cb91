/** Rows of the tables that are printed, and what they are made of. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Measured } from './raw.ts';

const run = promisify(execFile);

/** @param share 0.5 for the median */
export const quantile = (took: readonly number[], share: number): number =>
  [...took].sort((a, b) => a - b)[Math.min(took.length - 1, Math.floor(took.length * share))] ?? 0;

export const WORK_HEAD = '| work | p50 ms | p95 ms | a second | a minute |\n|---|---|---|---|---|';

export function workRow(what: string, { took, seconds }: Measured): void {
  const perMinute = (took.length / seconds) * 60;
  console.log(
    `| ${what} | ${quantile(took, 0.5).toFixed(1)} | ${quantile(took, 0.95).toFixed(1)} | ${(perMinute / 60).toFixed(1)} | ${perMinute.toFixed(0)} |`,
  );
}

export const GOAL_HEAD = '| what | aimed at | measured |\n|---|---|---|';

export const goalRow = (what: string, goal: string, measured: string): void => console.log(`| ${what} | ${goal} | ${measured} |`);

/** One file again and again through a service, upload and download included, by a client in a separate process. */
export async function through(
  url: string,
  file: string,
  target: string,
  fields: Readonly<Record<string, string>>,
  clients: number,
  count: number,
): Promise<Measured> {
  const args = [join(import.meta.dirname, 'client.ts'), url, file, target, JSON.stringify(fields), String(clients), String(count)];
  const { stdout } = await run(process.execPath, args, { maxBuffer: 1 << 24 });
  return JSON.parse(stdout) as Measured;
}

/** A size of the run that the environment may change. */
export const sizeOf = (name: string, usual: number): number => Number(process.env[name] ?? usual);

export const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
