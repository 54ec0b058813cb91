/** This browser's jobs until they expire: all that the page stores. */
import { signal } from '@preact/signals';

export interface Known {
  readonly id: string;
  readonly name: string;
  /** The target format or the tool. */
  readonly what: string;
  readonly bytes?: number | undefined;
  readonly result?: { readonly name: string; readonly bytes: number } | undefined;
  readonly failed?: boolean | undefined;
  readonly expires: number;
}

const KEY = 'filemill.jobs';
const MOST = 200;
const isKnown = (value: unknown): value is Known =>
  typeof value === 'object' && value !== null && /^[0-9a-f]{32}$/.test((value as Known).id) && typeof (value as Known).expires === 'number';

/** Another tab may have written since; a browser may forbid it. */
function read(): readonly Known[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(stored) ? stored.filter(isKnown).filter(({ expires }) => expires > Date.now()) : [];
  } catch {
    return [];
  }
}
export const known = signal<readonly Known[]>([]);

function write(jobs: readonly Known[]): void {
  known.value = jobs.slice(0, MOST);
  try {
    localStorage.setItem(KEY, JSON.stringify(known.value));
  } catch {
    // The list lasts as long as the page then.
  }
}
export function remember(job: Known): void {
  const others = read();
  const old = others.find(({ id }) => id === job.id);
  write(old === undefined ? [job, ...others] : others.map((each) => (each.id === job.id ? { ...old, ...job } : each)));
}
export const forget = (id: string): void => write(read().filter((each) => each.id !== id));
export function watchHistory(): void {
  known.value = read();
  addEventListener('storage', ({ key }) => {
    if (key === KEY) known.value = read();
  });
  setInterval(() => {
    if (known.value.some(({ expires }) => expires <= Date.now())) known.value = read();
  }, 10_000);
}
