/** A process for each file: what a file that has taken its process over tries to leave, the next file does not find. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { launcherAt } from '../../../src/exec/confine/confine.ts';
import { type Runtime, stage } from '../../../src/exec/confine/stage.ts';
import { openSlot, type Slot } from '../../../src/exec/files/workspace.ts';
import type { ProgramAnswer } from '../../../src/exec/residents/messages.ts';
import type { Freshness, Program } from '../../../src/exec/residents/process.ts';
import { openResidents, type Residents } from '../../../src/exec/residents/residents.ts';
import { isGone, parentOf, waitingBelow } from '../../kit/exec/processes.ts';
import { docxLetter, flat, flatLetter } from '../../kit/fixtures/documents/letters.ts';
import { LIMITS } from './step-limits.ts';

interface Format {
  readonly source: string;
  readonly family: string;
}

/** A program that reads each file in a separate process, and how it obeys a file that takes it over. */
interface Kind {
  readonly name: string;
  /** @param more arguments of the stand-in */
  program(...more: readonly string[]): Program;
  /** A request for a file that holds `word`: leave, look, stay, or anything harmless. */
  request(input: string, output: string, as: Format): Readonly<Record<string, unknown>>;
  readonly as: Format;
  /** Those of the attempts that concern its own file alone. */
  readonly harmless: readonly string[];
}

const KINDS: readonly Kind[] = [
  {
    name: 'LibreOffice',
    program: (...more) => ({
      program: '/usr/bin/python3',
      args: [join(root, 'stand-in/taken-over.py'), join(runtime.pathOf('documents/office.py'), '..'), ...more],
      reads: [...runtime.reads, join(root, 'stand-in')],
      calls: 'office',
      unixSockets: true,
      forkServer: true,
    }),
    request: (input, output, { source, family }) => ({ input, source, output, target: 'pdf', family }),
    as: { source: 'txt', family: 'text' },
    harmless: ["write to the job's profile", "write to the job's profile/user", "write to the job's tmp", "write to the job's ."],
  },
];

let root: string;
let slot: Slot;
let runtime: Runtime;
let jobs = 0;
const opened: Residents[] = [];

beforeAll(async () => {
  execFileSync('scripts/build-launcher');
  root = await mkdtemp('/tmp/filemill-fresh-');
  await chmod(root, 0o711);
  runtime = await stage(process.cwd(), process.execPath, root);
  slot = await openSlot(root, 0);
  await mkdir(join(root, 'stand-in'));
  execFileSync('/bin/cp', ['test/integration/exec/taken-over.py', join(root, 'stand-in')]);
  await chmod(join(root, 'stand-in'), 0o755);
  await chmod(join(root, 'stand-in/taken-over.py'), 0o644);
});
afterEach(async () => {
  limits = LIMITS;
  for (const residents of opened.splice(0)) await residents.close();
});
afterAll(() => rm(root, { recursive: true, force: true }));

function open(landlockAbi?: number, onStarted: (key: string, freshness: Freshness) => void = () => {}): Residents {
  const launcher = launcherAt(resolve('.cache/bin/launcher'), landlockAbi === undefined ? {} : { landlockAbi });
  const residents = openResidents({ launcher, slot, perLife: 1_000, leakBytes: 2 ** 40, idleMs: 60_000, onStarted });
  opened.push(residents);
  return residents;
}

interface Done {
  readonly answer: ProgramAnswer;
  readonly folder: string;
  readonly files: readonly string[];
}

let limits = LIMITS;

async function send(residents: Residents, kind: Kind, text: string | Buffer, as = kind.as, program = kind.program()): Promise<Done> {
  const folder = await slot.makeFolder(`job-${++jobs}`);
  const [input, output] = [join(folder, `in.${as.source}`), join(folder, 'out')];
  await mkdir(output);
  slot.own(output);
  await writeFile(input, text);
  const options = { limits, signal: new AbortController().signal };
  const answer = await residents.ask(kind.name, program, kind.request(input, output, as), { input, output }, options);
  return { answer, folder: output, files: await readdir(output) };
}

/** The process that waits for the next file: its id with the time of its start, which together are no other's. */
async function waiting(residents: Residents, kind: Kind): Promise<{ pid: number; identity: string }> {
  for (;;) {
    const [pid] = waitingBelow(residents.pid(kind.name) ?? 0);
    // Field 22 of proc(5)'s stat, counted from the state.
    if (pid !== undefined) return { pid, identity: `${pid} ${readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ')[19]}` };
    await new Promise((done) => setTimeout(done, 5));
  }
}

const listed = ({ answer }: Done): string[] => JSON.parse(answer.words ?? '') as string[];

for (const kind of KINDS)
  describe(`${kind.name}, taken over by a file`, () => {
    for (const [kernel, abi] of [
      ['on this kernel', undefined],
      ['on a kernel that does not scope signals', 5],
    ] as const)
      it(`leaves nothing for the next file (${kernel})`, async () => {
        const residents = open(abi);
        expect((await send(residents, kind, 'harmless')).files).toHaveLength(1);
        const server = parentOf((await waiting(residents, kind)).pid);
        const left = listed(await send(residents, kind, 'leave'));
        expect(left.filter((name) => !kind.harmless.includes(name))).toEqual([]);
        expect(left, 'it could write where it may').toContain(kind.harmless.at(-1));
        expect(listed(await send(residents, kind, 'look'))).toEqual([]);
        expect((await send(residents, kind, 'harmless')).files).toHaveLength(1);
        expect(parentOf((await waiting(residents, kind)).pid), 'the server is the same').toBe(server);
      });

    it('cannot outlive its answer', async () => {
      const residents = open();
      await send(residents, kind, 'harmless');
      const { pid } = await waiting(residents, kind);
      expect((await send(residents, kind, 'stay')).answer.ok).toBe(true);
      expect(isGone(pid) || /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))).toBe(true);
      expect((await send(residents, kind, 'harmless')).files).toHaveLength(1);
    });

    it('ends alone when it grows', async () => {
      limits = { ...LIMITS, memoryBytes: 900 * 2 ** 20 };
      const residents = open();
      await send(residents, kind, 'harmless');
      const server = parentOf((await waiting(residents, kind)).pid);
      await expect(send(residents, kind, 'grow')).rejects.toMatchObject({ name: 'ResidentBroken', why: 'memory', wasFresh: true });
      expect((await send(residents, kind, 'harmless')).files).toHaveLength(1);
      expect(parentOf((await waiting(residents, kind)).pid)).toBe(server);
    });

    it('is replaced by another, before a file waits for it, when it is not ready within a second', async () => {
      const residents = open();
      const program = kind.program('slow');
      await send(residents, kind, 'harmless', kind.as, program);
      const server = parentOf((await waiting(residents, kind)).pid);
      for (let file = 0; file < 3; file++) expect((await send(residents, kind, 'harmless', kind.as, program)).files).toHaveLength(1);
      expect(parentOf((await waiting(residents, kind)).pid)).toBe(server);
    });

    it('is another process for every file', async () => {
      const residents = open();
      await send(residents, kind, 'harmless');
      const identities = new Set<string>();
      for (let file = 0; file < 4; file++) {
        identities.add((await waiting(residents, kind)).identity);
        expect((await send(residents, kind, 'harmless')).files).toHaveLength(1);
      }
      expect(identities.size).toBe(4);
    });
  });

describe('LibreOffice that cannot be loaded into our own process', () => {
  it('is started again for each file, and says so', async () => {
    const [kind] = KINDS as readonly [Kind];
    // All of it, but for the library that makes it known to Python.
    const place = join(root, 'other-build');
    await mkdir(join(place, 'program'), { recursive: true });
    for (const name of await readdir('/usr/lib/libreoffice'))
      if (name !== 'program') await symlink(`/usr/lib/libreoffice/${name}`, join(place, name));
    for (const name of await readdir('/usr/lib/libreoffice/program'))
      if (name !== 'libpyuno.so') await symlink(`/usr/lib/libreoffice/program/${name}`, join(place, 'program', name));
    await writeFile(join(place, 'program/libpyuno.so'), 'no library');
    execFileSync('/bin/chmod', ['-R', 'a+rX', place]);
    const program: Program = {
      ...kind.program(),
      program: '/usr/bin/env',
      args: [`OFFICE_INSTALLATION=${place}`, '/usr/bin/python3', runtime.pathOf('documents/office.py')],
      reads: [...runtime.reads, place],
    };
    const started: Freshness[] = [];
    const residents = open(undefined, (_, freshness) => started.push(freshness));
    const pids: (number | undefined)[] = [];
    for (let file = 0; file < 2; file++) {
      expect((await send(residents, kind, 'harmless', kind.as, program)).files).toHaveLength(1);
      pids.push(residents.pid(kind.name));
    }
    expect(new Set(pids).size).toBe(2);
    expect(started[0]).toMatchObject({ by: 'process', reason: expect.stringContaining('libpyuno.so') });
  });
});

describe('what LibreOffice keeps beside its documents', () => {
  const [kind] = KINDS as readonly [Kind];
  const FONTS = ['Calibri', 'Arial', 'Times New Roman', 'Cambria', 'Carlito', 'Verdana'];
  const lines = Object.fromEntries(FONTS.map((font) => [font, 'Pay 1111 to 9900']));
  const letter = (embedded?: Buffer): string => flatLetter(lines, embedded);
  const SHEET = flat(
    'spreadsheet',
    '',
    '<table:table table:name="a"><table:table-row><table:table-cell table:formula="of:=1/3" office:value-type="float"/>' +
      '<table:table-cell office:value-type="date" office:date-value="2024-02-03"/><table:table-cell office:value-type="string"><text:p>Pay 1111</text:p></table:table-cell></table:table-row></table:table>',
  );
  const TEXT: Format = { source: 'fodt', family: 'text' };
  const WORD: Format = { source: 'docx', family: 'text' };
  const TABLE: Format = { source: 'fods', family: 'sheet' };

  /** Every page of the result as pixels: its text says nothing of what a font makes of it. */
  async function picture(residents: Residents, text: string | Buffer, as: Format): Promise<string> {
    const { answer, folder } = await send(residents, kind, text, as);
    expect(answer).toMatchObject({ ok: true });
    return execFileSync('/usr/bin/pdftoppm', ['-r', '50', join(folder, 'result.pdf')], { maxBuffer: 2 ** 28 }).toString('latin1');
  }
  const both = async (residents: Residents) => [await picture(residents, letter(), TEXT), await picture(residents, SHEET, TABLE)];

  const swappedFont = (): Buffer => {
    const swapped = join(root, 'swapped.ttf');
    execFileSync('/usr/bin/python3', ['-c', SWAP, '/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf', swapped]);
    return readFileSync(swapped);
  };

  it.each([
    ['an ODT', TEXT, async (font?: Buffer) => letter(font)],
    ['a DOCX', WORD, async (font?: Buffer) => readFileSync(await docxLetter(join(root, 'letter.docx'), lines, { embedded: font }))],
  ])('a font that %s brings along changes that document, and no other', async (_, as, make) => {
    const residents = open();
    const plain = await make();
    const all = async () => [await picture(residents, plain, as), ...(await both(residents))];
    const before = await all();
    expect(await picture(residents, await make(swappedFont()), as), 'its own digits').not.toBe(before[0]);
    expect(await all()).toEqual(before);
  });

  it.each([
    ['text', 'txt', 'kestrel'],
    ['text', 'fodt', letter()],
    ['sheet', 'fods', SHEET],
  ])('has paper of A4 for a %s (%s) that names none, whatever the machine’s is', async (family, source, text) => {
    const american = ['LC_ALL=en_US.UTF-8', 'LC_PAPER=en_US.UTF-8', 'PAPERSIZE=letter', `PAPERCONF=${join(root, 'papersize')}`];
    await writeFile(join(root, 'papersize'), 'letter\n');
    const program: Program = {
      ...kind.program(),
      program: '/usr/bin/env',
      args: [...american, '/usr/bin/python3', runtime.pathOf('documents/office.py')],
      reads: [...runtime.reads, join(root, 'papersize')],
    };
    const { answer, folder } = await send(open(), kind, text, { source, family }, program);
    expect(answer).toMatchObject({ ok: true });
    expect(execFileSync('/usr/bin/pdfinfo', [join(folder, 'result.pdf')]).toString()).toMatch(
      /^Page size: +595\.\d+ x 84[12]\.\d+ pts \(A4\)$/m,
    );
  });

  it('is for the next one as it was, whatever a document has changed', async () => {
    const residents = open();
    const before = await both(residents);
    const changed = listed(await send(residents, kind, 'unsettle'));
    expect(changed).toEqual(CHANGED);
    expect(await both(residents)).toEqual(before);
  });
});

/** In the order of `test/integration/exec/taken-over.py`. */
const CHANGED = [
  'fonts',
  'dictionaries',
  'clipboard',
  'colours',
  'symbols',
  'printer',
  'calculation',
  'locale',
  'autotext',
  'databases',
  'templates',
  'standard fonts',
];

/** Gives the digits 1 and 9 each other's shape, and 0 that of 8. */
const SWAP = `
import sys
from fontTools.ttLib import TTFont
font = TTFont(sys.argv[1])
shapes, widths = font["glyf"], font["hmtx"]
one, nine, eight = shapes["one"], shapes["nine"], shapes["eight"]
shapes["one"], shapes["nine"], shapes["zero"] = nine, one, eight
font.save(sys.argv[2])
`;
