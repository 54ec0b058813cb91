/** The converters without us: what there is to lose. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { engine } from '../src/catalog/engines/sharp.ts';
import type { Options } from '../src/catalog/options/options.ts';
import { checkout } from '../test/kit/service.ts';

const run = promisify(execFile);

export interface Measured {
  /** ms each. */
  readonly took: readonly number[];
  readonly seconds: number;
}

/** libvips through sharp, warm, unconfined: `processes` of them share `count` conversions, asked for exactly as the service asks. */
export async function rawSharp(
  input: string,
  source: string,
  target: string,
  options: Options,
  processes: number,
  count: number,
): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), 'filemill-raw-'));
  const requestFor = (index: number): string => {
    const { steps } = engine.plan({
      source,
      target,
      options,
      input,
      output: join(folder, String(index)),
      scratch: folder,
      passwordFile: undefined,
      facts: {},
    });
    const [step] = steps;
    if (step === undefined || !('ask' in step)) throw new Error('sharp is no longer a resident');
    return `${JSON.stringify(step.request)}\n`;
  };
  for (let index = 0; index < processes; index++) await mkdir(join(folder, String(index)));
  const took: number[] = [];
  const feed = async (index: number, times: number) => {
    const child = spawn(process.execPath, [join(checkout, 'src/exec/programs/image.ts')], { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    await lines.next();
    for (let time = 0; time < times; time++) {
      const started = performance.now();
      child.stdin.write(requestFor(index));
      const { value } = await lines.next();
      if (!String(value).includes('"ok":true')) throw new Error(`sharp said ${value}`);
      took.push(performance.now() - started);
    }
    child.stdin.end();
    await once(child, 'exit');
  };
  const warm = await feedAll(feed, processes, Math.max(2, Math.floor(count / 10)));
  took.length = 0;
  const seconds = await feedAll(feed, processes, count);
  await rm(folder, { recursive: true });
  return { took, seconds: warm === 0 ? 0 : seconds };
}

async function feedAll(feed: (index: number, times: number) => Promise<void>, processes: number, count: number): Promise<number> {
  const started = performance.now();
  await Promise.all(Array.from({ length: processes }, (_, index) => feed(index, Math.ceil(count / processes))));
  return (performance.now() - started) / 1000;
}

/** A new soffice for each document, with a profile that has been used before. */
export async function rawOffice(input: string, count: number): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), 'filemill-raw-'));
  const args = [`-env:UserInstallation=file://${folder}/profile`, '--headless', '--convert-to', 'pdf', '--outdir', folder, input];
  await run('/usr/bin/soffice', args);
  const took: number[] = [];
  const started = performance.now();
  for (let time = 0; time < count; time++) {
    const one = performance.now();
    await run('/usr/bin/soffice', args);
    took.push(performance.now() - one);
  }
  await rm(folder, { recursive: true });
  return { took, seconds: (performance.now() - started) / 1000 };
}
