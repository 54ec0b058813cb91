/** A page that has taken its renderer over reaches neither the browser nor another page's renderer, and no two pages share one. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ResidentStep, StepLimits } from '../../../src/catalog/engine.ts';
import { askPage } from '../../../src/catalog/engines/documents/chromium/ask.ts';
import { engine } from '../../../src/catalog/engines/documents/chromium.ts';
import { launcherAt } from '../../../src/exec/confine/confine.ts';
import { stage } from '../../../src/exec/confine/stage.ts';
import { openSlot, type Slot } from '../../../src/exec/files/workspace.ts';
import type { ProgramAnswer } from '../../../src/exec/residents/messages.ts';
import type { Program } from '../../../src/exec/residents/process.ts';
import { openResidents, type Residents } from '../../../src/exec/residents/residents.ts';
import { openToolbox, type Toolbox } from '../../../src/exec/toolbox.ts';
import { eventually } from '../../kit/api/wire.ts';
import { isGone, processesBelow } from '../../kit/exec/processes.ts';

const LIMITS: StepLimits = {
  memoryBytes: 2 ** 31,
  cpuSeconds: 600,
  fileBytes: 2 ** 30,
  folderBytes: 2 ** 31,
  processes: 512,
  wallMs: 60_000,
};
const KEY = 'page';

let root: string;
let slot: Slot;
let toolbox: Toolbox;
/** Path of `native/chromium-child`. */
let child: string;
/** See `test/integration/exec/taken-over-renderer.c`. */
let standIn: string;
let pages = 0;
const opened: Residents[] = [];

beforeAll(async () => {
  for (const script of ['build-launcher', 'build-native']) execFileSync(`scripts/${script}`);
  root = await mkdtemp('/tmp/filemill-renderers-');
  await chmod(root, 0o711);
  standIn = join(root, 'taken-over-renderer');
  execFileSync('cc', ['-Wall', '-Wextra', '-Werror', '-o', standIn, resolve('test/integration/exec/taken-over-renderer.c')]);
  await chmod(standIn, 0o755);
  slot = await openSlot(root, 0);
  const runtime = await stage(process.cwd(), process.execPath, root);
  child = runtime.native('chromium-child').program;
  const launcher = launcherAt(resolve('.cache/bin/launcher'));
  toolbox = await openToolbox({ engines: [engine], launcher, runtime, models: new Map(), cacheFile: join(root, 'versions.json'), slot });
});
afterEach(async () => {
  for (const residents of opened.splice(0)) await residents.close();
});
afterAll(() => rm(root, { recursive: true, force: true }));

describe('a renderer that its page has taken over', { timeout: 60_000 }, () => {
  /** @param by what starts renderers @returns what one could do, and how the rest was refused */
  async function takeOver(by: string, options: Parameters<typeof launcherAt>[1] = {}): Promise<ReadonlyMap<string, string>> {
    const folder = await slot.makeFolder('stand-in');
    const { ended, code, stdout, stderr } = await launcherAt(resolve('.cache/bin/launcher'), options).run(
      { folder, reads: [standIn, child], calls: 'web', unixSockets: false, limits: LIMITS, uid: slot.uid },
      { program: standIn, args: [by] },
    );
    expect({ ended, code, stderr }).toEqual({ ended: 'exit', code: 0, stderr: '' });
    const lines = stdout.toString().trimEnd().split('\n');
    return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), line.slice(line.lastIndexOf(' ') + 1)]));
  }
  const possible = (tried: ReadonlyMap<string, string>): string[] => [...tried].filter(([, how]) => how === 'yes').map(([name]) => name);

  it.each([
    ['on this kernel', {}, ['signal-itself', 'own added']],
    ['on a kernel that does not scope signals', { landlockAbi: 5 }, ['own added']],
  ])('neither traces nor signals the browser and another renderer, nor reaches their files (%s)', async (_, options, harmless) => {
    const tried = await takeOver(child, options);
    expect(possible(tried)).toEqual(harmless);
    expect(tried.size).toBeGreaterThan(60);
    // They are there, and refused.
    expect(new Set([...tried].filter(([name]) => /^(browser|other|job|profile|home) /.test(name)).map(([, how]) => how))).toEqual(
      new Set(['EPERM', 'EACCES']),
    );
  });

  it('would reach much of that if Chromium started it directly', async () => {
    const could = possible(await takeOver(standIn));
    for (const name of ['browser signal', 'other signal', 'job read', 'job changed', 'profile read', 'other read', 'home added', 'fork'])
      expect(could).toContain(name);
  });
});

// ---- pages ----

/** As in service. */
const chromium = (): Program => toolbox.resolve(engine, 'page');

function open(perLife = 200): Residents {
  const residents = openResidents({
    launcher: launcherAt(resolve('.cache/bin/launcher')),
    slot,
    perLife,
    leakBytes: 2 ** 40,
    idleMs: 60_000,
  });
  opened.push(residents);
  return residents;
}

async function print(
  residents: Residents,
  waitMs = 0,
  program = chromium(),
): Promise<{ readonly answer: ProgramAnswer; readonly text: string }> {
  const folder = await slot.makeFolder(`job-${++pages}`);
  const [input, output] = [join(folder, 'input.html'), join(folder, 'out')];
  await writeFile(input, `<h1>Kestrel ${pages}</h1>`);
  slot.own(input);
  slot.makeOwned(output);
  const asked = { sheet: 'A4', ownSize: true, landscape: false, background: true } as const;
  const { steps } = askPage({ source: 'html', input, output, target: 'pdf', waitMs, ...asked });
  const { request } = steps[0] as ResidentStep;
  const options = { limits: LIMITS, signal: AbortSignal.timeout(120_000) };
  const answer = await residents.ask(KEY, program, request, { input, output }, options);
  const text = answer.ok ? execFileSync('pdftotext', [join(output, 'page.pdf'), '-']).toString() : '';
  return { answer, text };
}

/** A process by its number and the time of its start, which together are no other's: field 22 of proc(5)'s stat, counted from the state. */
const identityOf = (pid: number): string => `${pid} ${readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ')[19]}`;

/** Chromium's processes of this type. It writes its arguments again, as one. */
const processesOf = (residents: Residents, type: string): number[] =>
  processesBelow(residents.pid(KEY) ?? 0)
    .filter(({ pid, argv }) => argv.join(' ').includes(`--type=${type} `) && !isGone(pid))
    .map(({ pid }) => pid);

/** Those of the page that is being printed. @param first of the empty page that Chromium starts with */
const ofThePage = (residents: Residents, first: readonly number[]): Promise<readonly number[]> =>
  eventually(() => {
    const found = processesOf(residents, 'renderer').filter((pid) => !first.includes(pid));
    return found.length > 0 && found;
  }, 'the renderer of the page');

const onlyTheFirst = (residents: Residents): Promise<readonly number[]> =>
  eventually(() => {
    const found = processesOf(residents, 'renderer');
    return found.length === 1 && found;
  }, 'the renderer to end');

/** Where Chromium and its processes have their folders. */
const homeOf = (residents: Residents): string => readlinkSync(`/proc/${processesBelow(residents.pid(KEY) ?? 0)[0]?.pid}/cwd`);

describe('two pages', { timeout: 120_000 }, () => {
  it('never share a renderer, and none is left behind', async () => {
    const residents = open();
    await print(residents);
    const first = await onlyTheFirst(residents);
    const seen = new Set(first.map(identityOf));
    for (let page = 0; page < 4; page++) {
      const printing = print(residents, 1_500);
      const identities = (await ofThePage(residents, first)).map(identityOf);
      for (const identity of identities) expect(seen).not.toContain(identity);
      for (const identity of identities) seen.add(identity);
      expect((await printing).text).toContain(`Kestrel ${pages}`);
      expect(await onlyTheFirst(residents)).toEqual(first);
    }
    expect(seen.size).toBe(5);
    const folders = () => readdirSync(homeOf(residents)).filter((name) => name.startsWith('renderer-'));
    await eventually(() => folders().length === 1, 'their folders to go');
  });

  it.each([
    [200, 1],
    [1, 3],
  ])('share a browser, unless none is to serve two: one of %i pages each makes %i for three pages', async (perLife, browsers) => {
    const residents = open(perLife);
    const used = new Set<number | undefined>();
    for (let page = 0; page < 3; page++) {
      expect((await print(residents)).text).toContain(`Kestrel ${pages}`);
      used.add(residents.pid(KEY));
    }
    expect(used.size).toBe(browsers);
  });

  it('crash alone, each with its own renderer', async () => {
    const residents = open();
    await print(residents);
    const [resident, first] = [residents.pid(KEY), await onlyTheFirst(residents)];
    const printing = print(residents, 6_000);
    const renderers = await ofThePage(residents, first);
    await sleep(1_000);
    for (const pid of renderers) process.kill(pid, 'SIGKILL');
    expect((await printing).answer).toMatchObject({ ok: false, reason: 'engine_crashed' });
    expect((await print(residents)).text).toContain(`Kestrel ${pages}`);
    expect(residents.pid(KEY)).toBe(resident);
  });

  it('do not meet where a renderer does not end: it ends with the browser', async () => {
    const residents = open();
    await print(residents);
    const resident = residents.pid(KEY) ?? 0;
    const printing = print(residents, 1_500);
    await ofThePage(residents, await onlyTheFirst(residents).catch(() => []));
    // As if this test were one.
    const home = homeOf(residents);
    mkdirSync(join(home, `renderer-${process.pid}-aaaaaa`));
    expect((await printing).text).toContain(`Kestrel ${pages}`);
    // Its home goes last: a request in between would be told that it has ended.
    await eventually(() => isGone(resident) && !existsSync(home), 'the browser to end');
    expect((await print(residents)).text).toContain(`Kestrel ${pages}`);
    expect(residents.pid(KEY)).not.toBe(resident);
  });
});

describe('Chromium', { timeout: 120_000 }, () => {
  it('confines each of its child processes once more', async () => {
    const residents = open();
    await print(residents);
    const filters = (pid: number) => Number(/^Seccomp_filters:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    const all = processesBelow(residents.pid(KEY) ?? 0).filter(
      ({ pid, argv }) => argv.join(' ').includes('chromium-headless-shell') && !isGone(pid),
    );
    const [browser, ...others] = all.map(({ pid }) => filters(pid));
    expect(others.length).toBeGreaterThanOrEqual(2);
    for (const count of others) expect(count).toBe((browser ?? 0) + 1);
    expect(processesOf(residents, 'utility')).toHaveLength(1);
  });

  it('that starts its renderers by another way is not used', async () => {
    const { args, ...rest } = chromium();
    const elsewhere = args.map((word) => word.replace(/^--child=.*/, '--child=/usr/lib/chromium/chromium-headless-shell'));
    await expect(print(open(), 0, { ...rest, args: elsewhere })).rejects.toMatchObject({ name: 'ResidentBroken', why: 'start' });
  });
});
