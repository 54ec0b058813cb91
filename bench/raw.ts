/** The converters without us: what there is to lose. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { engine } from '../src/catalog/engines/pictures/sharp.ts';
import type { Options } from '../src/catalog/options/options.ts';
import { stage } from '../src/exec/confine/stage.ts';
import { converse } from '../src/exec/residents/converse.ts';
import { checkout } from '../test/kit/roles/service.ts';
import { peakOf } from './memory.ts';

const run = promisify(execFile);

export interface Measured {
  /** ms each. */
  readonly took: readonly number[];
  readonly seconds: number;
}

/** A program that converts picture after picture, and how one is asked for. */
interface Feed {
  readonly command: readonly [program: string, ...args: string[]];
  /** Resolves when the picture is converted. */
  convert(say: (text: string) => void, heard: () => Promise<string>): Promise<void>;
}

export interface MeasuredProgram extends Measured {
  /** Resident, at most, of one of the programs with its children; what they share counts once for each. */
  readonly bytes: number;
}

interface Order {
  readonly input: string;
  readonly source: string;
  readonly target: 'jpg' | 'webp';
  readonly options: Options;
}

/** sharp, warm, unconfined: `processes` of them share `count` conversions. */
export async function rawSharp({ input, target, options }: Order, processes: number, count: number): Promise<MeasuredProgram> {
  return measure(processes, count, (output) => ({
    command: [process.execPath, join(checkout, 'bench/sharp.ts')],
    async convert(say, heard) {
      say(`${JSON.stringify({ input, output: join(output, `result.${target}`), target, width: options.img_resize_w })}\n`);
      await heard();
    },
  }));
}

/** Our own server of pictures, with a process for each, unconfined: asked for exactly as the service asks. */
export async function rawForks({ input, source, target, options }: Order, processes: number, count: number): Promise<MeasuredProgram> {
  const { program, library } = (await stage(checkout, process.execPath, tmpdir())).native('vips-server');
  return measure(processes, count, (output) => ({
    command: [program, library],
    async convert(say, heard) {
      const [step] = engine.plan({ source, target, options, input, output, scratch: output, passwordFile: undefined, facts: {} }).steps;
      if (step === undefined || !('talk' in step)) throw new Error('libvips is no longer talked to');
      const { opening, reply } = converse(
        step.conversation((path) => path, 2 ** 31),
        output,
        60_000,
      );
      say(opening);
      for (;;) {
        const line = JSON.parse(await heard()) as { ready?: boolean; said?: string; ok?: boolean };
        if (line.said !== undefined) say(reply(line.said));
        if (line.ok === true) return;
        if (line.ok === false) throw new Error(`libvips said ${JSON.stringify(line)}`);
      }
    },
  }));
}

async function measure(processes: number, count: number, feedFor: (output: string) => Feed): Promise<MeasuredProgram> {
  const folder = await mkdtemp(join(tmpdir(), 'filemill-raw-'));
  const took: number[] = [];
  let bytes = 0;
  const feed = async (index: number, times: number) => {
    const output = join(folder, String(index));
    await mkdir(output, { recursive: true });
    const { command, convert } = feedFor(output);
    const child = spawn(command[0], command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] });
    const peak = peakOf(child.pid ?? 0);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const heard = async () => String((await lines.next()).value);
    for (let time = 0; time < times; time++) {
      const started = performance.now();
      await convert((text) => child.stdin.write(text), heard);
      took.push(performance.now() - started);
    }
    bytes = Math.max(bytes, peak.stop().treeBytes);
    child.stdin.end();
    await once(child, 'exit');
  };
  await feedAll(feed, processes, Math.max(2, Math.floor(count / 10)));
  took.length = 0;
  const seconds = await feedAll(feed, processes, count);
  await rm(folder, { recursive: true });
  return { took, seconds, bytes };
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
