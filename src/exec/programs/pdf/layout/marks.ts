/** Bullets and numbers in front of the items of a list, which may stand far from them. */
import { boxAround } from './boxes.ts';
import { inRows, type Line, usualSize } from './words.ts';

/** An `o` is a bullet of word processors, and an `e` what OCR takes one for. */
const MARK = /^(?:[^\p{L}\p{N}]|[eo]|\(?(?:\d{1,3}|[a-zA-Z])[.)])$/u;
export const isMark = (word: string): boolean => MARK.test(word);
/** How far a mark stands from its item at most, in heights of the letters. */
const FAR = 4;

/** @param lines of one page @returns them with each mark that stood alone in the line that it belongs to */
export function withMarks(lines: readonly Line[]): readonly Line[] {
  const marks = new Map<Line, Line>();
  for (const row of inRows(lines))
    for (const [at, line] of row.entries()) {
      const next = row[at + 1];
      const isAlone = line.words.length === 1 && isMark(line.words[0]?.text ?? '');
      if (next !== undefined && isAlone && next.left - line.right < FAR * usualSize(next)) marks.set(next, line);
    }
  const moved = new Set(marks.values());
  return lines
    .filter((line) => !moved.has(line))
    .map((line) => {
      const mark = marks.get(line);
      const words = mark === undefined ? line.words : [...mark.words, ...line.words];
      return mark === undefined ? line : { ...line, ...boxAround(words), words };
    });
}
