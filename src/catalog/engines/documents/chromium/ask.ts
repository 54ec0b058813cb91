/** Requests to Chromium: one line of JSON for the resident program, or for a new process of it. */
import { isReason, type Reason } from '../../../../errors.ts';
import type { Binary, Plan } from '../../../engine.ts';

/** Started by our program, not by us. Listed first, so that its version is the engine's. */
export const SHELL: Binary = {
  at: ['/usr/lib/chromium/chromium-headless-shell'],
  version: { args: ['--version'], pattern: /(\d{1,5}\.\d{1,5}\.\d{1,5})\.\d/ },
};

/** By which Chromium starts its processes, each confined further than itself. */
export const CHILD: Binary = { at: ['native:chromium-child'] };

/** How long a page may load, ms; what has not loaded by then is missing. */
const LOAD_MS = 15_000;
/** For loading, the requested wait, and printing. */
export const PAGE_LIMITS = { memoryBytes: 2 * 1024 * 1024 * 1024, wallMs: 60_000 };

/** Sizes of sheets, inches (ISO 216, ANSI Y14.1; rounded as printers do). */
export const SHEETS = {
  A4: { width: 8.27, height: 11.69 },
  Letter: { width: 8.5, height: 11 },
  Legal: { width: 8.5, height: 14 },
  A3: { width: 11.69, height: 16.54 },
} as const;

interface PageOptions {
  readonly source: 'html' | 'url';
  /** Absolute paths of a file and an empty folder. */
  readonly input: string;
  readonly output: string;
  readonly target: string;
  readonly sheet: keyof typeof SHEETS;
  /** Whether a size that the page itself sets takes precedence. */
  readonly ownSize: boolean;
  readonly landscape: boolean;
  /** ms */
  readonly waitMs: number;
  readonly background: boolean;
}

/** Needs the binary `page`. */
export function askPage({ output, sheet, ...options }: PageOptions): Plan {
  const request = { ...options, output: `${output}/page.${options.target}`, sheet: SHEETS[sheet], loadMs: LOAD_MS };
  return { steps: [{ ask: 'page', request, otherwise: { run: 'page', args: ['--once'], stdin: `${JSON.stringify(request)}\n` } }] };
}

/** The program answers in JSON also with `--once`; without an answer, it crashed with the browser. */
export function explainPage(output: string): Reason {
  const reason = /"reason":"(\w+)"/.exec(output)?.[1];
  return isReason(reason) ? reason : 'engine_crashed';
}
