/** What a seeded document says: the same words and numbers in every format, so that any conversion can be judged by them. */
import { createHash } from 'node:crypto';

export interface Content {
  /** Six different words: three of the heading, three of the bold passage. */
  readonly words: readonly string[];
  /** Three rows of a label and two numbers of four digits. */
  readonly rows: readonly (readonly [label: string, left: number, right: number])[];
  /** The six numbers, row by row. */
  readonly numbers: readonly number[];
  readonly total: number;
}

/** Letters outside Latin-1, which every text format must carry. */
export const GREEK = 'Ελληνικά';
export const JAPANESE = '日本語';

/** Unlike each other, of plain letters, so that OCR tells them apart. */
export const VOCABULARY: readonly string[] = (
  'kestrel marble seventeen harbour lantern velvet orchard thunder meadow copper willow granite sparrow falcon timber ribbon ' +
  'canyon silver pepper garden window bridge saddle anchor basket candle dragon engine forest guitar hammer island jacket kitten ' +
  'ladder magnet needle oyster pencil rabbit spider turtle violin walnut yellow zephyr blanket chimney dolphin emerald feather ' +
  'gravity horizon journey kingdom leopard monsoon nomadic octopus penguin quarter rainbow sunrise triumph village weather'
).split(' ');

export function contentOf(seed: string): Content {
  const digest = createHash('sha512').update(seed).digest();
  const left = [...VOCABULARY];
  const words = Array.from({ length: 6 }, (_, index) => left.splice(digest.readUInt16LE(index * 2) % left.length, 1)[0] ?? '');
  const numbers = Array.from({ length: 6 }, (_, index) => 1000 + (digest.readUInt32LE(16 + index * 4) % 9000));
  const row = (label: string, index: number) => [label, numbers[index] ?? 0, numbers[index + 1] ?? 0] as const;
  return {
    words,
    numbers,
    rows: [row('North', 0), row('South', 2), row('West', 4)],
    total: numbers.reduce((sum, number) => sum + number, 0),
  };
}

export const headingOf = ({ words }: Content): string => words.slice(0, 3).map(capital).join(' ');
export const passageOf = ({ words }: Content): string => words.slice(3).join(' ');
export const SENTENCE = `The text around it is plain, with ${GREEK} and ${JAPANESE} in it.`;

/** Two words and two numbers for each of three pages; the total stands on the last. */
export const pagesOf = ({ words, numbers, total }: Content): readonly (readonly string[])[] =>
  [0, 2, 4].map((at) => [
    words[at] ?? '',
    words[at + 1] ?? '',
    ...numbers.slice(at, at + 2).map(String),
    ...(at === 4 ? [String(total)] : []),
  ]);

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
