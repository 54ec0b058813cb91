/** Pandoc: markup to markup, word-processor and e-book formats. */
import type { Reason } from '../../../errors.ts';
import {
  type Binary,
  type Conversion,
  type Engine,
  everyPair,
  type Inspection,
  type Plan,
  type ProcessStep,
  type Step,
  type Task,
} from '../../engine.ts';
import { MD } from '../../known-good.ts';
import { COUNT, countDocument } from '../../planning/documents/document.ts';
import { CLOSED, pageToRead, TITLE, titleStep, UTF8 } from '../../planning/documents/text.ts';
import { ownStep, reasonOfText } from '../../planning/told.ts';

/** Pandoc's names for our format ids (pandoc --list-input-formats, 2.17). */
export const PANDOC_READS: Readonly<Record<string, string>> = {
  md: 'gfm',
  html: 'html',
  docx: 'docx',
  odt: 'odt',
  epub: 'epub',
  rst: 'rst',
  tex: 'latex',
  org: 'org',
  fb2: 'fb2',
  ipynb: 'ipynb',
  opml: 'opml',
  dbk: 'docbook',
  textile: 'textile',
  wiki: 'mediawiki',
  man: 'man',
  jats: 'jats',
  jira: 'jira',
  doku: 'dokuwiki',
  twiki: 'twiki',
  tiki: 'tikiwiki',
  creol: 'creole',
  vwiki: 'vimwiki',
  muse: 'muse',
  hdoc: 'haddock',
  t2t: 't2t',
};
const WRITES: Readonly<Record<string, string>> = {
  // Formulas as GitHub has them.
  md: 'gfm+tex_math_dollars',
  html: 'html5',
  epub: 'epub3',
  rst: 'rst',
  tex: 'latex',
  org: 'org',
  fb2: 'fb2',
  ipynb: 'ipynb',
  opml: 'opml',
  dbk: 'docbook5',
  adoc: 'asciidoc',
  wiki: 'mediawiki',
  man: 'man',
  txt: 'plain',
  rtf: 'rtf',
  docx: 'docx',
  odt: 'odt',
};
/** Targets that people ask for by name: no chain ends there, since what a chain keeps is not what they are used for. */
const WRITES_BY_NAME: Readonly<Record<string, string>> = {
  pptx: 'pptx',
  jats: 'jats_publishing',
  tei: 'tei',
  icml: 'icml',
  texi: 'texinfo',
  ctx: 'context',
  ms: 'ms',
  jira: 'jira',
  doku: 'dokuwiki',
  zim: 'zimwiki',
  xwiki: 'xwiki',
  muse: 'muse',
  hdoc: 'haddock',
};
/** Lists of references: the entries are set by Pandoc's own style (Chicago, author and date) where the target is a text. */
const REFERENCES: Readonly<Record<string, string>> = { bib: 'bibtex', csljs: 'csljson' };
const isReferences = (format: string) => format in REFERENCES;
/**
 * Writers that fill a ZIP from data files, which Debian's build does not embed, so that Pandoc's sandbox cannot read them, and writers that take
 * pictures. They run outside the sandbox, on a tree from which everything that names a file, a URL or foreign code was removed.
 */
const PACKAGES = ['docx', 'odt', 'epub', 'pptx'];
const SHOWING = [...PACKAGES, 'html', 'fb2', 'rtf'];
/** Sources that contain their pictures: `clean` puts these into the tree. */
const ILLUSTRATED = ['docx', 'odt', 'epub', 'fb2'];
/** Sources with drawings in SVG in the text itself. */
const DRAWN = ['html', 'epub'];
const LOSES = ['page layout'];
/** The sandbox keeps Pandoc from reading pictures that are elsewhere, and formats of plain text cannot contain any. */
const picturesLost = ({ source, target }: Conversion): readonly string[] => {
  if (!SHOWING.includes(target)) return ['pictures'];
  if (ILLUSTRATED.includes(source)) return [];
  return [source === 'html' ? 'pictures that are not inside the page' : 'pictures'];
};
/** Sources with wrappers and marked words, and targets that would show these as tags of HTML or as containers. */
const WRAPPED = ['html', 'epub', 'docx', 'odt'];
const SHOWING_WRAPPERS = ['md', 'ipynb', 'wiki', 'rst'];
/** Too low to end a chain: a sheet without its table would be empty. */
const OUTLINE_RANK = 45;
/** Outlines have no tables, and the reader of FictionBook skips them. */
const losesOf = (pair: Conversion) => {
  const { source, target } = pair;
  if (isReferences(source)) return isReferences(target) ? [] : ['fields that the citation style does not show'];
  return [...picturesLost(pair), ...LOSES, ...(source === 'fb2' || target === 'opml' ? ['tables'] : [])];
};

const sources = Object.keys(PANDOC_READS);
const targets = Object.keys(WRITES);
const markup = sources.filter((id) => !['docx', 'odt', 'html'].includes(id));
const references = Object.keys(REFERENCES);
export const LOCKABLE_TEXTS: readonly string[] = ['docx', 'odt'];
const TEXTS: ReadonlySet<string> = new Set(
  [...sources, ...references].filter((id) => ![...LOCKABLE_TEXTS, 'epub', 'ipynb', 'csljs'].includes(id)),
);
/** Formats between which LibreOffice keeps the layout, and Pandoc only the structure. */
const OFFICE = ['docx', 'odt', 'rtf'];

export const CLEAN: Binary = { at: ['program:documents/pandoc-tree.ts'] };

const COUNTED = countDocument({ depth: 50 });
/** Pandoc's readers of these take time by the square of their paragraphs, 10 s for so many; a book of 1,000 pages has 15,000. */
const COUNTED_OFFICE = countDocument({ depth: 50, paragraphs: 25_000 });

/** What is counted before Pandoc reads a text. */
export const inspectForPandoc: Inspection = {
  ...COUNTED,
  sources: new Set(['docx', 'odt', 'html']),
  read: (stdout, task) => (task.source === 'html' ? COUNTED : COUNTED_OFFICE).read(stdout, task),
};

export const engine: Engine = {
  id: 'pandoc',
  name: 'Pandoc',
  role: 'markup',
  toolchains: ['office'],
  binaries: {
    pandoc: { at: ['/usr/bin/pandoc'], version: { args: ['--version'], pattern: /^pandoc (\d+\.\d+)/m } },
    clean: CLEAN,
    epub: { at: ['program:documents/epub.ts'] },
    docx: { at: ['program:documents/docx.ts'] },
    odt: { at: ['program:documents/odt.ts'] },
    html: CLOSED,
    count: COUNT,
    rsvg: { at: ['/usr/bin/rsvg-convert'] },
    title: TITLE,
    utf8: UTF8,
  },
  conversions: [
    ...everyPair(markup, targets, { rank: 75 }),
    ...everyPair(['html'], targets, { rank: 75 }),
    ...everyPair(
      ['docx', 'odt'],
      targets.filter((id) => !OFFICE.includes(id)),
      { rank: 75 },
    ),
    ...everyPair(['docx', 'odt'], OFFICE, { rank: 45 }),
    ...everyPair(['md', 'html', 'docx', 'odt'], Object.keys(WRITES_BY_NAME), { rank: OUTLINE_RANK }),
    ...everyPair(references, ['html', 'docx', 'odt', 'md', 'txt'], { rank: OUTLINE_RANK }),
    ...everyPair(references, references, { rank: 80 }).filter(({ source, target }) => source !== target),
  ].map((pair) => ({ ...pair, rank: pair.target === 'opml' ? OUTLINE_RANK : pair.rank, loses: losesOf(pair) })),
  trials: [{ file: MD, target: 'docx' }],
  options: (source) => (source === 'docx' ? ['tracked_changes'] : TEXTS.has(source) ? ['charset'] : []),
  readsUtf8: TEXTS,
  inspect: inspectForPandoc,
  plan: (task) => {
    const { steps, ...more } = READY[task.source]?.(task) ?? planOf(task);
    const open = LOCKABLE_TEXTS.includes(task.source) ? [{ run: 'clean', args: ['--open', task.input] }] : [];
    return { ...more, steps: [...open, ...steps] };
  },
  explain: explainPandoc,
};

/** Why Pandoc, or what opens a locked document for it, failed. */
export function explainPandoc(output: string, code: number | null): Reason | undefined {
  // 251 is the run-time system's own exit code for an exhausted heap (GHC user's guide, "RTS options to control the heap").
  if (output.trim() === 'encrypted document') return 'password_required';
  if (code === 251 || /heap exhausted|heap overflow/i.test(output)) return 'memory';
  return reasonOfText(output, code);
}

/** A program that writes a source so that Pandoc reads all of it. */
function madeReady(run: string, ...options: readonly string[]): (task: Task) => Plan {
  return (task) => {
    const ready = `${task.scratch}/ready.${task.source}`;
    const { steps, ...more } = planOf({ ...task, input: ready });
    return { steps: [ownStep(run, [...options, task.input, ready]), ...steps], ...more };
  };
}
const READY: Readonly<Record<string, (task: Task) => Plan>> = {
  epub: madeReady('epub'),
  docx: madeReady('docx'),
  odt: madeReady('odt', '--read'),
  html(task) {
    const { steps: first, page } = pageToRead(task);
    const { steps, ...more } = planOf({ ...task, input: page });
    return { steps: [...first, ...steps], ...more };
  },
};

/** A crafted table can make the Haskell heap grow without bound; the launcher's limit would only kill it later. */
export const HEAP = ['+RTS', '-M768m', '-RTS'];

/** Where a page is written first. Pandoc takes the file's name as the title of a page whose text has none, and `titleStep` replaces that. */
const pageIn = ({ scratch }: Pick<Task, 'scratch'>): string => `${scratch}/page.html`;

/** What Pandoc made the result of: a step ends with its input. */
const lastOf = (steps: readonly Step[]): string => {
  const last = steps.at(-1);
  return last !== undefined && 'args' in last ? (last.args.at(-1) ?? '') : '';
};

function planOf(task: Task): Plan {
  return task.target === 'html' ? titled(task, planTree(task)) : planTree(task);
}

/** Adds the step that gives a page its title to the last part of a plan. */
function titled(task: Task, { steps, next, ...more }: Plan): Plan {
  if (next !== undefined) return { ...more, steps, next: { ...next, plan: (said) => titled(task, next.plan(said)) } };
  return { ...more, steps: [...steps, titleStep(pageIn(task), task.output, lastOf(steps))] };
}

function planTree(task: Task): Plan {
  const from = PANDOC_READS[task.source] ?? REFERENCES[task.source] ?? '';
  if (task.facts['dollars'] !== true) return planRead(task, from);
  return withFormulas(task, from, (reader, tree) => planRead(task, reader, reader === 'json' ? tree : undefined));
}

/**
 * Reads formulas between dollars as GitHub does. Pandoc takes some prices in dollars for formulas: a look at the tree makes words of those again.
 * @param written the plan from a format of Pandoc's, and the file that is in it: the tree, or the source where that is too large for one
 */
export function withFormulas(
  { input, scratch }: Pick<Task, 'input' | 'scratch'>,
  from: string,
  written: (from: string, read: string) => Plan,
): Plan {
  const [found, tree] = [`${scratch}/formulas.json`, `${scratch}/found.json`];
  const read = step(['--sandbox', `--from=${from}${FORMULAS}`, '--to=json', `--output=${found}`], input);
  const look: ProcessStep = { run: 'clean', args: ['--prices', found, tree] };
  return { steps: [read], next: { look, plan: (said) => (isTooLarge(said) ? written(from, input) : written('json', tree)) } };
}

export const FORMULAS = '+tex_math_dollars';

/** What librsvg draws of each: twice as large, and no side longer than this. What it cannot draw is left out. */
const LONGEST_SIDE = 3000;
function drawingSteps(said: string, folder: string): readonly ProcessStep[] {
  const names = said.match(/\b[0-9a-f]{32}\b/g) ?? [];
  const size = ['--zoom', '2', '--width', `${LONGEST_SIDE}`, '--height', `${LONGEST_SIDE}`, '--keep-aspect-ratio'];
  return names.map((name) => ({
    run: 'rsvg',
    args: [...size, '--output', `${folder}/${name}.png`, `${folder}/${name}.svg`],
    succeeds: [0, 1],
  }));
}

/** @param from Pandoc's name for the source @param tree that was already made of it */
function planRead(task: Task, from: string, tree?: string): Plan {
  const { source, target, input, output, scratch } = task;
  const found = tree ?? `${scratch}/found.json`;
  const cleaned = `${scratch}/clean.json`;
  const written = target === 'html' ? pageIn(task) : `${target === 'odt' ? scratch : output}/document.${target}`;
  // Pandoc leaves out the cells that others cover.
  const covered = target === 'odt' ? [ownStep('odt', [written, `${output}/document.odt`])] : [];
  const to = WRITES[target] ?? WRITES_BY_NAME[target] ?? REFERENCES[target] ?? '';
  const cite = isReferences(source) && !isReferences(target) ? ['--citeproc'] : [];
  // The file is read in the sandbox only: RST, LaTeX and Org sources include any file that they name (pandoc manual, "A note on security").
  // Accepted, unless it is said.
  const changes = task.options.tracked_changes === 'reject' ? ['--track-changes=reject'] : [];
  const read =
    tree === undefined ? [step(['--sandbox', `--from=${from}`, ...changes, ...cite, '--to=json', `--output=${found}`], input)] : [];
  const illustrated = ILLUSTRATED.includes(source) && SHOWING.includes(target);
  // A book must name its language and its title (EPUB 3.3, 5.5.3.1); Pandoc would name the locale, "C".
  const language = target === 'epub' ? ['--language', 'und', '--titled'] : [];
  const clean: ProcessStep = {
    run: 'clean',
    args: [found, cleaned, ...(illustrated ? ['--pictures', input] : []), ...language],
    answers: true,
  };
  const write = [step(['--from=json', `--to=${to}`, '--standalone', `--output=${written}`], cleaned), ...covered];
  if (DRAWN.includes(source) && SHOWING.includes(target)) {
    const folder = `${scratch}/drawings`;
    const look: ProcessStep = { run: 'clean', args: ['--drawings', found, folder] };
    return {
      steps: read,
      next: {
        look,
        plan: (said) => ({ steps: [...drawingSteps(said, folder), { ...clean, args: [...clean.args, '--drawn', folder] }, ...write] }),
      },
    };
  }
  if (PACKAGES.includes(target) || illustrated) return { steps: [...read, clean, ...write] };
  const safe = ['--sandbox', `--to=${to}`, '--standalone', `--output=${written}`];
  const whole = step([`--from=${from}`, ...changes, ...safe], input);
  if (WRAPPED.includes(source) && SHOWING_WRAPPERS.includes(target)) {
    const look: ProcessStep = { run: 'clean', args: ['--plain', found, cleaned] };
    // Pandoc needs more memory for a tree than for what it was made of.
    return {
      steps: read,
      next: { look, plan: (said) => ({ steps: [isTooLarge(said) ? whole : step(['--from=json', ...safe], cleaned)] }) },
    };
  }
  // Headings inside the cells of a notebook are invisible to the writers of outlines.
  if (source === 'ipynb') return { steps: [...read, clean, step(['--from=json', ...safe], cleaned)] };
  // Read as a standalone document, the first heading of RST becomes the title, which many formats lack; of references the list would stand there once more.
  if (source === 'rst' || cite.length > 0 || tree !== undefined) return { steps: [...read, step(['--from=json', ...safe], found)] };
  return { steps: [whole] };
}

/** @param said what `pandoc-tree.ts --plain` prints */
const isTooLarge = (said: string): boolean => said.includes('"left":true');

/** Formulas of a page as browsers show them (MathML Core). */
const step = (args: readonly string[], input: string): ProcessStep => ({
  run: 'pandoc',
  args: ['--quiet', ...(args.includes('--to=html5') || args.includes('--to=epub3') ? ['--mathml'] : []), ...args, ...HEAP, input],
});
