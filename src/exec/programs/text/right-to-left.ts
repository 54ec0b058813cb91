/** Text of a page, which stands there as it is seen from left to right, in the order in which it is read (UAX #9 back to front). */

const LETTER = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const ANY = /\p{L}/u;
/** Glyphs of Arabic letters by their place in a word, which NFKC makes letters of. */
const SHAPES = /[\ufb50-\ufdff\ufe70-\ufefc]/g;
/** Words and numbers of the other direction, with what stands between them. */
const OTHERS = /[\p{L}\p{Nd}]/u;
const AROUND_NUMBERS = /[%$€£¥₪°#]/;
const PAIRS: Readonly<Record<string, string>> = { '(': ')', ')': '(', '[': ']', ']': '[', '{': '}', '}': '{', '«': '»', '»': '«' };
const OPENING = new Set('([{«');

export const hasRightToLeft = (text: string): boolean => LETTER.test(text);

/** Whether it is read from right to left: most of its letters are. */
export function isRightToLeft(text: string): boolean {
  let [right, left] = [0, 0];
  for (const letter of text)
    if (LETTER.test(letter)) right++;
    else if (ANY.test(letter)) left++;
  return right > left;
}

/** @param seen one line, from left to right @param isRight whether the line is read from right to left */
export function inReadingOrder(seen: string, isRight = isRightToLeft(seen)): string {
  if (!hasRightToLeft(seen)) return seen;
  const read = isRight ? reversedButOthers([...seen]) : reversedWithin([...seen]);
  return withBrackets(read).replace(SHAPES, (shape) => shape.normalize('NFKC'));
}

/** One by one: a call with a hundred thousand arguments has no room on the stack. */
function append(letters: string[], more: readonly string[], from = 0, to = more.length): void {
  for (let at = from; at < to; at++) letters.push(more[at] ?? '');
}

/** The whole line, but for words and numbers that are read from left to right. */
function reversedButOthers(seen: readonly string[]): string {
  const read: string[] = [];
  let run: string[] = [];
  /** What follows a run, and belongs to it if more of the run comes. */
  let between: string[] = [];
  const closeRun = () => {
    // A sign belongs to its number, on either side.
    const sign = AROUND_NUMBERS.test(between[0] ?? '') && /\p{Nd}/u.test(run.at(-1) ?? '') ? 1 : 0;
    append(run, between, 0, sign);
    append(read, run.reverse());
    append(read, between, sign);
    [run, between] = [[], []];
  };
  for (const [at, letter] of seen.entries()) {
    const isOther = !LETTER.test(letter) && OTHERS.test(letter);
    const isSign = AROUND_NUMBERS.test(letter) && /\p{Nd}/u.test(seen[at + 1] ?? '');
    if (isOther || isSign) {
      append(run, between);
      run.push(letter);
      between = [];
    } else if (run.length > 0 && !LETTER.test(letter)) between.push(letter);
    else {
      closeRun();
      read.push(letter);
    }
  }
  closeRun();
  return read.reverse().join('');
}

/** The words that are read from right to left, with what stands between them. */
function reversedWithin(seen: readonly string[]): string {
  const read: string[] = [];
  let run: string[] = [];
  let between: string[] = [];
  const closeRun = () => {
    append(read, run.reverse());
    append(read, between);
    [run, between] = [[], []];
  };
  for (const letter of seen) {
    if (LETTER.test(letter)) {
      append(run, between);
      run.push(letter);
      between = [];
    } else if (/[\p{L}\p{Nd}]/u.test(letter)) {
      closeRun();
      read.push(letter);
    } else if (run.length > 0) between.push(letter);
    else if (/\p{M}/u.test(letter)) run.push(letter);
    else read.push(letter);
  }
  closeRun();
  return read.join('');
}

/** Some files have a bracket as it is seen, and some as it is read: the right one opens before it closes. */
function withBrackets(text: string): string {
  let open = 0;
  for (const letter of text) {
    if (!(letter in PAIRS)) continue;
    open += OPENING.has(letter) ? 1 : -1;
    if (open < 0) return [...text].map((each) => PAIRS[each] ?? each).join('');
  }
  return text;
}
