/** This browser's jobs until they expire: their ids, and what is shown of them. Files, options and passwords are not kept. */
import { signal } from '@preact/signals';

export interface Known {
  readonly id: string;
  readonly name: string;
  /** The target format or the tool. */
  readonly what: string;
  readonly bytes?: number | undefined;
  readonly result?: { readonly name: string; readonly bytes: number; readonly type?: string; readonly files?: number } | undefined;
  readonly failed?: boolean | undefined;
  readonly expires: number;
  /** When it was started, with others, ms since the epoch; and its place among them. */
  readonly run?: number;
  readonly place?: number;
}

const KEY = 'filemill.jobs';
/** More than one folder has. */
const MOST = 1000;
const isKnown = (value: unknown): value is Known =>
  typeof value === 'object' && value !== null && /^[0-9a-f]{32}$/.test((value as Known).id) && typeof (value as Known).expires === 'number';

export const known = signal<readonly Known[]>([]);

/** Another tab may have written since. Where the browser forbids it, the list lasts as long as the page. */
function read(): readonly Known[] {
  let stored: unknown = known.value;
  try {
    const text = localStorage.getItem(KEY);
    if (text !== null) stored = JSON.parse(text);
  } catch {
    // What this page knows.
  }
  return Array.isArray(stored) ? stored.filter(isKnown).filter(({ expires }) => expires > Date.now()) : [];
}

function write(jobs: readonly Known[]): void {
  known.value = jobs.slice(0, MOST);
  try {
    localStorage.setItem(KEY, JSON.stringify(known.value));
  } catch {
    // Full, or forbidden.
  }
}
/** The newest first, those of one run in their order. */
const inOrder = (one: Known, other: Known): number => (other.run ?? 0) - (one.run ?? 0) || (one.place ?? 0) - (other.place ?? 0);
export function remember(job: Known): void {
  const others = read();
  const old = others.find(({ id }) => id === job.id);
  write(old === undefined ? [job, ...others].sort(inOrder) : others.map((each) => (each.id === job.id ? { ...old, ...job } : each)));
}
export function forget(ids: readonly string[]): void {
  const gone = new Set(ids);
  write(read().filter(({ id }) => !gone.has(id)));
}

/** @param changed called when a job was added or removed by another tab, or has expired */
export function watchHistory(changed: () => void): void {
  const reread = () => {
    known.value = read();
    changed();
  };
  reread();
  addEventListener('storage', ({ key }) => {
    if (key === KEY || key === null) reread();
  });
  setInterval(() => {
    if (known.value.some(({ expires }) => expires <= Date.now())) reread();
  }, 10_000);
}
