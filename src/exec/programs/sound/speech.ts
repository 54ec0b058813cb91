/**
 * Writes down what is said in a recording, by the model Whisper.
 *
 *   speech.ts --whisper-base=FOLDER INPUT.raw OUTPUT txt|srt|vtt LANGUAGE|auto BEAM
 *
 * The input is 16-bit little-endian samples of one channel, 16 kHz. It is heard in pieces of at most 30 s, each of which begins where the last sentence of
 * the one before ended. See `inference/serve.ts`.
 */
import { closeSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs';
import { folderOf } from '../inference/arguments.ts';
import { type ModelProgram, serve } from '../inference/serve.ts';
import { type Said, writers } from './speech/cues.ts';
import { begin, search, type Transcript } from './speech/search.ts';
import { readVocabulary, TICK, type Vocabulary } from './speech/vocabulary.ts';
import { HEARD, HEARD_BEFORE, openWhisper, RATE, SECONDS } from './speech/whisper.ts';

/** Nothing is louder in silence, of full scale. */
const SILENCE = 0.001;
/** Words that are this unlikely, where this much speaks for silence, were not said. */
const [UNLIKELY, SILENT] = [-1, 0.6];
/** Mean logarithm of how likely a piece is, below which a text has to be read with care. */
const DOUBTFUL = -0.8;
/** Samples before the first sound that are heard too. */
const RUN_UP = 0.2 * RATE;

class Recording {
  readonly samples: number;
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'r');
    this.samples = Math.floor(fstatSync(this.#file).size / 2);
  }

  /** Samples from -1 to 1; silence before the beginning and behind the end. */
  read(from: number, count: number): Float32Array {
    const first = Math.max(0, from);
    const bytes = Buffer.alloc(Math.max(0, Math.min(this.samples, from + count) - first) * 2);
    readSync(this.#file, bytes, 0, bytes.length, first * 2);
    const read = new Float32Array(count);
    for (let i = 0; i * 2 < bytes.length; i++) read[first - from + i] = bytes.readInt16LE(i * 2) / 32_768;
    return read;
  }

  /** @returns the first sample from there on that is not silent; the number of samples where none is */
  soundFrom(from: number): number {
    for (let at = from; at < this.samples; at += RATE) {
      const i = this.read(at, Math.min(RATE, this.samples - at)).findIndex((sample) => Math.abs(sample) > SILENCE);
      if (i >= 0) return at + i;
    }
    return this.samples;
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** @returns what was said, and how many seconds of it are done: the next piece begins there */
function saidIn(
  { tokens }: Transcript,
  offset: number,
  length: number,
  vocabulary: Vocabulary,
): { readonly said: Said[]; readonly seconds: number } {
  const said: Said[] = [];
  let [from, words]: [number | undefined, number[]] = [undefined, []];
  const isTime = (token: number | undefined) => token !== undefined && token >= vocabulary.firstTime;
  const secondsOf = (token: number) => (token - vocabulary.firstTime) * TICK;
  let done = 0;
  const keep = (to: number) => {
    const text = vocabulary.textOf(words).trim();
    // The model writes dots for music and noise.
    if (/[\p{L}\p{N}]/u.test(text)) said.push({ from: offset + (from ?? 0), to: offset + Math.min(Math.max(to, from ?? 0), length), text });
  };
  for (const token of tokens) {
    if (!isTime(token)) words.push(token);
    else if (words.length === 0) from = secondsOf(token);
    else {
      done = secondsOf(token);
      keep(done);
      [from, words] = [undefined, []];
    }
  }
  const isCut = isTime(tokens.at(-1)) && isTime(tokens.at(-2));
  // A sentence that goes on behind the 30 s is heard again from its beginning, unless it is all there is.
  if (words.length > 0 && done === 0) keep(length);
  return { said, seconds: (words.length > 0 || isCut) && done > 0 ? done : length };
}

const work: ModelProgram['work'] = async ([input = '', output = '', format = '', given = '', beam = ''], progress) => {
  const folder = folderOf('whisper-base');
  const vocabulary = readVocabulary(folder);
  const whisper = await openWhisper(folder);
  const recording = new Recording(input);
  const said: Said[] = [];
  let language = vocabulary.languages.get(given);
  let [sum, count, share] = [0, 0, 0];
  for (let at = recording.soundFrom(0); at < recording.samples; at = recording.soundFrom(at)) {
    at = Math.max(0, at - RUN_UP);
    const start = await begin(whisper, vocabulary, recording.read(at - HEARD_BEFORE, HEARD));
    if (language === undefined) [language, share] = [...start.languages].sort(([, a], [, b]) => b - a)[0] as [number, number];
    const found = await search(whisper, vocabulary, start, language, Number(beam));
    const length = Math.min(SECONDS, (recording.samples - at) / RATE);
    const piece = saidIn(found, at / RATE, length, vocabulary);
    const isSpeech = found.likely > UNLIKELY || found.silent < SILENT;
    if (isSpeech) {
      said.push(...piece.said);
      sum += found.likely * found.tokens.length;
      count += found.tokens.length;
    }
    at += Math.max(RATE, Math.round((isSpeech ? piece.seconds : length) * RATE));
    progress(Math.min(1, at / recording.samples));
  }
  recording.close();
  writeFileSync(output, (writers[format] ?? writers.txt)(said));
  const code = [...vocabulary.languages].find(([, token]) => token === language)?.[0] ?? '';
  return [
    ...(said.length === 0 ? [{ code: 'no_speech', message: 'No speech was found in the recording.' }] : []),
    ...(given === 'auto' && said.length > 0
      ? [{ code: 'language_detected', message: `The language was detected: ${nameOf(code)} (${code}), ${Math.round(share * 100)} % sure.` }]
      : []),
    ...(count > 0 && sum / count < DOUBTFUL
      ? [{ code: 'low_confidence', message: 'The speech was hard to understand: read the text with care.' }]
      : []),
  ];
};

const nameOf = (code: string): string => new Intl.DisplayNames('en', { type: 'language' }).of(code) ?? code;

await serve({ name: 'speech', version: '1.0', work });
