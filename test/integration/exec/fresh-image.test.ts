/** A picture whose process has been taken over leaves nothing for the next one, and takes nothing of the server down. */
import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConversationStep, StepLimits, Task } from '../../../src/catalog/engine.ts';
import { engine as sharp } from '../../../src/catalog/engines/pictures/sharp.ts';
import type { Options } from '../../../src/catalog/options/options.ts';
import { launcherAt } from '../../../src/exec/confine/confine.ts';
import { stage } from '../../../src/exec/confine/stage.ts';
import { openSlot, type Slot } from '../../../src/exec/files/workspace.ts';
import type { ProgramAnswer } from '../../../src/exec/residents/messages.ts';
import type { Program } from '../../../src/exec/residents/process.ts';
import { openResidents, type Residents } from '../../../src/exec/residents/residents.ts';
import { processesBelow } from '../../kit/exec/processes.ts';

/** As `taken-over.c` has it. */
const SECRET = 'WHATTHEFIRSTPICTURESAID';
/** Longer than all that is said after it, so that nothing is written over the end. */
const WORDS = `${'é'.repeat(100)}${SECRET.repeat(4)}`;
const LIMITS: StepLimits = {
  memoryBytes: 512 * 1024 * 1024,
  cpuSeconds: 600,
  fileBytes: 2 ** 30,
  folderBytes: 2 ** 31,
  processes: 64,
  wallMs: 60_000,
};

let root: string;
let slot: Slot;
let program: Program;
let residents: Residents;
let jobs = 0;

beforeAll(async () => {
  for (const script of ['build-launcher', 'build-native']) execFileSync(`scripts/${script}`);
  root = await mkdtemp('/tmp/filemill-fresh-');
  await chmod(root, 0o711);
  const { program: server, library } = (await stage(process.cwd(), process.execPath, root)).native('vips-server');
  const standIn = join(root, 'taken-over.so');
  const flags = ['-shared', '-fPIC', '-Wall', '-Wextra', '-Werror', '-pthread', '-Wl,--no-as-needed', `-Wl,-rpath,${dirname(library)}`];
  execFileSync('cc', [...flags, '-o', standIn, resolve('test/integration/exec/taken-over.c'), library]);
  chmodSync(standIn, 0o755);
  program = { program: server, args: [standIn], reads: [server, library, standIn], calls: 'vips-server', unixSockets: false };
  slot = await openSlot(root, 0);
  residents = openResidents({
    launcher: launcherAt(resolve('.cache/bin/launcher')),
    slot,
    perLife: 200,
    leakBytes: 2 ** 30,
    idleMs: 60_000,
  });
});
afterAll(async () => {
  await residents.close();
  await rm(root, { recursive: true, force: true });
});

interface Converted {
  readonly answer: ProgramAnswer;
  /** What the process could do, and how it was refused. */
  readonly log: ReadonlyMap<string, string>;
  readonly result: Buffer | undefined;
}

/** @param marker what `taken-over.c` does with the picture */
async function convert(marker: string, options: Options = {}, wallMs = LIMITS.wallMs): Promise<Converted> {
  const base = await slot.makeFolder(`job-${++jobs}`);
  const task: Task = {
    source: 'png',
    target: 'jpg',
    options,
    input: join(base, 'in.png'),
    output: join(base, 'out'),
    scratch: base,
    passwordFile: undefined,
    facts: {},
  };
  await mkdir(task.output);
  slot.own(task.output);
  const comment = marker === '' ? [] : ['-set', 'comment', `FILEMILL:${marker}`];
  await writeFile(task.input, execFileSync('/usr/bin/convert-im6.q16', ['-size', '40x20', 'xc:red', ...comment, 'png:-']));
  const step = sharp.plan(task).steps[0] as ConversationStep;
  const files = { input: task.input, output: task.output };
  const signal = new AbortController().signal;
  const answer = await residents.ask('vips', program, step.conversation, files, { limits: { ...LIMITS, wallMs }, signal });
  const read = (name: string) => readFile(join(task.output, name)).catch(() => undefined);
  const lines = ((await read('log'))?.toString() ?? '').split('\n').map((line): [string, string] => {
    const [name = '', ...rest] = line.split(' ');
    return [name, rest.join(' ')];
  });
  return { answer, log: new Map(lines), result: await read('result.jpg') };
}

/** The processes of the server, without the launcher's: the parent, and the one forked ahead. */
const processes = (): number[] =>
  processesBelow(residents.pid('vips') ?? 0)
    .map(({ pid }) => pid)
    .sort((a, b) => a - b);

/** Everything in the slot but the jobs' own folders. */
const left = (): string[] =>
  readdirSync(join(root, 'slot-0'), { recursive: true })
    .map(String)
    .filter((name) => !name.startsWith('job-'));

describe('a picture that takes its process over', () => {
  it('can leave nothing outside its own job, start nothing and reach no other process', async () => {
    await convert('');
    const before = left();
    const [server] = processes();
    const shared = await readdir('/dev/shm');
    const first = await convert('LEAVE', { watermark: { text: WORDS, position: 'center', opacity: 50, size: 5, color: '#ffffff' } });
    expect(first.answer).toMatchObject({ ok: true });
    const could = [...first.log].filter(([, said]) => said === 'yes').map(([name]) => name);
    // Its own folder is removed with the job; a thread ends with its process; a signal to all reaches itself.
    expect(could.sort()).toEqual(['job/left', 'signal-group', 'thread']);
    expect(first.log.size).toBeGreaterThan(25);
    expect(processes()[0]).toBe(server);
    expect(left()).toEqual(before);
    expect(await readdir('/dev/shm')).toEqual(shared);
    await expect(stat('/tmp/filemill-left')).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('is not known to the next one: no file, no variable, no word in its memory', async () => {
    await convert('LEAVE', { watermark: { text: WORDS, position: 'center', opacity: 50, size: 5, color: '#ffffff' } });
    const { log, answer } = await convert('LOOK');
    expect(answer).toMatchObject({ ok: true });
    const found = [...log].filter(([, said]) => said === 'yes').map(([name]) => name);
    // The search in memory found what this process had put there.
    expect(found).toEqual(['search']);
    expect(log.has('words')).toBe(true);
  });

  it.each([
    ['DIE', 'engine_crashed'],
    ['SHOUT', 'engine_crashed'],
    ['GROW', 'memory'],
    ['HANG', 'timeout'],
  ])('ends alone when it does this: %s', async (marker, reason) => {
    await convert('');
    const [server] = processes();
    const { answer } = await convert(marker, {}, marker === 'HANG' ? 2_000 : undefined);
    expect(answer).toMatchObject({ ok: false, reason });
    const next = await convert('');
    expect(next.answer).toMatchObject({ ok: true });
    expect(next.result?.subarray(0, 2).toString('hex')).toBe('ffd8');
    expect(processes()[0]).toBe(server);
  });
});

describe('every picture', () => {
  it('has a separate process, which no other picture had, and which is gone afterwards', async () => {
    const seen: string[] = [];
    await convert('');
    for (let time = 0; time < 4; time++) {
      // The server, and the one that waits for the next picture.
      await expect.poll(() => processes().length).toBe(2);
      const [, waiting = 0] = processes();
      // Field 22 of proc_pid_stat(5): ticks since boot.
      seen.push(`${waiting} ${readFileSync(`/proc/${waiting}/stat`, 'latin1').split(') ')[1]?.split(' ')[19]}`);
      const { log } = await convert('LOOK');
      expect(log.get('process')).toBe(String(waiting));
      expect(processes()).not.toContain(waiting);
    }
    for (const part of [0, 1]) expect(new Set(seen.map((each) => each.split(' ')[part])).size, seen.join()).toBe(4);
  });

  it('is not blamed for a process that was killed before the picture came', async () => {
    await convert('');
    await expect.poll(() => processes().length).toBe(2);
    const [server, waiting = 0] = processes();
    process.kill(waiting, 'SIGKILL');
    const { answer } = await convert('LOOK');
    expect(answer).toMatchObject({ ok: true });
    expect(processes()[0]).toBe(server);
  });
});
