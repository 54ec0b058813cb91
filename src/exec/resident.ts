/** Programs that stay warm between one slot's conversions: replaced as they age, and never used again once something went wrong. */
import { constants } from 'node:fs';
import { copyFile, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { StepLimits, Warning } from '../catalog/engine.ts';
import { isReason, type Reason } from '../errors.ts';
import type { Confined, Launcher } from './confine.ts';
import type { Slot } from './workspace.ts';

/** How such a program is started: what `Toolbox.resolve` answers. It says {"ready":true} when it can take its first request. */
export interface Program {
  readonly program: string;
  readonly args: readonly string[];
  readonly reads: readonly string[];
  readonly unixSockets: boolean;
}

/** Absolute paths of the job. The program gets copies in its own folder, and the request is rewritten to name these. */
export interface Files {
  readonly input: string;
  /** An empty folder: what the program made is moved there. */
  readonly output: string;
  readonly passwordFile?: string;
}

export interface Asking {
  /** `wallMs` holds for this request; the other limits for the life of a program that this request starts, CPU seconds excepted. */
  readonly limits: StepLimits;
  readonly signal: AbortSignal;
  /** 0 to 1. */
  readonly onProgress?: (fraction: number) => void;
}

/** What the program said. `words` are its own, for a log; `details` may be shown. */
export interface Answer {
  readonly ok: boolean;
  readonly reason?: Reason;
  readonly words?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly warnings?: readonly Warning[];
}

export type Broken = 'crash' | 'timeout' | 'memory' | 'cancelled' | 'protocol';

/** The program was ended and will not be used again. All but a timeout and a cancelled request are worth one try in a fresh process. */
export class ResidentBroken extends Error {
  override readonly name = 'ResidentBroken';
  readonly why: Broken;
  constructor(why: Broken, message: string) {
    super(message);
    this.why = why;
  }
}

export interface Residents {
  /** One request at a time for each key. @throws ResidentBroken */
  ask(key: string, program: Program, request: Readonly<Record<string, unknown>>, files: Files, asking: Asking): Promise<Answer>;
  /** Starts a program before it is needed. */
  warm(key: string, program: Program, limits: StepLimits): Promise<void>;
  /** Process ids of the supervisors, for health and tests. */
  pid(key: string): number | undefined;
  close(): Promise<void>;
}

export interface ResidentOptions {
  readonly launcher: Launcher;
  readonly slot: Slot;
  /** Conversions of one program before it is replaced; 1 means that none is used twice. */
  readonly perLife?: number;
  /** Resident bytes of a program and its children, between requests, above which it is replaced. */
  readonly leakBytes?: number;
  /** `used` and `leak` are the ordinary ways to end. */
  readonly onReplaced?: (key: string, why: Broken | 'used' | 'leak') => void;
}

const START_MS = 60_000;
/** RLIMIT_CPU counts a process's whole life, which is bounded by its conversions and by the wall clock of each. */
const LIFE_CPU_SECONDS = 7 * 24 * 3600;
/** Longer lines, or more of them, are no answer of a program of ours. */
const LONGEST_LINE = 64 * 1024;
const MOST_LINES = 10_000;

/** The programs under one key: one that serves, and at times one that is to replace it. */
interface Place {
  current: Incarnation | undefined;
  /** Settles when it can serve. */
  next: Promise<Incarnation> | undefined;
  busy: boolean;
  /** What waits for the present request to end. */
  whenIdle: (() => void) | undefined;
}

export function openResidents(options: ResidentOptions): Residents {
  const { perLife = 200, leakBytes = 1024 * 1024 * 1024, onReplaced = () => {} } = options;
  const places = new Map<string, Place>();
  const ending = new Set<Promise<void>>();
  let started = 0;
  let closed = false;

  const dismiss = (one: Incarnation | undefined): void => {
    if (one === undefined) return;
    const gone = one.end().finally(() => ending.delete(gone));
    ending.add(gone);
  };

  /** Begins a start, unless one is under way. One that fails leaves nothing behind. */
  const begin = (place: Place, program: Program, limits: StepLimits): Promise<Incarnation> => {
    if (closed) return Promise.reject(new ResidentBroken('cancelled', 'the residents are closed'));
    if (place.next !== undefined) return place.next;
    const next = Incarnation.start(options, `r${++started}`, program, limits);
    place.next = next;
    next.catch(() => {
      if (place.next === next) place.next = undefined;
    });
    return next;
  };

  /** Puts the replacement in, once it can serve. */
  const swap = (place: Place, fresh: Incarnation): void => {
    if (closed || place.current === fresh) return;
    dismiss(place.current);
    place.current = fresh;
    place.next = undefined;
  };

  const take = async (place: Place, program: Program, limits: StepLimits): Promise<Incarnation> => {
    const { current } = place;
    if (current !== undefined && !current.over && (perLife > 1 || current.served === 0)) return current;
    swap(place, await begin(place, program, limits));
    if (closed || place.current === undefined) throw new ResidentBroken('cancelled', 'the residents are closed');
    return place.current;
  };

  /** Looks at a program after a request. An old one goes on serving until its replacement is ready. */
  const age = async (key: string, place: Place, one: Incarnation, program: Program, limits: StepLimits): Promise<void> => {
    const why = one.served >= perLife ? 'used' : (await one.residentBytes()) > leakBytes ? 'leak' : undefined;
    if (why === undefined || place.next !== undefined || one.over || closed) return;
    onReplaced(key, why);
    const fresh = await begin(place, program, limits);
    if (!place.busy) swap(place, fresh);
    else place.whenIdle = () => swap(place, fresh);
  };

  return {
    async ask(key, program, request, files, { limits, signal, onProgress }) {
      const place = places.get(key) ?? { current: undefined, next: undefined, busy: false, whenIdle: undefined };
      places.set(key, place);
      if (place.busy) throw new Error(`the resident ${key} is asked twice at once`);
      place.busy = true;
      try {
        const one = await take(place, program, limits);
        const answer = await one.serve(request, files, { limits, signal, ...(onProgress && { onProgress }) });
        void age(key, place, one, program, limits).catch(() => {});
        return answer;
      } catch (error) {
        if (error instanceof ResidentBroken) onReplaced(key, error.why);
        throw error;
      } finally {
        place.busy = false;
        place.whenIdle?.();
        place.whenIdle = undefined;
      }
    },
    async warm(key, program, limits) {
      const place = places.get(key) ?? { current: undefined, next: undefined, busy: false, whenIdle: undefined };
      places.set(key, place);
      if (!place.busy) await take(place, program, limits);
    },
    pid: (key) => places.get(key)?.current?.pid,
    async close() {
      closed = true;
      for (const { current, next } of places.values()) {
        dismiss(current);
        if (next !== undefined) await next.then(dismiss, () => {});
      }
      places.clear();
      await Promise.all(ending);
    },
  };
}

/** One life of a program, in a folder of its own: its profile and, while it works, the job's copy in `job`. */
class Incarnation {
  /** It must not be asked again. */
  over = false;
  served = 0;
  private readonly slot: Slot;
  private readonly folder: string;
  private readonly process: Confined;
  private readonly gone: Promise<void>;
  private listener: { heard(words: Record<string, unknown>): void; broke(error: ResidentBroken): void } | undefined;
  private begun = '';

  /** @throws ResidentBroken when it does not become ready */
  static async start({ launcher, slot }: ResidentOptions, name: string, program: Program, limits: StepLimits): Promise<Incarnation> {
    const one = new Incarnation(launcher, slot, await slot.makeFolder(name), program, limits);
    const answer = await one.listen({ wallMs: START_MS, signal: undefined }, (words) => words['ready'] === true);
    if (answer instanceof ResidentBroken) throw answer;
    return one;
  }

  private constructor(launcher: Launcher, slot: Slot, folder: string, { program, args, reads, unixSockets }: Program, limits: StepLimits) {
    this.slot = slot;
    this.folder = folder;
    const forLife = { ...limits, wallMs: 0, cpuSeconds: LIFE_CPU_SECONDS };
    this.process = launcher.start({ folder, reads, unixSockets, limits: forLife, uid: slot.uid }, { program, args });
    this.process.stdout.setEncoding('utf8').on('data', (text: string) => this.hear(text));
    this.gone = this.process.ended.then(async ({ ended, code, signal, stderr }) => {
      const why = ended === 'memory' ? 'memory' : 'crash';
      this.breakOff(why, `the resident ended: ${ended} ${code ?? signal ?? ''} ${stderr.slice(-2000)}`);
      await slot.removeFolder(folder);
    });
  }

  /** Of the supervisor. */
  get pid(): number | undefined {
    return this.process.pid;
  }

  async serve(request: Readonly<Record<string, unknown>>, files: Files, { limits, signal, onProgress }: Asking): Promise<Answer> {
    this.served++;
    try {
      const names = await this.moveIn(files);
      this.process.stdin.write(`${JSON.stringify(renamed(request, names))}\n`);
      const answer = await this.listen({ wallMs: limits.wallMs, signal }, (words) => {
        const { progress } = words;
        if (typeof progress === 'number' && progress >= 0 && progress <= 1) onProgress?.(progress);
        return typeof words['ok'] === 'boolean';
      });
      if (answer instanceof ResidentBroken) throw answer;
      const read = readAnswer(answer);
      if (read.ok) await moveOut(this.folder, files.output);
      await rm(join(this.folder, 'job'), { recursive: true, force: true });
      return read;
    } catch (error) {
      await this.end();
      throw error;
    }
  }

  /** Bytes of the supervisor and all below it; 0 where the kernel does not list children. */
  async residentBytes(): Promise<number> {
    return this.pid === undefined ? 0 : residentBytesOf(this.pid);
  }

  async end(): Promise<void> {
    this.over = true;
    this.process.kill();
    await this.gone;
  }

  /** Waits for the words that `isLast` recognises. Whatever else happens ends the program. */
  private async listen(
    { wallMs, signal }: { wallMs: number; signal: AbortSignal | undefined },
    isLast: (words: Record<string, unknown>) => boolean,
  ): Promise<Record<string, unknown> | ResidentBroken> {
    const cancel = () => this.breakOff('cancelled', 'cancelled while the resident worked');
    const timer = setTimeout(() => this.breakOff('timeout', `no answer within ${wallMs} ms`), wallMs);
    let lines = 0;
    const heard = await new Promise<Record<string, unknown> | ResidentBroken>((settle) => {
      this.listener = {
        broke: settle,
        heard: (words) => {
          if (++lines > MOST_LINES) this.breakOff('protocol', 'the resident talks without end');
          else if (isLast(words)) settle(words);
        },
      };
      if (this.over) settle(new ResidentBroken('crash', 'the resident had ended'));
      signal?.addEventListener('abort', cancel, { once: true });
      if (signal?.aborted) cancel();
    });
    this.listener = undefined;
    clearTimeout(timer);
    signal?.removeEventListener('abort', cancel);
    // Its processes are gone before anybody tries again.
    if (heard instanceof ResidentBroken) await this.gone;
    return heard;
  }

  private hear(text: string): void {
    const lines = (this.begun + text).split('\n');
    this.begun = lines.pop() ?? '';
    for (const line of lines) {
      const words = parsed(line);
      if (words === undefined || this.listener === undefined) this.breakOff('protocol', 'the resident said what nobody asked for');
      else this.listener.heard(words);
    }
    if (this.begun.length > LONGEST_LINE) this.breakOff('protocol', 'the resident sent a line without end');
  }

  private breakOff(why: Broken, message: string): void {
    const first = !this.over;
    this.over = true;
    if (first) this.process.kill();
    this.listener?.broke(new ResidentBroken(why, message));
  }

  /** @returns the job's paths and what they are called here */
  private async moveIn({ input, output, passwordFile }: Files): Promise<ReadonlyMap<string, string>> {
    const job = join(this.folder, 'job');
    const names = new Map([
      [input, join(job, `input${extname(input)}`)],
      [output, join(job, 'output')],
    ]);
    for (const path of [job, join(job, 'output')]) {
      await mkdir(path, { mode: 0o700 });
      await this.slot.own(path);
    }
    if (passwordFile !== undefined) names.set(passwordFile, join(job, 'password'));
    for (const [from, to] of names) {
      if (from === output) continue;
      await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
      await this.slot.own(to);
    }
    return names;
  }
}

/** Everything out, by renaming: through folders held open, so that no link can stand in for one of them. */
async function moveOut(folder: string, output: string): Promise<void> {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  await using job = await open(join(folder, 'job'), flags);
  await using made = await open(`/proc/self/fd/${job.fd}/output`, flags);
  const from = `/proc/self/fd/${made.fd}`;
  for (const name of await readdir(from)) await rename(join(from, name), join(output, name));
}

/** A request with every path of the job replaced by what it is called in the resident's folder. */
function renamed(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') {
    for (const [from, to] of names) if (value === from || value.startsWith(`${from}/`)) return to + value.slice(from.length);
    return value;
  }
  if (Array.isArray(value)) return value.map((item) => renamed(item, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, renamed(item, names)]));
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const words: unknown = line.length > LONGEST_LINE ? undefined : JSON.parse(line);
    return typeof words === 'object' && words !== null ? (words as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Takes from the program's words only what has the right shape: a hostile document may have taken it over. */
function readAnswer({ ok, reason, words, details, warnings }: Record<string, unknown>): Answer {
  const { limit, max, received } = (details ?? {}) as Record<string, unknown>;
  return {
    ok: ok === true,
    words: typeof words === 'string' ? words.slice(0, 2000) : '',
    ...(isReason(reason) && { reason }),
    ...(typeof limit === 'string' &&
      typeof max === 'number' &&
      typeof received === 'number' && { details: { limit: limit.slice(0, 100), max, received } }),
    ...(Array.isArray(warnings) && { warnings: warnings.filter(isWarning).slice(0, 10) }),
  };
}

function isWarning(value: unknown): value is Warning {
  const { code, message } = (value ?? {}) as Record<string, unknown>;
  return typeof code === 'string' && code.length <= 100 && typeof message === 'string' && message.length <= 1000;
}

/** From /proc/[pid]/task/[tid]/children and statm (proc(5)). */
async function residentBytesOf(pid: number): Promise<number> {
  const pages = Number((await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => '')).split(' ')[1] ?? 0);
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '')));
  const children = lists.join(' ').split(/\s+/).filter(Boolean).map(Number);
  const below = await Promise.all(children.map(residentBytesOf));
  return below.reduce((sum, bytes) => sum + bytes, pages * 4096);
}
