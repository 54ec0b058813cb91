/** The warnings and errors of a service's log, for a stranger's eyes: only fields that are known, and of an error what it is and where it arose. */
import type { Redactor } from './redact.ts';

/** The last so many. */
const MOST = 200;
const LEVELS = new Set(['warn', 'error', 'fatal']);
/** Fields of our own words and numbers. Whatever else a line has is left out, and named. */
const PLAIN = new Set([
  'level',
  'time',
  'msg',
  'reason',
  'code',
  'kind',
  'phase',
  'state',
  'engine',
  'program',
  'signal',
  'limit',
  'status',
  'toolchain',
  'model',
]);
/** Fields that may quote a program, a system or a stranger. */
const FOREIGN = new Set(['why', 'message', 'stderr', 'said']);
/** Frames of a stack that are shown. */
const FRAMES = 6;
const LONGEST_STACK = 8_000;

export interface LastErrors {
  /** Lines that were read, of whatever level. */
  readonly lines: number;
  /** Those that were no line of this log. */
  readonly unreadable: number;
  readonly entries: readonly unknown[];
}

/** @param log lines of JSON, as the service writes them */
export function lastErrors(log: string, redactor: Redactor): LastErrors {
  const lines = log.split('\n').filter((line) => line.trim() !== '');
  const parsed = lines.map(parsedLine);
  const told = parsed.filter((entry) => entry !== undefined && LEVELS.has(String(entry['level'])));
  return {
    lines: lines.length,
    unreadable: parsed.filter((entry) => entry === undefined).length,
    entries: told.slice(-MOST).map((entry) => shownEntry(entry ?? {}, redactor)),
  };
}

type Entry = Readonly<Record<string, unknown>>;

function parsedLine(line: string): Entry | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && 'level' in value ? (value as Entry) : undefined;
  } catch {
    return undefined;
  }
}

function shownEntry({ err, ...fields }: Entry, redactor: Redactor): object {
  const shown = Object.entries(fields).flatMap(([name, value]): [string, unknown][] => {
    if (typeof value === 'number' || typeof value === 'boolean') return [[redactor.foreign(name), value]];
    if (name === 'time') return [[name, redactor.text(String(value))]];
    if (PLAIN.has(name) || FOREIGN.has(name)) return [[name, redactor.foreign(String(value))]];
    return [];
  });
  const hidden = Object.keys(fields).filter((name) => !shown.some(([each]) => each === name));
  return {
    ...Object.fromEntries(shown),
    ...(hidden.length > 0 && { hidden: hidden.map((name) => redactor.foreign(name)) }),
    ...(typeof err === 'object' && err !== null && { err: shownError(err as Entry, redactor) }),
  };
}

function shownError({ type, message, code, stack }: Entry, redactor: Redactor): object {
  // Where in this program, not where on the disk.
  const frames = String(stack ?? '')
    .slice(0, LONGEST_STACK)
    .split('\n')
    .map(
      (line) =>
        /(node:[\w/.-]{1,100}:\d+)/.exec(line)?.[1] ??
        /^src\/[\w/.-]{1,100}:\d+/.exec(line.slice(Math.max(0, line.lastIndexOf('/src/') + 1)))?.[0],
    )
    .filter((at) => at !== undefined)
    .slice(0, FRAMES);
  return {
    ...(type !== undefined && { type: redactor.foreign(String(type)) }),
    ...(code !== undefined && { code: redactor.foreign(String(code)) }),
    message: redactor.foreign(String(message ?? '')),
    at: frames,
  };
}
