/** Warm programs and what they convert, confined as in service: what breaks one, what replaces it, and that nothing crosses from job to job. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { crc32, deflateSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ConversationStep, Engine, ResidentStep, Task } from '../../../src/catalog/engine.ts';
import { engine as libreoffice } from '../../../src/catalog/engines/documents/libreoffice.ts';
import { engine as sharp } from '../../../src/catalog/engines/pictures/sharp.ts';
import type { Options } from '../../../src/catalog/options/options.ts';
import { launcherAt } from '../../../src/exec/confine/confine.ts';
import { type Runtime, stage } from '../../../src/exec/confine/stage.ts';
import { openSlot, type Slot } from '../../../src/exec/files/workspace.ts';
import type { ProgramAnswer } from '../../../src/exec/residents/messages.ts';
import type { Program } from '../../../src/exec/residents/process.ts';
import { openResidents, type ResidentOptions, type Residents } from '../../../src/exec/residents/residents.ts';
import { LOCKED_WORDS, lockedDocuments, PASSWORD } from '../../kit/catalog/locked.ts';
import { isGone, processesBelow, runningBelow, waitingBelow } from '../../kit/exec/processes.ts';
import { LIMITS } from './step-limits.ts';

const run = promisify(execFile);
const MAGICK = '/usr/bin/convert-im6.q16';

let root: string;
let slot: Slot;
let runtime: Runtime;
let residents: Residents;
let jobs = 0;

beforeAll(async () => {
  execFileSync('scripts/build-launcher');
  execFileSync('scripts/build-native');
  root = await mkdtemp('/tmp/filemill-residents-');
  await chmod(root, 0o711);
  runtime = await stage(process.cwd(), process.execPath, root);
  slot = await openSlot(root, 0);
  residents = open();
});
afterEach(async () => {
  for (const one of extra.splice(0)) await one.close();
});
afterAll(async () => {
  await residents.close();
  await rm(root, { recursive: true, force: true });
});

const extra: Residents[] = [];

function open(options: Partial<ResidentOptions> = {}): Residents {
  return openResidents({
    launcher: launcherAt(resolve('.cache/bin/launcher')),
    slot,
    perLife: 200,
    leakBytes: 2 ** 30,
    idleMs: 60_000,
    ...options,
  });
}

/** Residents of one test, closed when it ends. */
async function own(options: Partial<ResidentOptions> = {}): Promise<Residents> {
  // One slot may hold several: folder names must not meet, so the shared ones go first.
  await residents.close();
  residents = open();
  const one = open(options);
  extra.push(one);
  return one;
}

const programOf = (engine: Engine): Program => {
  if (engine === sharp) {
    const { program, library } = runtime.native('vips-server');
    return { program, args: [library], reads: [program, library], calls: 'vips-server', unixSockets: false };
  }
  const args = [runtime.pathOf('documents/office.py')];
  return { program: '/usr/bin/python3', args, reads: runtime.reads, calls: engine.toolchains[0], unixSockets: true, forkServer: true };
};

interface Job {
  readonly engine: Engine;
  readonly source: string;
  readonly target: string;
  readonly input: Buffer | string;
  readonly options?: Options;
  readonly password?: string;
  readonly wallMs?: number;
  readonly signal?: AbortSignal;
  readonly by?: Residents;
}

interface Converted {
  readonly answer: ProgramAnswer;
  readonly folder: string;
  readonly files: readonly string[];
}

async function convert({ engine, source, target, input, options = {}, password, wallMs, signal, by = residents }: Job): Promise<Converted> {
  const base = await slot.makeFolder(`job-${++jobs}`);
  const task: Task = {
    source,
    target,
    options,
    input: join(base, `in.${source}`),
    output: join(base, 'out'),
    scratch: join(base, 'scratch'),
    passwordFile: password === undefined ? undefined : join(base, 'password'),
    facts: {},
  };
  await mkdir(task.output);
  slot.own(task.output);
  await writeFile(task.input, input);
  if (task.passwordFile !== undefined) await writeFile(task.passwordFile, password ?? '');
  const step = engine.plan(task).steps[0] as ConversationStep | ResidentStep;
  const files = { input: task.input, output: task.output, ...(task.passwordFile !== undefined && { passwordFile: task.passwordFile }) };
  const limits = { ...LIMITS, wallMs: wallMs ?? LIMITS.wallMs };
  const answer = await by.ask(engine.id, programOf(engine), 'talk' in step ? step.conversation : step.request, files, {
    limits,
    signal: signal ?? new AbortController().signal,
  });
  return { answer, folder: task.output, files: (await readdir(task.output)).sort() };
}

const picture = (source: string, target: string, input: Buffer, more: Partial<Job> = {}) =>
  convert({ engine: sharp, source, target, input, ...more });
const document = (source: string, target: string, input: Buffer | string, more: Partial<Job> = {}) =>
  convert({ engine: libreoffice, source, target, input, ...more });

/** @param args of ImageMagick, whose result is the picture */
const made = (...args: string[]): Buffer => execFileSync(MAGICK, args, { maxBuffer: 2 ** 28 });
/** RGB of the pixels at `x,y`, read by other code than what is tested. */
const pixel = (path: string, x: number, y: number): number[] => [
  ...execFileSync(MAGICK, [`${path}[0]`, '-crop', `1x1+${x}+${y}`, '-depth', '8', 'rgb:-']),
];
const size = (path: string): string => execFileSync('/usr/bin/identify-im6.q16', ['-format', '%wx%h,', path]).toString();
const textOf = async (folder: string): Promise<string> => (await run('/usr/bin/pdftotext', [join(folder, 'result.pdf'), '-'])).stdout;

const pidOf = (by: Residents, engine: Engine): number => {
  const pid = by.pid(engine.id);
  if (pid === undefined) throw new Error('no resident');
  return pid;
};
/** The process that the next job will be done in. */
const workerIn = async (by: Residents, engine: Engine): Promise<number> => {
  const pid = pidOf(by, engine);
  const look = () => (engine === sharp ? runningBelow('vips-server', '', pid) : waitingBelow(pid));
  await until(() => look().length > 0);
  return look()[0] ?? 0;
};

/** Whether a job lies in the folder of a resident. */
const holdsJob = (): boolean => readdirSync(join(root, 'slot-0')).some((name) => existsSync(join(root, 'slot-0', name, 'job')));

/** Files below `folder`, but those of jobs, that hold `word`. What goes while it looks, as with a program that ends, is left out. */
const filesWith = (word: string, folder: string): string[] =>
  unlessGone(() => readdirSync(folder, { withFileTypes: true }), []).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name.startsWith('job-') ? [] : filesWith(word, path);
    return entry.isFile() && unlessGone(() => readFileSync(path).includes(word), false) ? [path] : [];
  });

function unlessGone<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return otherwise;
    throw error;
  }
}

/** Looks until it is so: /proc and folders of others send no events. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((done) => setTimeout(done, 5));
}

const SMALL = made('-size', '40x20', 'xc:red', 'png:-');
const fodt = (body: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" ` +
  `xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" ` +
  `xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/" ` +
  `xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" office:version="1.2" ` +
  `office:mimetype="application/vnd.oasis.opendocument.text"><office:body><office:text>${body}</office:text></office:body></office:document>`;
const letter = (text: string): string => fodt(`<text:p>${text}</text:p>`);

/** Whether each job is done in a process that the program forks. */
const KINDS: readonly [string, Engine, boolean, () => Omit<Job, 'by'>][] = [
  ['the picture program', sharp, false, () => ({ engine: sharp, source: 'png', target: 'jpg', input: SMALL })],
  ['LibreOffice', libreoffice, true, () => ({ engine: libreoffice, source: 'fodt', target: 'pdf', input: letter('after') })],
];

it('LibreOffice is forked while none of its threads writes the configuration, whose lock a child would wait for', async () => {
  const folder = await mkdtemp(join(root, 'office-'));
  const server = spawn('/usr/bin/python3', [runtime.pathOf('documents/office.py')], { cwd: folder, stdio: ['pipe', 'pipe', 'ignore'] });
  try {
    expect(String(await once(server.stdout, 'data'))).toContain('"fresh": "fork"');
    const threads = readdirSync(`/proc/${server.pid}/task`).map((task) =>
      readFileSync(`/proc/${server.pid}/task/${task}/comm`, 'utf8').trim(),
    );
    expect(threads.toSorted()).toEqual(['lo_startmain', 'python3']);
  } finally {
    server.kill('SIGKILL');
    await once(server, 'close');
  }
});

for (const [name, engine, forks, job] of KINDS) {
  describe(`${name}, kept warm`, () => {
    it('serves several jobs in one process', async () => {
      const by = await own();
      await convert({ ...job(), by });
      const first = pidOf(by, engine);
      expect((await convert({ ...job(), by })).files).toHaveLength(1);
      expect(pidOf(by, engine)).toBe(first);
    });

    it('is ended when it hangs, and the next job succeeds in another', async () => {
      const by = await own();
      await convert({ ...job(), by });
      const [supervisor, worker] = [pidOf(by, engine), await workerIn(by, engine)];
      process.kill(worker, 'SIGSTOP');
      await expect(convert({ ...job(), by, wallMs: 300 })).rejects.toMatchObject({ name: 'ResidentBroken', why: 'timeout' });
      expect(isGone(worker)).toBe(true);
      expect((await convert({ ...job(), by })).answer.ok).toBe(true);
      expect(pidOf(by, engine) === supervisor, 'the program itself is there still').toBe(forks);
    });

    it('that crashes in the middle of a job says so, and is not used again', async () => {
      const by = await own();
      await convert({ ...job(), by });
      const worker = await workerIn(by, engine);
      // Stopped first, so that the job cannot be done before the crash.
      process.kill(worker, 'SIGSTOP');
      const broken = expect(convert({ ...job(), by })).rejects.toMatchObject({ name: 'ResidentBroken', why: 'crash' });
      // A program that ends before it was handed the job is another story.
      await until(() => holdsJob());
      process.kill(worker, 'SIGSEGV');
      process.kill(worker, 'SIGCONT');
      await broken;
      expect((await convert({ ...job(), by })).answer.ok).toBe(true);
    });

    it('is ended when the job is cancelled, with all below it', async () => {
      const by = await own();
      await convert({ ...job(), by });
      const worker = await workerIn(by, engine);
      process.kill(worker, 'SIGSTOP');
      const stop = new AbortController();
      const broken = expect(convert({ ...job(), by, signal: stop.signal })).rejects.toMatchObject({ why: 'cancelled' });
      await until(() => holdsJob());
      stop.abort();
      await broken;
      expect(isGone(worker)).toBe(true);
    });

    it('goes on living when a job is cancelled before it was asked', async () => {
      const by = await own();
      await convert({ ...job(), by });
      const first = pidOf(by, engine);
      await expect(convert({ ...job(), by, signal: AbortSignal.abort() })).rejects.toMatchObject({ why: 'cancelled' });
      expect((await convert({ ...job(), by })).answer.ok).toBe(true);
      expect(pidOf(by, engine)).toBe(first);
    });

    it('leaves no process and no folder when closed', async () => {
      const by = await own();
      await convert({ ...job(), by });
      const pids = [pidOf(by, engine), ...processesBelow(pidOf(by, engine)).map(({ pid }) => pid)];
      await by.close();
      expect(pids.map(isGone)).not.toContain(false);
      expect((await readdir(join(root, 'slot-0'))).filter((each) => each.startsWith('r'))).toEqual([]);
    });
  });
}

describe('a fresh process for one job', () => {
  const once = async (engine: Engine, source: string, target: string, input: Buffer | string) => {
    const folder = await slot.makeFolder(`once-${++jobs}`);
    const [path, output] = [join(folder, `in.${source}`), join(folder, 'out')];
    await writeFile(path, input);
    await mkdir(output);
    for (const each of [path, output]) slot.own(each);
    const task: Task = { source, target, options: {}, input: path, output, scratch: folder, passwordFile: undefined, facts: {} };
    const { otherwise } = engine.plan(task).steps[0] as ResidentStep;
    const { program, args, reads, calls, unixSockets } = programOf(engine);
    const policy = { folder, reads, calls, unixSockets, limits: LIMITS, uid: slot.uid };
    const command = { program, args: [...args, ...otherwise.args], stdin: otherwise.stdin };
    const outcome = await launcherAt(resolve('.cache/bin/launcher')).run(policy, command);
    return { outcome, files: await readdir(output), reason: engine.explain?.(`${outcome.stderr}\n${outcome.stdout}`, outcome.code) };
  };

  it('does what the warm one does', async () => {
    expect(await once(libreoffice, 'fodt', 'pdf', letter('alone'))).toMatchObject({
      outcome: { ended: 'exit', code: 0 },
      files: ['result.pdf'],
    });
  });

  it('tells by its words why it could not', async () => {
    expect(await once(libreoffice, 'docx', 'pdf', 'no document')).toMatchObject({
      outcome: { code: 1 },
      files: [],
      reason: 'corrupt_input',
    });
  });

  it('says its version', async () => {
    for (const engine of [sharp, libreoffice]) {
      const version = Object.values(engine.binaries)[0]?.version;
      const { program, args } = programOf(engine);
      const { stdout } = await run(program, [...args, ...(version?.args ?? [])]);
      expect(version?.pattern.exec(stdout)?.[1]).toMatch(/^\d+\.\d+/);
    }
  });
});

describe('a replacement', () => {
  it('takes over from a program that has grown, without a failed job', async () => {
    const reasons: string[] = [];
    const by = await own({ leakBytes: 1024 * 1024, onReplaced: (_, why) => reasons.push(why) });
    await picture('png', 'jpg', SMALL, { by });
    const first = pidOf(by, sharp);
    for (let job = 0; pidOf(by, sharp) === first; job++) {
      expect(job).toBeLessThan(1_000);
      expect((await picture('png', 'jpg', SMALL, { by })).answer.ok).toBe(true);
    }
    expect(new Set(reasons)).toEqual(new Set(['leak']));
  });

  it('follows each job where none may be used twice', async () => {
    const by = await own({ perLife: 1 });
    const pids = new Set<number>();
    for (let job = 0; job < 3; job++) {
      await picture('png', 'jpg', SMALL, { by });
      pids.add(pidOf(by, sharp));
    }
    expect(pids.size).toBe(3);
  });
});

describe('a job', () => {
  it('leaves nothing for the next one', async () => {
    await document('fodt', 'pdf', letter('secretofthefirst'));
    const second = await document('fodt', 'pdf', letter('plain'));
    expect(await textOf(second.folder)).toContain('plain');
    expect((await readFile(join(second.folder, 'result.pdf'))).includes('secretofthefirst')).toBe(false);
    expect(filesWith('secretofthefirst', join(root, 'slot-0'))).toEqual([]);
  });
});

describe('an office document', () => {
  it('with a comment in its margin is converted', async () => {
    const body = '<text:p>Hello<office:annotation><dc:creator>me</dc:creator><text:p>remark</text:p></office:annotation> there</text:p>';
    const { folder } = await document('fodt', 'pdf', fodt(body));
    expect(await textOf(folder)).toContain('Hello there');
  });

  it('that links to files and addresses gets neither', async () => {
    let visits = 0;
    const canary = createServer((_, response) => {
      visits++;
      response.end('CANARYTEXT');
    });
    await new Promise<void>((done) => canary.listen(0, '127.0.0.1', done));
    const address = `http://127.0.0.1:${(canary.address() as AddressInfo).port}`;
    const outside = join(root, 'outside');
    await mkdir(outside, { recursive: true, mode: 0o755 });
    await writeFile(join(outside, 'canary.txt'), 'CANARYTEXT', { mode: 0o644 });
    await writeFile(join(outside, 'canary.png'), SMALL, { mode: 0o644 });
    const links = [`${address}/a`, `file://${outside}/canary`].flatMap((link) => [
      `<text:section text:name="s${link.length}"><text:section-source xlink:href="${link}.txt"/><text:p>kept</text:p></text:section>`,
      `<text:p><draw:frame svg:width="5cm" svg:height="5cm"><draw:image xlink:href="${link}.png" xlink:type="simple" xlink:actuate="onLoad"/></draw:frame></text:p>`,
    ]);
    const { folder, answer } = await document('fodt', 'pdf', fodt(links.join('')));
    canary.close();
    expect(answer.ok).toBe(true);
    expect(await textOf(folder)).toContain('kept');
    expect(await textOf(folder)).not.toContain('CANARYTEXT');
    expect((await run('/usr/bin/pdfimages', ['-list', join(folder, 'result.pdf')])).stdout.trim().split('\n')).toHaveLength(2);
    expect(visits).toBe(0);
  });

  it('that is not what it is called is refused', async () => {
    const { answer } = await document('docx', 'pdf', '<html><body>no</body></html>');
    expect(answer).toMatchObject({ ok: false, reason: 'corrupt_input' });
  });

  it('of several sheets gives a CSV each, by name', async () => {
    const table = (name: string, value: string) =>
      `<table:table table:name="${name}"><table:table-row><table:table-cell office:value-type="string"><text:p>${value}</text:p></table:table-cell></table:table-row></table:table>`;
    const fods = fodt('')
      .replace('opendocument.text"', 'opendocument.spreadsheet"')
      .replace('xmlns:text', 'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text')
      .replace(
        '<office:text></office:text>',
        `<office:spreadsheet>${table('Größe', 'one')}${table('B &amp; C', 'two')}</office:spreadsheet>`,
      );
    const { files, folder: out } = await document('fods', 'csv', fods);
    expect(files).toEqual(['001 Größe.csv', '002 B & C.csv']);
    expect(await readFile(join(out, '002 B & C.csv'), 'utf8')).toBe('two\n');
  });
});

describe('an encrypted document', () => {
  let locked: ReadonlyMap<string, Buffer>;
  beforeAll(async () => {
    locked = await lockedDocuments();
  });

  for (const format of ['docx', 'odt', 'xlsx']) {
    it(`(${format}) opens with its password only`, async () => {
      const input = locked.get(format) ?? Buffer.alloc(0);
      expect((await document(format, 'pdf', input)).answer).toMatchObject({ ok: false, reason: 'password_required' });
      expect((await document(format, 'pdf', input, { password: 'wrong' })).answer).toMatchObject({ ok: false, reason: 'wrong_password' });
      const opened = await document(format, 'pdf', input, { password: PASSWORD });
      expect(await textOf(opened.folder)).toContain(LOCKED_WORDS);
    });
  }
});

describe('a picture', () => {
  /** 40 × 20 px: red, green, blue and white quarters. */
  const quarters = (...more: string[]) =>
    made('-size', '20x10', '(', 'xc:red', 'xc:lime', '+append', ')', '(', 'xc:blue', 'xc:white', '+append', ')', '-append', ...more);
  const near = (path: string, x: number, y: number, colour: readonly number[]) => {
    const found = pixel(path, x, y);
    for (const [band, value] of colour.entries())
      expect(Math.abs((found[band] ?? -999) - value), `${found} for ${colour}`).toBeLessThan(14);
  };

  it('turned by its EXIF orientation comes out upright, and is not turned twice', async () => {
    // Orientation 6: the top of the picture is the right side of what is stored (EXIF 2.32, tag 0x0112).
    const exif = Buffer.from('ffe100224578696600004d4d002a00000008000101120003000000010006000000000000', 'hex');
    const plain = quarters('-quality', '95', '-sampling-factor', '1x1', 'jpg:-');
    const input = Buffer.concat([plain.subarray(0, 2), exif, plain.subarray(2)]);
    const { folder } = await picture('jpg', 'png', input);
    expect(size(join(folder, 'result.png'))).toBe('20x40,');
    near(join(folder, 'result.png'), 3, 3, [0, 0, 255]);
    near(join(folder, 'result.png'), 16, 3, [255, 0, 0]);
    const again = await picture('png', 'jpg', await readFile(join(folder, 'result.png')));
    expect(size(join(again.folder, 'result.jpg'))).toBe('20x40,');
  });

  it('is rotated, then cropped, then resized', async () => {
    const options: Options = { img_rotate: '90', img_crop_x: 0, img_crop_y: 0, img_crop_w: 10, img_crop_h: 20, img_resize_w: 16 };
    const { folder } = await picture('png', 'webp', quarters('png:-'), { options });
    expect(size(join(folder, 'result.webp'))).toBe('16x32,');
    near(join(folder, 'result.webp'), 8, 16, [0, 0, 255]);
  });

  it('in CMYK becomes the colour that it prints as', async () => {
    const { folder } = await picture('jpg', 'png', made('-size', '32x32', 'xc:#00ff00', '-colorspace', 'CMYK', '-quality', '95', 'jpg:-'));
    const [red = 255, green = 0, blue = 255] = pixel(join(folder, 'result.png'), 9, 9);
    expect(green).toBeGreaterThan(120);
    expect(Math.max(red, blue)).toBeLessThan(green - 50);
  });

  it('with a wide profile is brought to sRGB, whether metadata is kept or not', async () => {
    const profile = '/usr/share/color/icc/ghostscript/a98.icc';
    const input = made('-size', '32x32', 'xc:rgb(128,200,100)', '-profile', profile, 'png:-');
    for (const strip_metadata of [false, true]) {
      const { folder } = await picture('png', 'tiff', input, { options: { strip_metadata } });
      near(join(folder, 'result.tiff'), 9, 9, [89, 202, 93]);
    }
  });

  it('with alpha lies on the background where the target has none', async () => {
    const { folder } = await picture('png', 'jpg', made('-size', '32x32', 'xc:none', 'png:-'), { options: { background: '#0000ff' } });
    near(join(folder, 'result.jpg'), 9, 9, [0, 0, 255]);
  });

  it('that moves keeps its frames, their delays and its loops as WebP, and its first frame as PNG', async () => {
    const frames = ['-delay', '10', '-size', '16x16', 'xc:red', '-delay', '30', 'xc:lime', '-delay', '50', 'xc:blue', '-loop', '3'];
    const input = made(...frames, 'gif:-');
    const { folder } = await picture('gif', 'webp', input);
    const webp = await readFile(join(folder, 'result.webp'));
    // The container's own words (RFC 9649): ANIM has the loops, each ANMF a duration in ms.
    expect(webp.readUInt16LE(webp.indexOf('ANIM') + 12)).toBe(3);
    const durations: number[] = [];
    for (let at = webp.indexOf('ANMF'); at >= 0; at = webp.indexOf('ANMF', at + 4)) durations.push(webp.readUIntLE(at + 8 + 12, 3));
    expect(durations).toEqual([100, 300, 500]);
    const still = await picture('gif', 'png', input);
    expect(still.answer.warnings).toMatchObject([{ code: 'animation_first_frame' }]);
    near(join(still.folder, 'result.png'), 8, 8, [255, 0, 0]);
  });

  it('that ends too early is damaged', async () => {
    const whole = made('-size', '300x300', 'plasma:', 'png:-');
    const { answer, files } = await picture('png', 'webp', whole.subarray(0, whole.length / 2));
    expect(answer).toMatchObject({ ok: false, reason: 'corrupt_input' });
    expect(files).toEqual([]);
  });

  it('that is a JPEG and ends too early is shown as far as it goes, with a warning', async () => {
    const whole = made('-size', '300x300', 'plasma:', 'jpg:-');
    const { answer, files } = await picture('jpg', 'png', whole.subarray(0, whole.length / 2));
    expect(answer).toMatchObject({ ok: true, warnings: [{ code: 'file_cut_off' }] });
    expect(files).toEqual(['result.png']);
  });

  it('that is another kind than its name is refused', async () => {
    expect((await picture('jpg', 'png', SMALL)).answer).toMatchObject({ ok: false, reason: 'corrupt_input' });
  });

  it('of 50,000 × 50,000 px is refused by its header alone', async () => {
    const chunk = (type: string, data: Buffer): Buffer => {
      const [length, check, body] = [Buffer.alloc(4), Buffer.alloc(4), Buffer.concat([Buffer.from(type), data])];
      length.writeUInt32BE(data.length);
      check.writeUInt32BE(crc32(body));
      return Buffer.concat([length, body, check]);
    };
    const header = Buffer.from('0000c3500000c3500100000000', 'hex');
    const bomb = Buffer.concat([
      Buffer.from('89504e470d0a1a0a', 'hex'),
      chunk('IHDR', header),
      chunk('IDAT', deflateSync(Buffer.alloc(6_251_000))),
      chunk('IEND', Buffer.alloc(0)),
    ]);
    const { answer } = await picture('png', 'jpg', bomb);
    expect(answer).toMatchObject({
      ok: false,
      reason: 'input_limit',
      details: { limit: 'pixels', max: 100_000_000, received: 2_500_000_000 },
    });
  });

  it('cropped outside itself is refused with what it has', async () => {
    const options: Options = { img_crop_x: 30, img_crop_y: 0, img_crop_w: 20, img_crop_h: 5 };
    const { answer } = await picture('png', 'png', SMALL, { options });
    expect(answer).toMatchObject({
      ok: false,
      reason: 'invalid_option',
      misfit: { option: 'img_crop_w', received: '20', says: 'The picture has 40 columns; the crop ends at column 50.' },
    });
  });
});
