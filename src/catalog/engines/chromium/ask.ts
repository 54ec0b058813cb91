/** How Chromium is asked: one line of JSON to the program that keeps it warm, and the same line to one of its own. */
import { isReason, type Reason } from '../../../errors.ts';
import type { Binary, Plan } from '../../engine.ts';

/** Not started by us but by the program; the first, so that its version is the engine's. */
export const SHELL: Binary = {
  at: ['/usr/lib/chromium/chromium-headless-shell'],
  version: { args: ['--version'], pattern: /(\d{1,5}\.\d{1,5}\.\d{1,5})\.\d/ },
};

/** A page may take this long to load, ms; what it has not loaded by then is missing. */
const LOAD_MS = 15_000;
/** Loading, waiting as asked, and printing. */
export const LIMITS = { memoryBytes: 2 * 1024 * 1024 * 1024, wallMs: 60_000 };

/** Sides of a sheet, in (ISO 216, ANSI Y14.1; rounded as printers do). */
export const SHEETS = {
  A4: { width: 8.27, height: 11.69 },
  Letter: { width: 8.5, height: 11 },
  Legal: { width: 8.5, height: 14 },
  A3: { width: 11.69, height: 16.54 },
} as const;

interface Asked {
  readonly source: 'html' | 'url';
  /** Absolute paths of a file and an empty folder. */
  readonly input: string;
  readonly output: string;
  readonly target: string;
  readonly sheet: keyof typeof SHEETS;
  /** Whether a sheet that the page itself asks for goes before. */
  readonly ownSize: boolean;
  readonly landscape: boolean;
  /** ms */
  readonly waitMs: number;
  readonly background: boolean;
}

/** Needs the binary `page`. */
export function askPage({ output, sheet, ...asked }: Asked): Plan {
  const request = { ...asked, output: `${output}/page.${asked.target}`, sheet: SHEETS[sheet], loadMs: LOAD_MS };
  return { steps: [{ ask: 'page', request, otherwise: { run: 'page', args: ['--once'], stdin: `${JSON.stringify(request)}\n` } }] };
}

/** The program answers in JSON also when it runs once; without an answer, it went with the browser. */
export function explainPage(words: string): Reason {
  const reason = /"reason":"(\w+)"/.exec(words)?.[1];
  return isReason(reason) ? reason : 'engine_crashed';
}
