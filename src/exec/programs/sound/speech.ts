/**
 * Writes down what is said in a recording, by the model Whisper.
 *
 *   speech.ts --whisper-base|-small|-large-v3-turbo=FOLDER [--silero-vad=FOLDER] INPUT.raw OUTPUT txt|srt|vtt LANGUAGE|auto BEAM
 *
 * The input is 16-bit little-endian samples of one channel, 16 kHz. With a model that tells speech from pauses, those are cut out, and times are those of
 * the recording all the same. What is left is heard in pieces of at most 30 s, each of which begins where the last sentence of the one before ended. See
 * `inference/serve.ts`.
 */
import { writeFileSync } from 'node:fs';
import { folderOf } from '../inference/arguments.ts';
import { type ModelProgram, serve } from '../inference/serve.ts';
import { speechIn } from './speech/activity.ts';
import { type Said, writers } from './speech/cues.ts';
import { Speech, SpokenRecording } from './speech/recording.ts';
import { beamSearch, begin, type Transcript } from './speech/search.ts';
import { readVocabulary, TICK, type Vocabulary } from './speech/vocabulary.ts';
import { HEARD, HEARD_BEFORE, openWhisper, RATE, SECONDS } from './speech/whisper.ts';

/** Words that are this unlikely, where this much speaks for silence, were not said. */
const [UNLIKELY, SILENT] = [-1, 0.6];
/** Mean logarithm of how likely a piece is, below which a text has to be read with care. */
const DOUBTFUL = -0.8;
/** Samples before the first sound that are heard too. */
const RUN_UP = 0.2 * RATE;

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
    const text = vocabulary.textOf(words).replace(/\s+/g, ' ').trim();
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

/** By the id of the model; the largest writes one language more. */
const WHISPERS = ['whisper-large-v3-turbo', 'whisper-small', 'whisper-base'] as const;
const id = WHISPERS.find((each) => folderOf(each) !== '') ?? 'whisper-base';
/** Share of the progress that finding speech takes. */
const FINDING = 0.05;

const work: ModelProgram['work'] = async ([input = '', output = '', format = '', given = '', beam = ''], progress) => {
  const folder = folderOf(id);
  const vocabulary = readVocabulary(folder, { cantonese: id === 'whisper-large-v3-turbo' });
  const whisper = await openWhisper(folder);
  const recording = new SpokenRecording(input);
  const vad = folderOf('silero-vad');
  const spans =
    vad === '' ? [{ from: 0, to: recording.samples }] : await speechIn(recording, vad, (fraction) => progress(fraction * FINDING));
  const speech = new Speech(recording, spans);
  const said: Said[] = [];
  let language = vocabulary.languages.get(given);
  let [sum, count, share] = [0, 0, 0];
  for (let at = speech.soundFrom(0); at < speech.samples; at = speech.soundFrom(at)) {
    at = Math.max(0, at - RUN_UP);
    const start = await begin(whisper, vocabulary, speech.read(at - HEARD_BEFORE, HEARD));
    if (language === undefined) [language, share] = [...start.languages].sort(([, a], [, b]) => b - a)[0] as [number, number];
    const found = await beamSearch(whisper, vocabulary, start, language, Number(beam));
    const length = Math.min(SECONDS, (speech.samples - at) / RATE);
    const piece = saidIn(found, at / RATE, length, vocabulary);
    const isSpeech = found.likely > UNLIKELY || found.silent < SILENT;
    if (isSpeech) {
      said.push(...piece.said.map(({ from, to, text }) => ({ ...speech.placed(from, to), text })));
      sum += found.likely * found.tokens.length;
      count += found.tokens.length;
    }
    at += Math.max(RATE, Math.round((isSpeech ? piece.seconds : length) * RATE));
    progress(FINDING + (1 - FINDING) * Math.min(1, at / speech.samples));
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

await serve({ name: 'speech', version: '1.1', work });
