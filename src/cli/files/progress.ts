/** What a person sees of a run: a bar on a terminal, a line for each file elsewhere; all of it on standard error. */
import { receiptInWords } from '../../catalog/fidelity/words.ts';
import { printable } from '../../printable.ts';
import type { ConvertedFile } from './converter.ts';

export interface ShownProblem {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface FileLine {
  readonly progress: (fraction: number) => void;
  readonly wait: (seconds: number, why: string) => void;
  readonly done: (converted: Pick<ConvertedFile, 'output' | 'warnings' | 'fidelity'>) => void;
  readonly skipped: (why: string) => void;
  readonly failed: (problem: ShownProblem) => void;
  /** It was stopped, and is not counted. */
  readonly dropped: () => void;
}

export interface Progress {
  begin(name: string): FileLine;
  /** Removes the bar, and counts. */
  close(): void;
}

const BAR = 24;
/** A terminal that does not tell how many it has, or says 0, such as one of script(1) or a serial line, gets so many. */
const USUAL_COLUMNS = 80;
/** Between two drawings, ms. */
const PAUSE_MS = 80;
/** How often the time that is left is counted down, ms. */
const TICK_MS = 1_000;
/** The time left is estimated once this much time has passed, ms, and this share of the work is done. */
const ESTIMATED_AFTER = { ms: 2_000, share: 0.02 } as const;

export interface ProgressSettings {
  readonly total: number;
  /** Files in folders that were left out by their names. */
  readonly passedOver: number;
  readonly quiet: boolean;
  readonly json: boolean;
}

export function openProgress({ total, passedOver, quiet, json }: ProgressSettings): Progress {
  const { stderr } = process;
  const isLive = stderr.isTTY === true && !quiet;
  const running = new Map<symbol, { readonly name: string; fraction: number; note: string }>();
  const counts = { done: 0, skipped: 0, failed: 0 };
  const began = performance.now();
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
    const finished = counts.done + counts.skipped + counts.failed;
    const share = Math.min(1, (finished + all.reduce((sum, { fraction }) => sum + fraction, 0)) / Math.max(1, total));
    const { name, note } = all[0] ?? { name: '', note: '' };
    const filled = Math.round(share * BAR);
    const bar = `[${'='.repeat(filled)}${' '.repeat(BAR - filled)}] ${Math.floor(share * 100)}% ${finished}/${total}${timeLeft(now - began, share)} ${name}`;
    stderr.write(`\r\x1b[K${cut(note === '' ? bar : `${bar} (${note})`, Math.max(20, (stderr.columns || USUAL_COLUMNS) - 1))}`);
    isDrawn = true;
  };
  const say = (line: string): void => {
    erase();
    stderr.write(`${line}\n`);
    draw();
  };
  const clock = isLive ? setInterval(draw, TICK_MS).unref() : undefined;

  return {
    begin(path) {
      const name = printable(path);
      const key = Symbol(name);
      const state = { name, fraction: 0, note: '' };
      running.set(key, state);
      draw();
      const end = (how: keyof typeof counts) => {
        running.delete(key);
        counts[how]++;
      };
      return {
        progress(fraction) {
          state.fraction = Math.min(1, fraction);
          state.note = '';
          draw();
        },
        wait(seconds, why) {
          state.note = `${printable(why)}: waits ${seconds} s`;
          if (isLive) draw();
          else if (!quiet) say(`${name}: ${state.note}`);
        },
        done({ output, warnings, fidelity }) {
          end('done');
          if (!quiet) {
            if (!json && output !== '-') say(`${name} → ${printable(output)}`);
            for (const { message } of warnings) say(`${name}: warning: ${printable(message)}`);
            const receipt = isLive && fidelity !== undefined ? receiptInWords(fidelity) : undefined;
            if (receipt !== undefined) say(`${name}: ${printable(receipt)}`);
          }
          draw();
        },
        skipped(why) {
          end('skipped');
          if (!quiet && !json) say(`${name}: skipped: ${printable(why)}`);
          draw();
        },
        failed({ code, message }) {
          end('failed');
          say(`filemill: ${name}: ${printable(message)} (${code})`);
        },
        dropped() {
          running.delete(key);
        },
      };
    },
    close() {
      clearInterval(clock);
      erase();
      const left = counts.skipped > 0 ? [`${counts.skipped} skipped`] : [];
      const bad = counts.failed > 0 ? [`${counts.failed} failed`] : [];
      const others = passedOver > 0 ? [`${passedOver} in folders passed over: not a format to convert from, or the target's own`] : [];
      const said = [`${counts.done} done`, ...left, ...bad, ...others];
      if (!quiet && !json && (total > 1 || passedOver > 0)) stderr.write(`filemill: ${said.join(', ')}\n`);
    },
  };
}

/** From the time that the share has taken. */
function timeLeft(ms: number, share: number): string {
  if (ms < ESTIMATED_AFTER.ms || share < ESTIMATED_AFTER.share || share >= 1) return '';
  const seconds = Math.ceil((ms * (1 - share)) / share / 1000);
  if (seconds < 60) return `, ${seconds} s left`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `, ${minutes} min ${seconds % 60} s left` : `, ${Math.floor(minutes / 60)} h ${minutes % 60} min left`;
}

/** Wide characters take two columns (Unicode Standard Annex 11), and marks none. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const widthOf = (character: string): number => (/\p{M}|\u200c|\u200d/u.test(character) ? 0 : WIDE.test(character) ? 2 : 1);

/** As much as fits into so many columns. */
function cut(text: string, columns: number): string {
  let [kept, width] = ['', 0];
  for (const character of text) {
    width += widthOf(character);
    if (width > columns) break;
    kept += character;
  }
  return kept;
}
