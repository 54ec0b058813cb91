/** What a person sees of a run: a bar on a terminal, a line for each file elsewhere; all of it on standard error. */
import { printable } from '../../printable.ts';

export interface ShownProblem {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface FileLine {
  readonly progress: (fraction: number) => void;
  readonly wait: (seconds: number, why: string) => void;
  readonly done: (output: string, warnings: readonly { readonly code: string; readonly message: string }[]) => void;
  readonly failed: (problem: ShownProblem) => void;
  /** It was stopped, and is not counted. */
  readonly dropped: () => void;
}

export interface Progress {
  begin(name: string): FileLine;
  /** Removes the bar. */
  close(): void;
}

const BAR = 24;
/** Between two drawings, ms. */
const PAUSE_MS = 80;

export function openProgress({
  total,
  quiet,
  json,
}: {
  readonly total: number;
  readonly quiet: boolean;
  readonly json: boolean;
}): Progress {
  const { stderr } = process;
  const isLive = stderr.isTTY === true && !quiet;
  const running = new Map<symbol, { readonly name: string; fraction: number; note: string }>();
  let finished = 0;
  let drawnAt = 0;
  let isDrawn = false;

  const erase = (): void => {
    if (isDrawn) stderr.write('\r\x1b[K');
    isDrawn = false;
  };
  const draw = (): void => {
    if (!isLive || running.size === 0) return;
    const now = performance.now();
    if (now - drawnAt < PAUSE_MS && isDrawn) return;
    drawnAt = now;
    const all = [...running.values()];
    const share = Math.min(1, (finished + all.reduce((sum, { fraction }) => sum + fraction, 0)) / Math.max(1, total));
    const filled = Math.round(share * BAR);
    const { name, note } = all[0] ?? { name: '', note: '' };
    const text = `[${'='.repeat(filled)}${' '.repeat(BAR - filled)}] ${Math.round(share * 100)}% ${finished}/${total} ${name}${note === '' ? '' : ` (${note})`}`;
    stderr.write(`\r\x1b[K${[...text].slice(0, Math.max(20, (stderr.columns ?? 80) - 1)).join('')}`);
    isDrawn = true;
  };
  const say = (line: string): void => {
    erase();
    stderr.write(`${line}\n`);
    draw();
  };

  return {
    begin(path) {
      const name = printable(path);
      const key = Symbol(name);
      const state = { name, fraction: 0, note: '' };
      running.set(key, state);
      draw();
      const end = () => {
        running.delete(key);
        finished++;
      };
      return {
        progress(fraction) {
          state.fraction = Math.min(1, fraction);
          draw();
        },
        wait(seconds, why) {
          state.note = `${why}: waits ${seconds} s`;
          if (isLive) draw();
          else if (!quiet) say(`${name}: ${why}: waits ${seconds} s`);
        },
        done(output, warnings) {
          end();
          if (!quiet) {
            if (!json && output !== '-') say(`${name} → ${printable(output)}`);
            for (const { message } of warnings) say(`${name}: warning: ${printable(message)}`);
          }
          draw();
        },
        failed({ code, message }) {
          end();
          say(`filemill: ${name}: ${printable(message)} (${code})`);
        },
        dropped() {
          running.delete(key);
        },
      };
    },
    close: erase,
  };
}
