/** How many words the pages of a PDF have: to put those of one page into the order in which they are read, Poppler takes the square of their number. */
import { inputLimit } from '../../../errors.ts';
import { MAX_ORDERED_WORDS } from '../../bounds.ts';
import type { Binary, NextPlan, Plan, ProcessStep } from '../../engine.ts';

/** Words of one page as HTML: pdftohtml 22.12 takes 5 s to place so many where each is a line by itself. */
const MAX_PLACED_WORDS = 40_000;

export const AWK: Binary = { at: ['/usr/bin/mawk'] };

/** Prints the number of each page without words, and at the end how many pages there are and how many words the fullest has. Spaces of other kinds: U+00A0, U+3000, U+FEFF. */
const COUNT = `BEGIN { RS = "\\f" } { gsub(/\\302\\240|\\343\\200\\200|\\357\\273\\277/, "") } { words = gsub(/[^ \\t\\r\\n\\v]+/, "") } words == 0 { print NR } words > most { most = words } END { print "of " NR ", " most + 0 " words" }`;

interface PageWords {
  /** All pages are there, and each has words. */
  readonly isComplete: boolean;
  /** Poppler may put them into order. */
  readonly isOrdered: boolean;
  readonly most: number;
}

/** The text of a PDF as it stands in the file, which takes no longer for one page than for many. Needs the binary `pdftotext`. */
export const writtenText = (path: string, to: string): ProcessStep => ({
  run: 'pdftotext',
  args: ['-raw', '-enc', 'UTF-8', '-eol', 'unix', path, to],
});

/** Needs the binary `awk`. @param layer of `writtenText` @param plan what follows for such a text */
export const countWords = (layer: string, pages: number, plan: (words: PageWords) => Plan): NextPlan => ({
  look: { run: 'awk', args: [COUNT, layer] },
  plan: (said) => {
    const [, blank = '', found, words] = /^((?:\d+\n)*)of (\d+), (\d+) words\s*$/.exec(said) ?? [];
    const most = Number(words ?? 0);
    return plan({ isComplete: blank === '' && Number(found) === pages, isOrdered: most <= MAX_ORDERED_WORDS, most });
  },
});

/** @throws Failure `input_limit` */
export function requireOrder({ isOrdered, most }: PageWords): void {
  if (!isOrdered) throw inputLimit('words of a page', MAX_ORDERED_WORDS, most);
}

/** @throws Failure `input_limit` */
export function requirePlaces({ most }: PageWords): void {
  if (most > MAX_PLACED_WORDS) throw inputLimit('words of a page', MAX_PLACED_WORDS, most);
}

/** For a text that stays as it stands in the file. */
export const UNORDERED = {
  code: 'reading_order',
  message: `A page has more than ${MAX_ORDERED_WORDS} words: the text is in the order of the file, not in that of the page.`,
} as const;
