/** The processes that pages run in. `native/chromium-child` starts each, confined further, and makes it a folder here that bears its number. */
import { readdir, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PageRefusal } from './request.ts';

/** How long one may take to start on a busy machine. */
const START_MS = 10_000;
/** Chromium ends a renderer within milliseconds, and kills one that does not end within 2 s. */
const END_MS = 5_000;
const PAUSE_MS = 5;

/** Names of their folders. */
export type Renderers = ReadonlySet<string>;

/** @param home the folder that Chromium runs in */
export async function renderersIn(home: string): Promise<Renderers> {
  return new Set((await readdir(home)).filter((name) => name.startsWith('renderer-')));
}

/**
 * Waits until a renderer has been started that is not among `earlier`. Without one, Chromium starts them by another way than it was told, and they
 * are not confined. @throws PageRefusal `engine_crashed`
 */
export async function rendererStarted(home: string, earlier: Renderers): Promise<void> {
  for (const end = performance.now() + START_MS; ; await sleep(PAUSE_MS)) {
    if ([...(await renderersIn(home))].some((name) => !earlier.has(name))) return;
    if (performance.now() >= end) throw new PageRefusal('engine_crashed', 'Chromium has started no renderer by way of chromium-child');
  }
}

/**
 * Waits until the renderers that are not among `earlier` have ended, and removes what the processes that have ended leave.
 * @returns false if one does not end: as confined as it is, it must not meet the next page
 */
export async function renderersEnded(home: string, earlier: Renderers): Promise<boolean> {
  for (const end = performance.now() + END_MS; ; await sleep(PAUSE_MS)) {
    let isOver = true;
    for (const name of await readdir(home)) {
      const pid = /^(?:renderer|service)-(\d+)-\w{6}$/.exec(name)?.[1];
      if (pid === undefined) continue;
      if (await hasEnded(pid)) await rm(join(home, name), { recursive: true, force: true });
      else if (name.startsWith('renderer-') && !earlier.has(name)) isOver = false;
    }
    if (isOver || performance.now() >= end) return isOver;
  }
}

/** Also one that Chromium has not reaped has no program any more. What cannot be told has not ended. */
const hasEnded = (pid: string): Promise<boolean> =>
  readlink(`/proc/${pid}/exe`).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === 'ENOENT' || error.code === 'ESRCH',
  );
