/** Programs that keep a model loaded between requests, confined as in service: when they end, and that nothing is left of one request in the next. */
import { execFileSync } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Engine, ResidentStep } from '../../../src/catalog/engine.ts';
import { engine as matte, matted } from '../../../src/catalog/engines/photos/matte.ts';
import { engine as portrait } from '../../../src/catalog/engines/photos/portrait.ts';
import type { ToolTask } from '../../../src/catalog/tool.ts';
import { launcherAt } from '../../../src/exec/confine/confine.ts';
import { type Runtime, stage } from '../../../src/exec/confine/stage.ts';
import { openSlot, type Slot } from '../../../src/exec/files/workspace.ts';
import type { Program } from '../../../src/exec/residents/process.ts';
import { openResidents, type ResidentOptions, type Residents } from '../../../src/exec/residents/residents.ts';
import { residentKey } from '../../../src/worker/slot.ts';
import { isGone, threadsBelow } from '../../kit/exec/processes.ts';
import { LIMITS } from './step-limits.ts';

const HOUR = 3_600_000;
const MODELS = resolve('.cache/models');

let root: string;
let slot: Slot;
let runtime: Runtime;
let jobs = 0;
let opened = 0;

beforeAll(async () => {
  execFileSync('scripts/build-launcher');
  root = await mkdtemp('/tmp/filemill-model-residents-');
  await chmod(root, 0o711);
  runtime = await stage(process.cwd(), process.execPath, root);
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** Residents of a slot, and why each ended. @param threads of a model @param mayStart what the start of a program waits for */
async function open(
  options: Partial<ResidentOptions> = {},
  threads?: number,
  mayStart?: Promise<void>,
): Promise<Residents & { readonly ended: string[] } & AsyncDisposable> {
  slot = await openSlot(root, ++opened, { threads });
  const ended: string[] = [];
  const residents = openResidents({
    launcher: launcherAt(resolve('.cache/bin/launcher')),
    slot: { ...slot, makeFolder: async (name) => mayStart?.then(() => slot.makeFolder(name)) ?? slot.makeFolder(name) },
    perLife: 200,
    leakBytes: 2 ** 30,
    idleMs: HOUR,
    onReplaced: (_, why) => ended.push(why),
    ...options,
  });
  return Object.assign(residents, { ended, [Symbol.asyncDispose]: () => residents.close() });
}

const programOf = ({ binaries }: Engine): Program => ({
  program: runtime.node,
  args: [runtime.pathOf('pictures/matte.ts'), ...(binaries['matte']?.models ?? []).map((id) => `--${id}=${join(MODELS, id)}`)],
  reads: [...runtime.reads, MODELS],
  calls: 'ai',
  unixSockets: false,
  holdsModels: true,
});

/** A red circle on a light wall, or another picture. */
const circle = (x: number): Buffer =>
  execFileSync('/usr/bin/convert-im6.q16', [
    '-size',
    '96x80',
    'xc:#cde',
    '-fill',
    '#a31',
    '-draw',
    `circle ${x},40 ${x},16`,
    '-depth',
    '8',
    'pam:-',
  ]);

/** Cuts the subject of a picture out, or makes a passport photo. */
async function ask(residents: Residents, picture: Buffer, engine: Engine = matte, signal = new AbortController().signal) {
  const base = await slot.makeFolder(`job-${++jobs}`);
  const order = {
    source: 'png',
    target: 'png',
    input: join(base, 'in.png'),
    output: join(base, 'out'),
    scratch: join(base, 'scratch'),
    options: {},
  };
  for (const folder of [order.output, order.scratch]) {
    await mkdir(folder);
    slot.own(folder);
  }
  const source = { format: 'png', path: order.input, facts: { frames: [{ width: 96, height: 80 }] } };
  const task = { ...order, sources: [source], input: {}, files: [order.input] } as unknown as ToolTask;
  const [operation, ...more] = engine === matte ? ['cut'] : ['passport', '#ffffff', '35', '45', '34', '4'];
  const { steps } = matted(task, operation ?? '', more);
  const step = steps.find((each) => 'ask' in each) as ResidentStep;
  await writeFile(step.input ?? '', picture);
  slot.own(step.input ?? '');
  const files = { input: step.input ?? '', output: step.output ?? '' };
  const key = residentKey(engine, 'matte');
  const progress: number[] = [];
  const answer = await residents.ask(key, programOf(engine), step.request, files, {
    limits: LIMITS,
    signal,
    onProgress: (fraction) => progress.push(fraction),
  });
  return { answer, pid: residents.pid(key), progress, result: join(step.output ?? '', 'picture.pam'), step };
}

/** The opacity of a pixel in the middle row of a result. */
async function alphaAt(path: string, x: number): Promise<number> {
  const bytes = await readFile(path);
  const from = bytes.indexOf('ENDHDR\n') + 7;
  return bytes[from + (40 * 96 + x) * 4 + 3] ?? -1;
}

it('serves request after request by one process, with the result and the progress of a process that is started for it', async () => {
  await using residents = await open();
  const first = await ask(residents, circle(30));
  const second = await ask(residents, circle(66));
  expect([first.answer, second.answer]).toMatchObject([{ ok: true }, { ok: true }]);
  expect(second.pid).toBe(first.pid);
  expect(second.progress).toEqual([0.05, 0.6, 0.9]);
  for (const [{ result }, there, gone] of [
    [first, 30, 90],
    [second, 66, 6],
  ] as const)
    expect([await alphaAt(result, there), await alphaAt(result, gone)]).toEqual([255, 0]);
  const { otherwise, input = '' } = second.step;
  const once = await mkdtemp(join(root, 'once-'));
  await copyFile(input, join(once, 'in.pam'));
  const args = [...programOf(matte).args, 'cut', join(once, 'in.pam'), join(once, 'out/picture.pam')];
  const said = execFileSync(runtime.node, args, { encoding: 'utf8' });
  expect(otherwise.args[0]).toBe('cut');
  expect(said).toContain('progress 0.600');
  expect((await readFile(join(once, 'out/picture.pam'))).equals(await readFile(second.result))).toBe(true);
});

it('computes on the processors of its slot', async () => {
  const threads: number[] = [];
  for (const processors of [undefined, 1, 3]) {
    await using residents = await open({}, processors);
    const { answer, pid } = await ask(residents, circle(48));
    expect(answer.ok).toBe(true);
    threads.push(threadsBelow(pid));
  }
  const [unset = 0, one, three] = threads;
  expect([one, three]).toEqual([unset, unset + 2]);
});

it('keeps one program with models at a time', async () => {
  await using residents = await open();
  const { pid: cutting = 0 } = await ask(residents, circle(48));
  const { pid: portraits, answer } = await ask(residents, circle(48), portrait);
  expect(answer).toMatchObject({ ok: false, reason: 'input_limit', details: { limit: 'faces', min: 1, received: 0 } });
  expect(isGone(cutting)).toBe(true);
  // What it refuses does not end it.
  expect((await ask(residents, circle(48), portrait)).pid).toBe(portraits);
  expect(residents.ended).toEqual(['displaced']);
});

/** A request that is cancelled while its program starts. */
async function cancelled(residents: Awaited<ReturnType<typeof open>>, engine: Engine = matte): Promise<void> {
  const cancel = new AbortController();
  const starting: Residents = {
    ...residents,
    ask(...request) {
      setImmediate(() => cancel.abort());
      return residents.ask(...request);
    },
  };
  await expect(ask(starting, circle(48), engine, cancel.signal)).rejects.toMatchObject({ why: 'cancelled' });
  expect(residents.ended).toEqual([]);
}

it('ends a program that was started for a request that is cancelled, before another one starts', async () => {
  const started: string[] = [];
  await using residents = await open({ onStarted: (key) => started.push(key) });
  await cancelled(residents);
  expect(started).toEqual([]);
  await ask(residents, circle(48), portrait);
  expect([started, residents.ended]).toEqual([[matte, portrait].map((engine) => residentKey(engine, 'matte')), ['displaced']]);
  expect(residents.pid(residentKey(matte, 'matte'))).toBeUndefined();
});

it('does not wait for the start of another program when it is cancelled', async () => {
  const mayStart = Promise.withResolvers<void>();
  await using residents = await open({}, undefined, mayStart.promise);
  await cancelled(residents);
  await cancelled(residents, portrait);
  mayStart.resolve();
});

it('is idle from its last request on, though others were cancelled while it started', async () => {
  const [mayStart, started] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using residents = await open({ idleMs: 10_000, onStarted: () => started.resolve() }, undefined, mayStart.promise);
  for (let count = 0; count < 2; count++) await cancelled(residents);
  mayStart.resolve();
  await started.promise;
  await pause(6_000);
  const { pid } = await ask(residents, circle(48));
  await pause(6_000);
  expect([residents.ended, residents.pid(residentKey(matte, 'matte'))]).toEqual([[], pid]);
});

it('ends a program in time that a cancelled request did not come to', async () => {
  await using residents = await open({ idleMs: 500 });
  const { pid = 0 } = await ask(residents, circle(48));
  await expect(ask(residents, circle(48), matte, AbortSignal.abort())).rejects.toMatchObject({ why: 'cancelled' });
  await vi.waitFor(() => expect(isGone(pid)).toBe(true), 20_000);
  expect(residents.ended).toEqual(['idle']);
});

it('ends a program that was started for a request that is cancelled, when nothing else is asked', async () => {
  await using residents = await open({ idleMs: 200 });
  await cancelled(residents);
  await vi.waitFor(() => expect(residents.ended).toEqual(['idle']), 20_000);
});

it('ends a program that nothing is asked of, and starts another for the next request', async () => {
  await using residents = await open({ idleMs: 200 });
  const { pid = 0 } = await ask(residents, circle(48));
  await vi.waitFor(() => expect(isGone(pid)).toBe(true), 20_000);
  expect(residents.ended).toEqual(['idle']);
  expect((await ask(residents, circle(48))).answer.ok).toBe(true);
});

it.each([
  ['holds more than it may', { leakBytes: 1024 * 1024 }, 'leak'],
  ['has done its number of conversions', { perLife: 1 }, 'used'],
])('ends a program that %s, and replaces it no sooner than it is needed', async (_, options, why) => {
  await using residents = await open(options);
  const { pid = 0, answer } = await ask(residents, circle(48));
  expect(answer.ok).toBe(true);
  await vi.waitFor(() => expect(isGone(pid)).toBe(true), 20_000);
  expect([residents.ended, residents.pid(residentKey(matte, 'matte'))]).toEqual([[why], undefined]);
  expect((await ask(residents, circle(30))).answer.ok).toBe(true);
});

it('is not used again after a file that broke it', async () => {
  await using residents = await open();
  const { pid = 0 } = await ask(residents, circle(48));
  await expect(ask(residents, Buffer.from('P7\nno picture'))).rejects.toMatchObject({ why: 'crash' });
  expect(isGone(pid)).toBe(true);
  expect((await ask(residents, circle(48))).answer.ok).toBe(true);
});
