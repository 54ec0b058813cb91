/** What the machine gives: memory, open files, and the time. */
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { humanSize } from '../../api/jobs/view.ts';
import { askSystem } from '../../exec/system.ts';
import { broken, type Finding, fine, unseen, weak } from './finding.ts';

export interface MachineFacts {
  readonly cores: number;
  readonly memoryBytes: number;
  /** Limit of this container or unit; undefined where there is none. */
  readonly memoryLimitBytes: number | undefined;
  /** Files that a process may have open at most; undefined where the kernel does not say. */
  readonly openFiles: number | undefined;
}

export function readMachine(): MachineFacts {
  const limit = Number(textOf('/sys/fs/cgroup/memory.max'));
  const files = /^Max open files\s+\d+\s+(\d+|unlimited)/m.exec(textOf('/proc/self/limits') ?? '')?.[1];
  return {
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    memoryLimitBytes: Number.isFinite(limit) && limit > 0 ? limit : undefined,
    openFiles: files === undefined ? undefined : files === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(files),
  };
}

/** An office document and the service beside it. */
const LEAST_MEMORY = 2 * 1024 ** 3;
/** Some forty for each conversion and connection. */
const LEAST_FILES = 4_096;

export function judgeMachine({ cores, memoryBytes, memoryLimitBytes, openFiles }: MachineFacts): readonly Finding[] {
  const bytes = Math.min(memoryBytes, memoryLimitBytes ?? Number.POSITIVE_INFINITY);
  const facts = { cores, memory_bytes: memoryBytes, memory_limit_bytes: memoryLimitBytes ?? null };
  const memory =
    bytes < LEAST_MEMORY
      ? weak(
          'memory',
          `there are ${humanSize(bytes)} of memory: large files fail with the reason memory`,
          `give it ${humanSize(LEAST_MEMORY)} or more, or set worker.slots to fewer conversions at a time`,
          facts,
        )
      : fine('memory', `${humanSize(bytes)} of memory and ${cores} cores`, facts);
  const about = { open_files: openFiles ?? null };
  const files =
    openFiles !== undefined && openFiles < LEAST_FILES
      ? weak(
          'open-files',
          `a process may have ${openFiles} files open: with many clients, connections are refused`,
          'raise it: LimitNOFILE=65536 in the systemd unit, ulimit -n in a shell, --ulimit nofile of a container',
          about,
        )
      : fine('open-files', 'a process may have files enough open', about);
  return [memory, files];
}

export interface ClockFacts {
  /** Undefined where nothing says whether the clock is kept right. */
  readonly isSynchronised: boolean | undefined;
  /** How far this clock is ahead of a server's, ms, a second more or less; undefined where none answered. */
  readonly aheadMs: number | undefined;
}

const ASK_MS = 5_000;

/** @param aheadMs as an HTTP answer's `Date` shows it */
export async function readClock(aheadMs: number | undefined): Promise<ClockFacts> {
  const asked = await askSystem('timedatectl', ['show', '--property=NTPSynchronized', '--value'], ASK_MS).catch(() => undefined);
  const said = asked?.stdout.trim();
  // systemd-timesyncd's mark, which a container may see without the bus.
  const marked = existsSync('/run/systemd/timesync/synchronized') ? true : undefined;
  return { isSynchronised: said === 'yes' ? true : said === 'no' ? (marked ?? false) : marked, aheadMs };
}

/** Presigned URLs of S3 allow fifteen minutes; certificates and tokens less. */
const FAR_MS = 60_000;

export function judgeClock({ isSynchronised, aheadMs }: ClockFacts): Finding {
  const facts = { synchronised: isSynchronised ?? null, ahead_ms: aheadMs ?? null };
  const todo = 'keep it right: timedatectl set-ntp true, or install chrony; in a container or a virtual machine, on the host';
  if (aheadMs !== undefined && Math.abs(aheadMs) > FAR_MS)
    return broken(
      'clock',
      `the clock is ${Math.round(Math.abs(aheadMs) / 1000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the proxy’s: expiry times, certificates and presigned URLs are wrong`,
      todo,
      facts,
    );
  if (isSynchronised === true) return fine('clock', 'the clock is synchronised', facts);
  if (isSynchronised === false) return weak('clock', 'the clock is not synchronised', todo, facts);
  return unseen('clock', 'whether the clock is synchronised cannot be seen from here', todo, facts);
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}
