/** The pieces of text that Whisper writes, and those that mean something else: a language, a time, the end. */
import { readFileSync } from 'node:fs';

const CANTONESE = '<|yue|>';
/** Seconds from one time to the next. */
export const TICK = 0.02;

export interface Vocabulary {
  /** How many pieces there are. */
  readonly size: number;
  readonly end: number;
  readonly start: number;
  readonly transcribe: number;
  readonly noSpeech: number;
  /** The first of the times, 0 s; all that follow it are later. */
  readonly firstTime: number;
  /** By ISO 639-1 code, and a few longer ones. */
  readonly languages: ReadonlyMap<string, number>;
  /** Never written: what is no speech, such as brackets around noises, and marks of other tasks. */
  readonly suppressed: readonly number[];
  /** Never the first piece. */
  readonly notFirst: readonly number[];
  /** @param tokens pieces of text only */
  textOf(tokens: readonly number[]): string;
}

interface Config {
  readonly suppress_ids: readonly number[];
  readonly suppress_ids_begin: readonly number[];
}

/** @param folder of the model @param cantonese whether the model has that language too, behind all others (large v3): the list of the others has 99 */
export function readVocabulary(folder: string, { cantonese = false } = {}): Vocabulary {
  const listed = JSON.parse(readFileSync(`${folder}/vocabulary.json`, 'utf8')) as string[];
  const pieces = cantonese && !listed.includes(CANTONESE) ? listed.toSpliced(listed.indexOf('<|translate|>'), 0, CANTONESE) : listed;
  const config = JSON.parse(readFileSync(`${folder}/config.json`, 'utf8')) as Config;
  const idOf = (piece: string): number => {
    const id = pieces.indexOf(piece);
    if (id < 0) throw new RangeError(`expected a vocabulary with ${piece}`);
    return id;
  };
  const [start, translate] = [idOf('<|startoftranscript|>'), idOf('<|translate|>')];
  const bytes = bytesByLetter();
  return {
    size: pieces.length,
    end: idOf('<|endoftext|>'),
    start,
    transcribe: idOf('<|transcribe|>'),
    noSpeech: idOf('<|nospeech|>'),
    firstTime: idOf('<|0.00|>'),
    languages: new Map(pieces.slice(start + 1, translate).map((piece, i) => [piece.slice(2, -2), start + 1 + i])),
    suppressed: [...config.suppress_ids, ...pieces.slice(start, idOf('<|0.00|>')).map((_, i) => start + i)],
    notFirst: config.suppress_ids_begin,
    textOf: (tokens) => {
      const letters = tokens.map((token) => pieces[token] ?? '').join('');
      return Buffer.from(Array.from(letters, (letter) => bytes.get(letter) ?? 0x3f)).toString('utf8');
    },
  };
}

/** GPT-2's vocabulary stands for bytes: those that can be seen as themselves, the others by letters from U+0100 on. */
function bytesByLetter(): ReadonlyMap<string, number> {
  const isSeen = (byte: number) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  const bytes = Array.from({ length: 256 }, (_, byte) => byte);
  return new Map([
    ...bytes.filter(isSeen).map((byte) => [String.fromCharCode(byte), byte] as const),
    ...bytes.filter((byte) => !isSeen(byte)).map((byte, i) => [String.fromCharCode(0x100 + i), byte] as const),
  ]);
}
