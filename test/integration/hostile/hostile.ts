/** Hostile files against a running service: each ends as it should, and after each everything that must always hold is looked at. */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorTable, reasonTable } from '../../../src/errors.ts';
import { seeded } from '../../kit/catalog/bytes.ts';
import { LONGEST_HOLD_MS, watchHolds } from '../../kit/exec/event-loop.ts';
import { processesBelow } from '../../kit/exec/processes.ts';
import { type Answer, readAnswer, type Service, type Settings, startService } from '../../kit/roles/service.ts';
import { CANARY_COLOUR, leaks } from './leaks.ts';
import { openSender } from './sender.ts';

/** What hostile files reach for. */
export interface Trap {
  /** `http://127.0.0.1:<port>`: no process may connect. */
  readonly url: string;
  readonly port: number;
  /** World-readable, outside of everything that converters may see: a text with the token, and a picture in the canary's colour. */
  readonly text: string;
  readonly picture: string;
  /** Every user may write there, and no process shall. */
  readonly folder: string;
  readonly token: string;
  /** Where inputs of other jobs lie while they run. */
  readonly neighbours: readonly string[];
}

export type Ending = 'reject' | 'fail' | 'neutral';

export interface Case {
  readonly name: string;
  readonly file: Buffer | string | ((trap: Trap) => Buffer | string | Promise<Buffer | string>);
  /** The name under which it is sent. */
  readonly as: string;
  readonly to: string;
  readonly fields?: Readonly<Record<string, string>>;
  /** Several where the installed versions may differ in what they make of it, as long as it is harmless. */
  readonly ends: Ending | readonly Ending[];
  /** Code of a refusal or reason of a failure; any of several. */
  readonly why?: string | readonly string[];
  /** Which limit a failure for `input_limit` names. */
  readonly limit?: string;
  /** Pictures in the result are also read. */
  readonly ocr?: boolean;
  readonly judge?: (output: Buffer, answer: Answer, trap: Trap) => void | Promise<void>;
}

export interface Ground {
  /** A conversion that is requested beside each hostile one, in the same pool. */
  readonly honest: { readonly name: string; readonly bytes: Buffer; readonly to: string };
  /** How long one step may run: 25 unless said otherwise. */
  readonly seconds?: number;
}

const SECONDS = 25;
const MEMORY = 768 * 1024 * 1024;
/** Memory is looked at every 20 to 100 ms: so much may be taken meanwhile. */
const OVERSHOOT = 1.5;

export class Battlefield {
  readonly trap: Trap;
  readonly service: Service;
  private readonly listener: Server;
  private readonly sender = openSender();
  private readonly callers: string[];
  private readonly secrets: readonly string[];
  private readonly health: string;

  static async open({ seconds = SECONDS }: Ground): Promise<Battlefield> {
    const settings: Settings = { worker: { memoryBytes: MEMORY, maxSeconds: seconds, mediaMaxSeconds: seconds } };
    const token = secret();
    const environment = secret();
    process.env['CANARY_OF_THE_SERVER'] = environment;
    const folder = await mkdtemp('/tmp/canary-');
    await chmod(folder, 0o777);
    await writeFile(join(folder, 'text.txt'), `${token}\n${token}\n`);
    const picture = sharp({ create: { width: 64, height: 64, channels: 3, background: CANARY_COLOUR } });
    await writeFile(
      join(folder, 'picture.png'),
      await picture
        .withExif({ IFD0: { Copyright: token } })
        .png()
        .toBuffer(),
    );
    const callers: string[] = [];
    const listener = createServer((socket) => {
      socket.once('data', (data) => callers.push(String(data).slice(0, 200)));
      callers.push('a connection');
      socket.on('error', () => {});
      socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${token.length}\r\nConnection: close\r\n\r\n${token}`);
    });
    await new Promise<void>((done) => listener.listen(0, '127.0.0.1', done));
    const { port } = listener.address() as AddressInfo;
    const service = await startService(settings);
    await writeFile(join(service.dataDir, 'text.txt'), token, { mode: 0o644 });
    const slots = [1, 2, 3, 4, 5, 6, 7, 8].map((slot) => join(service.dataDir, 'work', `slot-${slot}`, 'job'));
    const trap: Trap = {
      url: `http://127.0.0.1:${port}`,
      port,
      folder,
      token,
      text: join(folder, 'text.txt'),
      picture: join(folder, 'picture.png'),
      neighbours: slots.flatMap((slot) => ['txt', 'png', 'wav', 'pdf'].map((ending) => join(slot, `input.${ending}`))),
    };
    const health = await healthOf(service);
    return new Battlefield({ trap, service, listener, callers, secrets: [token, environment, 'root:x:0:0'], health });
  }

  private constructor(parts: {
    trap: Trap;
    service: Service;
    listener: Server;
    callers: string[];
    secrets: readonly string[];
    health: string;
  }) {
    this.trap = parts.trap;
    this.service = parts.service;
    this.listener = parts.listener;
    this.callers = parts.callers;
    this.secrets = parts.secrets;
    this.health = parts.health;
  }

  async close(): Promise<void> {
    await this.sender.close();
    await this.service.stop();
    this.listener.close();
    delete process.env['CANARY_OF_THE_SERVER'];
    await rm(this.trap.folder, { recursive: true, force: true });
  }

  /** Sends one file and waits for its end. */
  async send({ file, as, to, fields = {} }: Pick<Case, 'file' | 'as' | 'to' | 'fields'>): Promise<Answer> {
    const content = await this.made({ file });
    const { url } = this.service;
    const { status, body } = await this.sender.send({ url, name: as, bytes: content, to, fields, withinMs: (SECONDS + 60) * 1000 });
    return readAnswer(new Response(body, { status }));
  }

  private async made({ file }: Pick<Case, 'file'>): Promise<Buffer> {
    const content = typeof file === 'function' ? await file(this.trap) : file;
    return Buffer.isBuffer(content) ? content : Buffer.from(content);
  }

  async outputOf(answer: Answer): Promise<Buffer> {
    const response = await fetch(`${this.service.url}/api/v1/jobs/${answer.data?.job_id}/output`);
    expect(response.status).toBe(200);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('content-disposition')).toMatch(/^attachment;/);
    return Buffer.from(await response.arrayBuffer());
  }

  /** What holds of every answer, whatever was sent. */
  expectProper({ status, data, error }: Answer): void {
    if (error === undefined) {
      expect(status).toBe(200);
      expect(data?.status).toBe('done');
      return;
    }
    expect(Object.keys(errorTable)).toContain(error.code);
    expect(error.code).not.toBe('INTERNAL_ERROR');
    expect(errorTable[error.code as keyof typeof errorTable].status).toBe(status);
    expect(error.details).toMatchObject({ request_id: expect.any(String), retryable: expect.any(Boolean) });
    if (error.code === 'CONVERSION_FAILED') {
      expect(Object.keys(reasonTable)).toContain(error.details['reason']);
      expect(error.details['reason']).not.toBe('internal');
    }
    const said = JSON.stringify(error);
    expect(said).not.toMatch(/\/(tmp|var|usr|etc|home|root|proc|work)\/|slot-\d|hop-\d|\n\s+at |node:|\.ts:\d|Traceback|0x[\da-f]{6}/);
    expect(said).not.toMatch(/convert-im|soffice|vips-server|ffmpeg|pdfinfo|rsvg-convert|--\w|-limit/);
    for (const word of this.secrets) expect(said).not.toContain(word);
  }

  /** What holds of the machine once nothing runs any more. @param gone what stood in the files of jobs that have ended */
  async expectQuiet(gone: readonly string[] = []): Promise<void> {
    await this.untilIdle();
    expect(this.callers, 'a process connected to the trap').toEqual([]);
    expect((await readdir(this.trap.folder)).sort(), 'a process wrote into the trap').toEqual(['picture.png', 'text.txt']);
    expect(existsSync('/tmp/filemill-was-here')).toBe(false);
    const work = join(this.service.dataDir, 'work');
    for (const name of await inSlots(work)) expect(name, 'left in a slot').toMatch(WARM_FOLDER);
    for (const entry of await readdir(work, { recursive: true, withFileTypes: true })) {
      // Warm programs keep their own things there, and nothing of a job's.
      if (!entry.isFile() || !entry.parentPath.includes('/slot-')) continue;
      const left = await readFile(join(entry.parentPath, entry.name)).catch(() => Buffer.alloc(0));
      for (const word of gone)
        expect(left.includes(word) || left.includes(Buffer.from(word, 'utf16le')), `a job is left in ${entry.name}`).toBe(false);
    }
    const strange = processesIn(work).filter(
      ({ cwd, name }) => !cwd.startsWith(join(work, OWN_LOOK)) && (!/\/r\d+(-\w+)?(\/|$)/.test(cwd) || !WARM.test(name)),
    );
    expect(strange.map(({ name, cwd }) => `${name} in ${cwd}`)).toEqual([]);
    expect(await healthOf(this.service)).toBe(this.health);
  }

  private async untilIdle(): Promise<void> {
    const work = join(this.service.dataDir, 'work');
    const busy = async () =>
      Object.values((await readHealth(this.service)).queue).some(({ waiting, running }) => waiting + running > 0) ||
      // The last job's folders go once its end is told.
      (await inSlots(work)).some((name) => /^(job|delivery|gone-\d+)$/.test(name)) ||
      processesIn(work).some(({ cwd }) => cwd.includes('/job'));
    const until = Date.now() + 15_000;
    let isBusy = await busy();
    while (isBusy && Date.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 25));
      isBusy = await busy();
    }
    expect(isBusy, 'still busy').toBe(false);
  }

  async expectNoLeak(
    output: Buffer,
    others: readonly string[],
    look: { readonly ocr?: boolean; readonly colour?: boolean } = {},
  ): Promise<void> {
    expect(await leaks(output, { words: [...this.secrets, ...others], ...look })).toEqual([]);
  }

  private async heldBy(one: Case): Promise<number> {
    const holds = watchHolds();
    await this.send(one);
    return holds.stop();
  }

  /** The whole of it for one file. */
  async prove(one: Case, { honest }: Ground): Promise<void> {
    const marker = secret();
    // Made before anything is measured: building it is the test's own work.
    const file = await this.made(one);
    const neighbours = Buffer.concat([honest.bytes, Buffer.from(marker)]);
    const measured = watchMemory(join(this.service.dataDir, 'work'));
    const holds = watchHolds();
    const [answer, neighbour] = await Promise.all([
      this.send({ ...one, file }),
      this.send({ file: neighbours, as: honest.name, to: honest.to }),
    ]).finally(() => measured.stop());
    let heldMs = holds.stop();
    // What the input does it does each time; a collection of garbage, or the start of a process, comes when it comes.
    for (let again = 0; again < 2 && heldMs >= LONGEST_HOLD_MS; again++) heldMs = Math.min(heldMs, await this.heldBy({ ...one, file }));
    expect(heldMs, 'the event loop of API and worker was held, ms').toBeLessThan(LONGEST_HOLD_MS);
    this.expectProper(answer);
    expect(neighbour.data?.status, `the honest job: ${JSON.stringify(neighbour.error)}`).toBe('done');
    const why = answer.error?.code === 'CONVERSION_FAILED' ? String(answer.error.details['reason']) : (answer.error?.code ?? '');
    const ended: Ending = answer.error === undefined ? 'neutral' : answer.error?.code === 'CONVERSION_FAILED' ? 'fail' : 'reject';
    expect([one.ends].flat(), `${ended} ${why} ${answer.error?.message ?? ''}`).toContain(ended);
    if (ended !== 'neutral' && one.why !== undefined) expect([one.why].flat()).toContain(why);
    if (one.limit !== undefined) expect(answer.error?.details['limit']).toBe(one.limit);
    if (ended === 'neutral') {
      const output = await this.outputOf(answer);
      await this.expectNoLeak(output, [marker], { ocr: one.ocr ?? false });
      await one.judge?.(output, answer, this.trap);
    }
    expect(measured.peakBytes()).toBeLessThan(MEMORY * OVERSHOOT);
    await this.expectQuiet([marker]);
  }
}

/**
 * One test for each case, one after the other, so that what is left can be laid at one door. One service for all of them, as converters
 * that stay warm take seconds to start.
 * @param groups by what is said of the cases
 */
export function proveHarmless(ground: Ground, groups: Readonly<Record<string, readonly Case[]>>): void {
  describe(`where a step may take ${ground.seconds ?? SECONDS} s`, () => {
    let field: Battlefield;
    beforeAll(async () => {
      field = await Battlefield.open(ground);
    });
    afterAll(() => field?.close());
    describe.each(Object.entries(groups).map(([title, cases]) => ({ title, cases })))('$title', ({ cases }) => {
      it.each(cases.map((one) => ({ name: one.name, to: one.to, one })))('$name, to $to', ({ one }) => field.prove(one, ground));
    });
  });
}

export interface Mutated {
  readonly source: string;
  readonly to: string;
  readonly bytes: (folder: string) => Promise<Buffer>;
}

/** Damaged copies of good files, the same in each run. */
export function proveMutationsHarmless(ground: Ground, sources: readonly Mutated[], each: number): void {
  describe('damaged files', () => {
    let field: Battlefield;
    let folder: string;
    beforeAll(async () => {
      field = await Battlefield.open(ground);
      folder = await mkdtemp(join(tmpdir(), 'mutations-'));
    });
    afterAll(async () => {
      await field?.close();
      await rm(folder, { recursive: true, force: true });
    });
    it.each(sources)(`do no harm: ${each} of $source to $to`, async ({ source, to, bytes }) => {
      const place = join(folder, source);
      await mkdir(place);
      const good = await bytes(place);
      expect((await field.send({ file: good, as: `good.${source}`, to })).data?.status, 'the undamaged file').toBe('done');
      const left = Array.from({ length: each }, (_, seed) => seed + 1);
      const worker = async () => {
        for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
          const answer = await field.send({ file: mutated(good, seed), as: `damaged-${seed}.${source}`, to });
          field.expectProper(answer);
          // Damage may give any colour.
          if (answer.error === undefined) await field.expectNoLeak(await field.outputOf(answer), [], { colour: false });
        }
      };
      await Promise.all([worker(), worker(), worker()]);
      await field.expectQuiet();
    });
  });
}

/** Bits turned, bytes set to what breaks sums, stretches cut out, doubled or overwritten; the signature stays. */
export function mutated(bytes: Buffer, seed: number): Buffer {
  const random = seeded(seed);
  const below = (most: number) => Math.floor(random() * most);
  let copy = Buffer.from(bytes);
  const BREAKERS = [0, 1, 0x7f, 0x80, 0xfe, 0xff];
  // Headers are where sizes stand: half of the damage goes there.
  const place = () => Math.min(copy.length - 1, 12 + below(random() < 0.5 ? Math.min(512, copy.length) : copy.length));
  for (let count = 1 + below(8); count > 0; count--) {
    const at = place();
    switch (below(6)) {
      case 0:
        copy[at] = (copy[at] ?? 0) ^ (1 << below(8));
        break;
      case 1:
        copy[at] = BREAKERS[below(BREAKERS.length)] ?? 0;
        break;
      case 2:
        copy.fill(0xff, at, Math.min(copy.length, at + 4));
        break;
      case 3:
        copy = Buffer.concat([copy.subarray(0, at), copy.subarray(at + below(64))]);
        break;
      case 4:
        copy = Buffer.concat([copy.subarray(0, at), copy.subarray(Math.max(12, at - 64), at), copy.subarray(at)]);
        break;
      default:
        copy = copy.subarray(0, Math.max(16, at));
    }
  }
  return copy;
}

/** Letters that OCR tells apart, and that no file holds by chance. */
const secret = (): string => `CANARY${[...randomBytes(10)].map((byte) => 'ABDEFHKLMNPRTUXYZ'[byte % 17]).join('')}`;

/** Where the worker looks at itself every few seconds: in a slot that takes no orders. */
const OWN_LOOK = 'slot-0/check';
/** Programs that stay warm. A thread's name may stand for its program's. */
const WARM_FOLDER = /^r\d+(-\w+)?$/;
const WARM = /^(node|(node-)?MainThread|python3.*|soffice.bin|vips-server|chromium-headle|launcher)$/;

/** Where results are packed. */
const PACKED_IN = 'delivery';

/** Names of what lies in any slot, but for the worker's own look. */
async function inSlots(work: string): Promise<string[]> {
  const slots = (await readdir(work)).filter((name) => name.startsWith('slot-'));
  const namesIn = async (slot: string) => {
    const names = (await readdir(join(work, slot))).filter((name) => `${slot}/${name}` !== OWN_LOOK);
    // It stays from job to job, with nothing in it.
    const isEmpty = names.includes(PACKED_IN) && (await readdir(join(work, slot, PACKED_IN)).catch(() => [])).length === 0;
    return isEmpty ? names.filter((name) => name !== PACKED_IN) : names;
  };
  return (await Promise.all(slots.map(namesIn))).flat();
}

interface Process {
  readonly name: string;
  readonly cwd: string;
  readonly bytes: number;
}

/** A process whose current folder lies in `folder`; undefined for others, and for one that ended meanwhile. */
function processIn(folder: string, pid: string | number): Process | undefined {
  try {
    const cwd = readlinkSync(`/proc/${pid}/cwd`);
    if (!cwd.startsWith(folder)) return undefined;
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
    return { cwd, bytes: pages * 4096, name: readFileSync(`/proc/${pid}/comm`, 'utf8').trim() };
  } catch {
    return undefined;
  }
}

/** Whatever their parent is: it reads the folder of every process of the machine, some milliseconds. */
const processesIn = (folder: string): Process[] =>
  readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .flatMap((pid) => processIn(folder, pid) ?? []);

/** Those that still have their parents. */
const childrenIn = (folder: string): Process[] => processesBelow().flatMap(({ pid }) => processIn(folder, pid) ?? []);

/** The most that the processes of one slot's folder held at a time. */
function watchMemory(work: string): { peakBytes(): number; stop(): void } {
  let peak = 0;
  const timer = setInterval(() => {
    const sums = new Map<string, number>();
    for (const { cwd, bytes } of childrenIn(work)) {
      const place = cwd.slice(work.length).split('/').slice(0, 3).join('/');
      sums.set(place, (sums.get(place) ?? 0) + bytes);
    }
    peak = Math.max(peak, ...sums.values());
  }, 100);
  return { peakBytes: () => peak, stop: () => clearInterval(timer) };
}

interface Health {
  readonly status: string;
  readonly engines: unknown;
  readonly queue: Readonly<Record<string, { readonly waiting: number; readonly running: number; readonly workers: number }>>;
}

const readHealth = async ({ url }: Service): Promise<Health> =>
  ((await (await fetch(`${url}/api/v1/health`)).json()) as { data: Health }).data;

/** What must be the same after as before. */
async function healthOf(service: Service): Promise<string> {
  const { status, engines, queue } = await readHealth(service);
  return JSON.stringify({ status, engines, queue });
}
