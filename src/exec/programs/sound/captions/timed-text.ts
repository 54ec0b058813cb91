/** Subtitles in XML (TTML2, also DFXP and EBU-TT-D): times and words, without styles and places. */

import { FileRefused } from '../../data/values/value.ts';
import { elementsIn, type XmlElement } from '../../data/values/xml.ts';
import type { Cue } from './cues.ts';

/** What times in frames and ticks mean (TTML2, 7.2). */
interface Rates {
  readonly frames: number;
  readonly ticks: number;
}

/** From when to when something is shown, seconds. */
interface Interval {
  readonly from: number;
  readonly to: number | undefined;
}

/** @throws FileRefused */
export function timedTextIn(text: string): readonly Cue[] {
  const root = elementsIn(text).find(({ name }) => name === 'tt');
  if (root === undefined) throw new FileRefused('corrupt_input', 'The file has no element tt.');
  const rates = ratesOf(root);
  const cues: Cue[] = [];
  const walk = (element: XmlElement, outer: Interval, cue: Map<string, Cue> | undefined): Interval => {
    const own = intervalOf(element, outer, rates);
    const isCue = element.name === 'p' && cue === undefined;
    const words = isCue ? new Map<string, Cue>() : cue;
    // One after the other, each begins where the one before ends (TTML2, 12.2.4).
    const isSequence = element.attributes['timeContainer'] === 'seq';
    let inner = own;
    for (const child of element.inside) {
      if (typeof child === 'string') say(words, own, child);
      else if (child.name === 'br') say(words, own, '\n');
      else if (CONTENT.has(child.name)) {
        const { to } = walk(child, inner, words);
        if (isSequence && to !== undefined) inner = { ...own, from: to };
      }
    }
    if (isCue) for (const each of words?.values() ?? []) cues.push(each);
    return own;
  };
  walk(root, { from: 0, to: undefined }, undefined);
  return cues;
}

/** Where text is, and not what describes it. */
const CONTENT: ReadonlySet<string> = new Set(['body', 'div', 'p', 'span', 'ruby']);

/** The cues of one paragraph: what is said at the same time is one cue. */
function say(words: Map<string, Cue> | undefined, { from, to }: Interval, text: string): void {
  const key = `${from} ${to}`;
  const plain = text === '\n' ? text : text.replace(/\s+/g, ' ');
  words?.set(key, { from, to, text: (words.get(key)?.text ?? '') + plain });
}

function intervalOf({ attributes }: XmlElement, outer: Interval, rates: Rates): Interval {
  const [begin, end, dur] = ['begin', 'end', 'dur'].map((name) => secondsOf(attributes[name], rates));
  const from = outer.from + (begin ?? 0);
  const ends = [end === undefined ? undefined : outer.from + end, dur === undefined ? undefined : from + dur, outer.to];
  const known = ends.filter((each) => each !== undefined);
  return { from, to: known.length === 0 ? undefined : Math.min(...known) };
}

/** Defaults: 30 frames a second, and a tick for each frame, or a second without frames. */
function ratesOf({ attributes }: XmlElement): Rates {
  const rate = positive(attributes['frameRate']);
  const [over = 1, under = 1] = (attributes['frameRateMultiplier'] ?? '').split(/[\s:]/, 2).map((part) => positive(part) ?? 1);
  const frames = ((rate ?? 30) * over) / under;
  return {
    frames,
    ticks: positive(attributes['tickRate']) ?? (rate === undefined ? 1 : frames * (positive(attributes['subFrameRate']) ?? 1)),
  };
}

function positive(text: string | undefined): number | undefined {
  const number = /^\d{1,12}$/.test(text ?? '') ? Number(text) : 0;
  return number > 0 ? number : undefined;
}

/** TTML2, 12.3.1. */
function secondsOf(text: string | undefined, { frames, ticks }: Rates): number | undefined {
  const [, hours, minutes, seconds, frame] =
    /^\s{0,9}(\d{1,4}):(\d\d):(\d\d(?:[.,]\d{1,9})?)(?::(\d{1,4})(?:\.\d{1,4})?)?\s{0,9}$/.exec(text ?? '') ?? [];
  if (seconds !== undefined)
    return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds.replace(',', '.')) + Number(frame ?? 0) / frames;
  const [, number, unit] = /^\s{0,9}(\d{1,12}(?:\.\d{1,9})?)(h|ms|m|s|f|t)\s{0,9}$/.exec(text ?? '') ?? [];
  if (number === undefined) return undefined;
  const units: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1, ms: 0.001, f: 1 / frames, t: 1 / ticks };
  return Number(number) * (units[unit ?? ''] ?? 0);
}
