/** Pages that are read from right to left, turned so that everything else here may read from left to right. */
import { hasRightToLeft, inReadingOrder, isRightToLeft } from '../../text/right-to-left.ts';
import { boxAround, type Word } from './boxes.ts';

interface PrintedLine {
  readonly page: number;
  readonly isSeen: boolean;
  /** From left to right, each with its letters as they are seen; afterwards as they are read. */
  words: readonly Word[];
}

/** In heights of the letters: how far two parts of one word lie apart at most, and where another piece of a line begins, such as a cell. */
const [GLUED, GAP] = [0.08, 0.7];
/** Poppler has marks behind their letters, and everything else as it is seen. */
const MARKED = /(\P{M})(\p{M}+)/gu;

/** Changes the lines of pages that have any text of that direction. Lines that were recognised in a picture are in order. */
export function putInReadingOrder(lines: readonly PrintedLine[]): void {
  for (const page of Map.groupBy(lines, ({ page: number }) => number).values()) {
    const printed = page.filter(({ isSeen, words }) => !isSeen && words.length > 0);
    const text = printed.map(({ words }) => textOf(words)).join(' ');
    if (!hasRightToLeft(text)) continue;
    const isRight = isRightToLeft(text);
    const { left, right } = boxAround(printed.flatMap(({ words }) => words));
    for (const line of printed) {
      const pieces = piecesOf(glued(line.words)).map((piece) => piecesRead(piece, isRight));
      line.words = isRight ? pieces.reverse().flatMap((piece) => mirrored(piece, left + right)) : pieces.flat();
    }
  }
}

const textOf = (words: readonly Word[]): string => words.map(({ text }) => text).join(' ');

/** Poppler begins a word where the direction changes. */
function glued(words: readonly Word[]): readonly Word[] {
  const whole: Word[] = [];
  for (const word of words) {
    const last = whole.at(-1);
    if (last !== undefined && word.left - last.right < GLUED * word.size)
      whole[whole.length - 1] = { ...last, text: `${last.text}${word.text}`, right: word.right };
    else whole.push(word);
  }
  return whole;
}

function piecesOf(words: readonly Word[]): readonly (readonly Word[])[] {
  const pieces: Word[][] = [];
  for (const word of words) {
    const last = pieces.at(-1)?.at(-1);
    if (last !== undefined && word.left - last.right < GAP * word.size) pieces.at(-1)?.push(word);
    else pieces.push([word]);
  }
  return pieces;
}

/** @returns as many words as they were, in the same places from left to right or, where that is how the page is read, from right to left */
function piecesRead(words: readonly Word[], isRightPage: boolean): readonly Word[] {
  const seen = textOf(words).replace(MARKED, (_, letter: string, marks: string) => [...marks].reverse().join('') + letter);
  const isRight = /\p{L}/u.test(seen) ? isRightToLeft(seen) : isRightPage;
  const read = inReadingOrder(seen, isRight).split(' ');
  const places = isRightPage ? words.toReversed() : words;
  return places.map((place, at) => ({ ...place, text: read[at] ?? '' }));
}

/** @param across twice the middle of the page */
const mirrored = (words: readonly Word[], across: number): readonly Word[] =>
  words.map((word) => ({ ...word, left: across - word.right, right: across - word.left }));
