/** The first steps of every engine that reads PDF: count and measure the pages, decrypt, and select the requested pages. */
import { conversionFailed, inputLimit, type Reason } from '../../../errors.ts';
import { MAX_PAGES, MAX_PIXELS, MAX_PIXELS_TOGETHER } from '../../bounds.ts';
import type { Binary, EngineWarning, Facts, Inspection, ProcessStep, Task } from '../../engine.ts';
import { choosePages, type PageRange, selectPages } from '../../options/pages.ts';

export const DEFAULT_DPI = 150;
/** PDF measures in points (ISO 32000-1, 8.3.2.3). */
const POINTS_PER_INCH = 72;

/** Forms drawn on all pages together, one within the other, and bytes of content that are interpreted for them. */
const MAX_FORMS = 1_000_000;
const MAX_CONTENT = 1_000_000_000;
/** Strings of one page, blank ones too: pdftohtml 22.12 takes 5 s to put so many in place. A page has some hundred words, and at most a string a letter. */
const MAX_PLACED_STRINGS = 100_000;

/** Base of the bound on declared px of all pictures in a file; each page adds `MAX_PIXELS`. */
const MAX_DECLARED_TOGETHER = 1_000_000_000;

export const QPDF: Binary = { at: ['/usr/bin/qpdf'], version: { args: ['--version'], pattern: /qpdf version (\d+\.\d+)/ } };
export const PDFINFO: Binary = { at: ['/usr/bin/pdfinfo'], version: { args: ['-v'], pattern: /version (\d+\.\d+)/ } };
/** Takes out what leads to pages that are left out. */
export const PRUNE: Binary = { at: ['program:pdf/prune.ts'] };
/** Prints the output of pdfinfo, and the sizes of the pictures. */
export const MEASURE: Binary = { at: ['program:pdf/measure.ts'] };

/**
 * For engines that decode no pictures. Needs the binaries `pdfinfo` and `qpdf`: poppler accepts passwords only on its command line, which every
 * user of the machine can read, so qpdf, which reads them from a file, counts the pages of encrypted files.
 */
export const countPages: Inspection = {
  step: (input, { passwordFile }): ProcessStep =>
    passwordFile === undefined
      ? { run: 'pdfinfo', args: ['-f', '1', '-l', String(MAX_PAGES), input] }
      : { run: 'qpdf', args: [`--password-file=${passwordFile}`, '--show-npages', input], succeeds: [0, 3] },
  read: (stdout): Facts => ({ pages: pageCount(stdout), encrypted: isEncrypted(stdout) }),
};

/**
 * For engines that draw pages or decode their pictures. Needs the binary `measure`.
 * @param resolution px per inch at which the engine will draw pages; undefined if it draws none
 */
export const measurePdf = (resolution?: (task: Pick<Task, 'target' | 'options'>) => number | undefined): Inspection => ({
  step: (input, { passwordFile }): ProcessStep => ({ run: 'measure', args: passwordFile === undefined ? [input] : [input, passwordFile] }),
  read: (stdout, task): Facts => {
    const pages = pageCount(stdout);
    const { units, largest, total, ...drawn } = readMeasures(stdout);
    boundDrawn(drawn);
    if (largest > MAX_PIXELS) throw inputLimit('pixels of a picture', MAX_PIXELS, largest);
    const together = MAX_DECLARED_TOGETHER + pages * MAX_PIXELS;
    if (total > together) throw inputLimit('pixels of all pictures', together, total);
    const dpi = resolution?.(task);
    if (dpi !== undefined) refuseGiants(stdout, units, new Set(selectPages(task.options.pages, pages)), dpi);
    return { pages, encrypted: isEncrypted(stdout), largestUnit: Math.max(1, ...units.values()) };
  },
});

/** For engines that put each text of a page in its place. Needs the binary `measure`. */
export const measureStrings: Inspection = {
  step: (input, { passwordFile }): ProcessStep => ({
    run: 'measure',
    args: ['--text', input, ...(passwordFile === undefined ? [] : [passwordFile])],
  }),
  read: (stdout): Facts => {
    const pages = pageCount(stdout);
    const drawn = readMeasures(stdout);
    boundDrawn(drawn);
    if (drawn.strings > MAX_PLACED_STRINGS) throw inputLimit('strings of a page', MAX_PLACED_STRINGS, drawn.strings);
    return { pages, encrypted: isEncrypted(stdout) };
  },
};

/** @throws Failure `input_limit` */
function boundDrawn({ forms, bytes }: Pick<Measures, 'forms' | 'bytes'>): void {
  if (forms > MAX_FORMS) throw inputLimit('forms drawn', MAX_FORMS, forms);
  if (bytes > MAX_CONTENT) throw inputLimit('bytes of content of drawn forms', MAX_CONTENT, bytes);
}

type PageSize = readonly [width: number, height: number];

/** A page whose size is not told has that of the page before, and the first one this, points. */
const A4: PageSize = [595.28, 841.89];

/** As `measure` prints them. @returns width and height of each page as it is shown, points */
export function shownSizes(stdout: string, pages: number): readonly PageSize[] {
  const turned = new Map([...stdout.matchAll(/^Page\s+(\d+) rot:\s+(\d+)/gm)].map(([, page, turn]) => [page, Number(turn) % 180 !== 0]));
  const told = toldSizes(stdout);
  const shown: PageSize[] = [];
  for (let page = 1; page <= pages; page++) {
    const size = told.get(page);
    const asShown: PageSize | undefined = size !== undefined && turned.get(String(page)) === true ? [size[1], size[0]] : size;
    shown.push(asShown ?? shown.at(-1) ?? A4);
  }
  return shown;
}

const PAGE_SIZE = /^Page\s+(\d+) size:\s+([\d.e+-]+) x ([\d.e+-]+) pts/gm;

/** By page number. The title comes first and may have such lines, so the last ones count. */
function toldSizes(stdout: string): ReadonlyMap<number, PageSize> {
  const sizes = new Map<number, PageSize>();
  for (const [, page, ...sides] of stdout.matchAll(PAGE_SIZE)) {
    const [width = 0, height = 0] = sides.map(Number);
    if (Number.isFinite(width * height) && width > 0 && height > 0) sizes.set(Number(page), [width, height]);
  }
  return sizes;
}

/** @throws Failure `corrupt_input` without pages, `input_limit` with too many */
function pageCount(stdout: string): number {
  const counted = /^(\d+)\s*$/.exec(stdout);
  // The title comes first and may contain such a line: the last one is pdfinfo's own.
  const pages = Number(counted?.[1] ?? [...stdout.matchAll(/^Pages:\s+(\d+)$/gm)].at(-1)?.[1] ?? 0);
  if (pages === 0) throw conversionFailed('corrupt_input', { says: 'The PDF has no pages.' });
  if (pages > MAX_PAGES) throw inputLimit('pages', MAX_PAGES, pages);
  return pages;
}

/** As pdfinfo says, also of a file that opens without a password. The title comes first and may contain such a line: the last one is pdfinfo's own. */
const isEncrypted = (stdout: string): boolean => [...stdout.matchAll(/^Encrypted:\s+(yes|no)\b/gm)].at(-1)?.[1] === 'yes';

interface Measures {
  /** `UserUnit` in points by page number; 1 if missing. */
  readonly units: ReadonlyMap<number, number>;
  /** Px. */
  readonly largest: number;
  readonly total: number;
  readonly forms: number;
  readonly bytes: number;
  readonly strings: number;
}

/** Our own program prints the last line. */
function readMeasures(stdout: string): Measures {
  const { units, ...measures } = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Omit<Measures, 'units'> & {
    readonly units: Record<string, number>;
  };
  return { units: new Map(Object.entries(units).map(([page, unit]) => [Number(page), unit])), ...measures };
}

/** A page's `UserUnit` counts, whether or not this version of the engine applies it. */
function refuseGiants(stdout: string, units: Measures['units'], chosen: ReadonlySet<number>, dpi: number): void {
  let together = 0;
  for (const [page, [width, height]] of toldSizes(stdout)) {
    const scale = (dpi / POINTS_PER_INCH) * (units.get(page) ?? 1);
    const pixels = Math.ceil(width * height * scale ** 2);
    if (!chosen.has(page)) continue;
    if (pixels > MAX_PIXELS) throw inputLimit(`pixels of page ${page} at ${dpi} dpi`, MAX_PIXELS, pixels);
    together += pixels;
  }
  if (together > MAX_PIXELS_TOGETHER) throw inputLimit(`pixels of all pages at ${dpi} dpi`, MAX_PIXELS_TOGETHER, together);
}

/** Reading order, not page layout: columns stay columns. Pages end with a form feed. Needs the binary `pdftotext`. */
export const textLayer = (path: string, to: string): ProcessStep => ({
  run: 'pdftotext',
  args: ['-enc', 'UTF-8', '-eol', 'unix', path, to],
});

export interface OpenedPdf {
  readonly steps: readonly ProcessStep[];
  /** A PDF without password that has exactly the requested pages, in that order. */
  readonly path: string;
  readonly pages: number;
  readonly warnings: readonly EngineWarning[];
}

/**
 * Needs the binary `qpdf`, and `prune` where it writes to a path. Also decrypts a file that opens without a password: not every engine reads every
 * kind of encryption.
 * @param writeTo path to rewrite the file to, even if no option requires it; what leads to pages that are left out goes with them
 */
export function openPdf(task: Pick<Task, 'input' | 'scratch' | 'passwordFile' | 'options' | 'facts'>, writeTo?: string): OpenedPdf {
  const count = Number(task.facts['pages']);
  const { pages: chosen, warnings } = choosePages(task.options.pages, count);
  const whole = chosen.length === count && chosen.every((page, index) => page === index + 1);
  const decrypts = task.passwordFile !== undefined || task.facts['encrypted'] === true;
  if (whole && !decrypts && writeTo === undefined) return { steps: [], path: task.input, pages: count, warnings };
  const path = writeTo ?? `${task.scratch}/opened.pdf`;
  const selection = whole ? [] : ['--pages', '.', pagesForQpdf(chosen), '--'];
  const pruned = whole || writeTo === undefined ? undefined : prune(task, task.input, chosen);
  return {
    steps: [
      ...(pruned === undefined ? [] : [pruned.step]),
      rewritePdf(task, [...(decrypts ? ['--decrypt'] : []), task.input, ...(pruned?.applied ?? []), ...selection, path]),
    ],
    path,
    pages: chosen.length,
    warnings,
  };
}

/**
 * For a call of qpdf that leaves pages out. Needs the binary `prune`.
 * @param pages those that stay, or `each` where every page becomes a document
 * @returns the step before that call, and an argument of it
 */
export function prune({ scratch, passwordFile }: Pick<Task, 'scratch' | 'passwordFile'>, path: string, pages: readonly number[] | 'each') {
  const update = `${scratch}/pruned.json`;
  return {
    step: {
      run: 'prune',
      args: [path, pages === 'each' ? pages : pages.join(','), update, scratch, ...(passwordFile === undefined ? [] : [passwordFile])],
    } satisfies ProcessStep,
    applied: [`--update-from-json=${update}`],
  };
}

function rewritePdf({ passwordFile }: Pick<Task, 'passwordFile'>, args: readonly string[]): ProcessStep {
  return {
    run: 'qpdf',
    args: [...(passwordFile === undefined ? [] : [`--password-file=${passwordFile}`]), ...args],
    // 3: warnings about damage that was repaired (qpdf manual, "Exit Status").
    succeeds: [0, 3],
  };
}

/** `[1, 2, 3, 7]` as `1-3,7`, qpdf's notation. */
export function pagesForQpdf(pages: readonly number[]): string {
  const runs: PageRange[] = [];
  for (const page of pages) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === page - 1) last[1] = page;
    else runs.push([page, page]);
  }
  return runs.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(',');
}

/** Recognises messages of poppler, which never gets a password, and of qpdf, which always gets the one that was sent. */
export function explainPdf(output: string): Reason | undefined {
  if (/Incorrect password/.test(output)) return 'password_required';
  if (/invalid password/.test(output)) return 'wrong_password';
  if (/out of memory|bad_alloc/i.test(output)) return 'memory';
  return undefined;
}
