/** calibre: e-books to e-books. What a book becomes beyond that goes by way of EPUB. */
import { type Conversion, type Engine, everyPair } from '../../engine.ts';
import { FB2 } from '../../known-good.ts';

const LETTERS = 'letters beyond Windows-1252';

/** What each target cannot hold. */
const LOSES: Readonly<Record<string, readonly string[]>> = {
  mobi: ['styles', 'embedded fonts'],
  lit: ['embedded fonts'],
  fb2: ['styles', 'embedded fonts'],
  lrf: ['styles', 'embedded fonts', 'tables'],
  rb: ['styles', 'embedded fonts', 'tables'],
  pmlz: ['styles', 'embedded fonts', 'tables', LETTERS],
  prc: ['styles', 'embedded fonts', 'tables', 'pictures', LETTERS],
  txtz: ['styles', 'embedded fonts', 'tables', 'pictures'],
};
/** How calibre calls a target, where its own name is another's here. */
const NAMED: Readonly<Record<string, string>> = { prc: 'pdb' };
/** calibre runs the cells of their tables together, unless it turns tables into paragraphs first. */
const LINES_FOR_TABLES = ['lrf', 'rb', 'pmlz', 'prc', 'txtz'];

/** The pictures of a comic book stay as they are; version 3 of EPUB has WebP. Not for Kindles: calibre leaves pictures in WebP out there. */
const COMIC = ['--no-process', '--dont-grayscale', '--output-profile', 'tablet', '--no-default-epub-cover', '--epub-version', '3'];

const OPEN = ['epub', 'fb2'];
const KINDLE = ['mobi', 'azw3'];
const OLD = ['lit', 'lrf', 'pmlz', 'rb', 'htmlz', 'txtz', 'prc'];
/** What calibre writes as TCR comes out with letters too many or missing, and not each time. */
const BOOKS = [...OPEN, ...KINDLE, ...OLD, 'tcr'];

export const engine: Engine = {
  id: 'calibre',
  name: 'calibre',
  role: 'markup',
  toolchains: ['office'],
  binaries: {
    'ebook-convert': { at: ['/usr/bin/ebook-convert'], version: { args: ['--version'], pattern: /calibre (\d+\.\d+)/ } },
  },
  conversions: [
    ...everyPair(BOOKS, ['epub', ...KINDLE], { rank: 80 }),
    ...everyPair([...KINDLE, ...OLD, 'tcr'], ['fb2'], { rank: 80 }),
    ...everyPair(BOOKS, OLD, { rank: 60 }),
    { source: 'cbz', target: 'epub', rank: 80, loses: ['what is written beside the pages'] },
  ].map((pair: Conversion) => ({ ...pair, loses: pair.loses ?? losesOf(pair) })),
  trials: [{ file: FB2, target: 'mobi' }],
  options: () => [],
  plan: ({ source, target, input, output }) => ({
    steps: [{ run: 'ebook-convert', args: [input, `${output}/book.${NAMED[target] ?? target}`, ...optionsFor(source, target)], progress }],
  }),
  explain: (output) => (/\bDRM(?:Error|ed)?\b/.test(output) ? 'unsupported_variant' : undefined),
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

/** An EPUB keeps its sizes of type, and gets no page for a cover that the source lacks. */
function optionsFor(source: string, target: string): readonly string[] {
  if (source === 'cbz') return COMIC;
  if (target === 'epub') return ['--no-default-epub-cover', '--disable-font-rescaling'];
  return LINES_FOR_TABLES.includes(target) ? ['--linearize-tables'] : [];
}

/** `34% Running transforms on e-book...` */
function progress(line: string): number | undefined {
  const [, percent] = /^(\d{1,3})% /.exec(line) ?? [];
  return percent === undefined ? undefined : Number(percent) / 100;
}

/** What the source's own format lacks is not lost once more. */
function losesOf({ source, target }: Conversion): readonly string[] {
  const before = LOSES[source] ?? [];
  return (LOSES[target] ?? []).filter((what) => !before.includes(what));
}
