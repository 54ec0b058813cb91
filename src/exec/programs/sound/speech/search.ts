/** Finds the most likely text for 30 s of sound, with times: a beam search that keeps to the rules of Whisper's times. */
import { deflateSync } from 'node:zlib';
import type { Vocabulary } from './vocabulary.ts';
import type { Whisper } from './whisper.ts';

/** Half of what the decoder has places for. */
const LONGEST = 224;
/** The first words begin within a second, in times of 0.02 s. */
const LATEST_START = 50;
/** Text that is packed this much better than speech repeats itself. */
const REPEATS = 2.4;
/** Pieces in a row that are not written twice, where a text has repeated itself. */
const NOT_TWICE = 3;

export interface Transcript {
  /** Pieces of text, and times. */
  readonly tokens: readonly number[];
  /** Mean logarithm of how likely each piece was. */
  readonly likely: number;
  /** Probability of silence, 0 to 1. */
  readonly silent: number;
}

/** What is known before the text is written. */
export interface Start {
  /** What the encoder made of the sound. */
  readonly heard: Awaited<ReturnType<Whisper['encode']>>;
  readonly past: Parameters<Whisper['branch']>[0];
  /** How likely each language is, 0 to 1, by its token. */
  readonly languages: ReadonlyMap<number, number>;
  readonly silent: number;
}

/** A text that is being written. */
interface Text {
  readonly tokens: readonly number[];
  /** Sum of logarithms. */
  readonly likely: number;
}

/** @param samples as `Whisper.encode` takes them */
export async function begin(whisper: Whisper, vocabulary: Vocabulary, samples: Float32Array): Promise<Start> {
  const heard = await whisper.encode(samples);
  const { past, logits } = await whisper.decode(heard, [[vocabulary.start]]);
  const shares = logShares(logits[0] as Float32Array);
  const languages = [...vocabulary.languages.values()].map((token) => [token, Math.exp(shares[token] as number)] as const);
  const sum = languages.reduce((all, [, share]) => all + share, 0);
  return {
    heard,
    past,
    languages: new Map(languages.map(([token, share]) => [token, share / sum])),
    silent: Math.exp(shares[vocabulary.noSpeech] as number),
  };
}

/** @param beam texts that are tried side by side; a text that repeats itself is written once more, without that */
export async function beamSearch(
  whisper: Whisper,
  vocabulary: Vocabulary,
  start: Start,
  language: number,
  beam: number,
): Promise<Transcript> {
  const found = await written(whisper, vocabulary, start, language, beam, false);
  const text = Buffer.from(vocabulary.textOf(found.tokens.filter((token) => token < vocabulary.end)));
  const repeats = text.length > 0 && text.length / deflateSync(text).length > REPEATS;
  return repeats ? written(whisper, vocabulary, start, language, beam, true) : found;
}

async function written(
  whisper: Whisper,
  vocabulary: Vocabulary,
  { heard, past: begun, silent }: Start,
  language: number,
  beam: number,
  once: boolean,
): Promise<Transcript> {
  let { past, logits } = await whisper.decode(heard, [[language, vocabulary.transcribe]], begun);
  let texts: readonly Text[] = [{ tokens: [], likely: 0 }];
  const done: Text[] = [];
  for (let length = 0; length < LONGEST; length++) {
    const next = texts.flatMap((text, row) => {
      const shares = logShares(logits[row] as Float32Array);
      keepRules(shares, text.tokens, vocabulary);
      if (once) forbidRepeats(shares, text.tokens);
      return largest(shares, beam + 1).map((token) => ({ row, token, likely: text.likely + (shares[token] as number), text }));
    });
    next.sort((a, b) => b.likely - a.likely);
    const kept: typeof next = [];
    for (const each of next) {
      if (kept.length === beam || each.likely === -Infinity) break;
      if (each.token === vocabulary.end) done.push({ tokens: each.text.tokens, likely: each.likely });
      else kept.push(each);
    }
    if (kept.length === 0 || done.length >= beam) break;
    texts = kept.map(({ text, token, likely }) => ({ tokens: [...text.tokens, token], likely }));
    past = whisper.branch(
      past,
      kept.map(({ row }) => row),
    );
    ({ past, logits } = await whisper.decode(
      heard,
      kept.map(({ token }) => [token]),
      past,
    ));
  }
  const meanOf = ({ tokens, likely }: Text) => likely / (tokens.length + 1);
  const [best = { tokens: [], likely: 0 }] = (done.length > 0 ? done : [...texts]).sort((a, b) => meanOf(b) - meanOf(a));
  return { tokens: best.tokens, likely: meanOf(best), silent };
}

/** Logarithms of shares that add up to 1. */
function logShares(logits: Float32Array): Float32Array {
  const log = logSum(logits, 0, logits.length);
  return logits.map((each) => each - log);
}

function logSum(values: Float32Array, from: number, to: number): number {
  let most = -Infinity;
  for (let i = from; i < to; i++) most = Math.max(most, values[i] as number);
  if (most === -Infinity) return most;
  let sum = 0;
  for (let i = from; i < to; i++) sum += Math.exp((values[i] as number) - most);
  return most + Math.log(sum);
}

/**
 * A text is pieces between two times: `<0.00> words <2.00> <2.00> words <4.40>`. Times never go back.
 * @param shares of the next piece: what may not follow becomes impossible
 */
function keepRules(shares: Float32Array, tokens: readonly number[], { suppressed, notFirst, firstTime, end }: Vocabulary): void {
  for (const token of suppressed) shares[token] = -Infinity;
  const isTime = (token: number | undefined) => token !== undefined && token >= firstTime;
  if (tokens.length === 0) {
    for (const token of notFirst) shares[token] = -Infinity;
    shares.fill(-Infinity, 0, firstTime);
    shares.fill(-Infinity, firstTime + LATEST_START + 1);
    return;
  }
  const [last, before] = [tokens.at(-1), tokens.at(-2)];
  const isOpen = isTime(last) && (tokens.length < 2 || isTime(before));
  if (isOpen) shares.fill(-Infinity, firstTime);
  else if (isTime(last)) shares.fill(-Infinity, 0, end);
  const latest = tokens.findLast(isTime);
  // The end of one phrase is repeated as the start of the next.
  if (latest !== undefined) shares.fill(-Infinity, firstTime, isTime(last) && !isOpen ? latest : latest + 1);
  let word = -Infinity;
  for (let token = 0; token < firstTime; token++) word = Math.max(word, shares[token] as number);
  if (logSum(shares, firstTime, shares.length) > word) shares.fill(-Infinity, 0, firstTime);
}

function forbidRepeats(shares: Float32Array, tokens: readonly number[]): void {
  const last = tokens.slice(1 - NOT_TWICE).join();
  for (let i = 0; i + NOT_TWICE <= tokens.length; i++)
    if (tokens.slice(i, i + NOT_TWICE - 1).join() === last) shares[tokens[i + NOT_TWICE - 1] as number] = -Infinity;
}

/** Places of the largest values, the largest first. */
function largest(values: Float32Array, count: number): number[] {
  const places: number[] = [];
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (places.length === count && value <= (values[places[count - 1] as number] as number)) continue;
    let at = places.length;
    while (at > 0 && value > (values[places[at - 1] as number] as number)) at--;
    places.splice(at, 0, i);
    if (places.length > count) places.pop();
  }
  return places;
}
