/** Pandoc: markup to markup, word-processor and e-book formats. */
import { type Conversion, type Engine, everyPair, type Plan, type ProcessStep, type Task } from '../../engine.ts';
import { MD } from '../../known-good.ts';
import { COUNT, countDocument } from '../../planning/documents/document.ts';
import { UTF8 } from '../../planning/documents/text.ts';
import { reasonOfText } from '../../planning/told.ts';

/** Pandoc's names for our format ids (pandoc --list-input-formats, 2.17). */
const READS: Readonly<Record<string, string>> = {
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
  md: 'gfm',
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

const sources = Object.keys(READS);
const targets = Object.keys(WRITES);
const markup = sources.filter((id) => !['docx', 'odt', 'html'].includes(id));
const references = Object.keys(REFERENCES);
const LOCKABLE = ['docx', 'odt'];
const TEXTS: ReadonlySet<string> = new Set(
  [...sources, ...references].filter((id) => ![...LOCKABLE, 'epub', 'ipynb', 'csljs'].includes(id)),
);
/** Formats between which LibreOffice keeps the layout, and Pandoc only the structure. */
const OFFICE = ['docx', 'odt', 'rtf'];

const COUNTED = countDocument({ depth: 50 });
/** Pandoc's readers of these take time by the square of their paragraphs, 10 s for so many; a book of 1,000 pages has 15,000. */
const COUNTED_OFFICE = countDocument({ depth: 50, paragraphs: 25_000 });

export const engine: Engine = {
  id: 'pandoc',
  name: 'Pandoc',
  role: 'markup',
  toolchains: ['office'],
  binaries: {
    pandoc: { at: ['/usr/bin/pandoc'], version: { args: ['--version'], pattern: /^pandoc (\d+\.\d+)/m } },
    clean: { at: ['program:documents/pandoc-tree.ts'] },
    epub: { at: ['program:documents/epub.ts'] },
    count: COUNT,
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
  options: (source) => (TEXTS.has(source) ? ['charset'] : []),
  readsUtf8: TEXTS,
  inspect: {
    ...COUNTED,
    sources: new Set(['docx', 'odt', 'html']),
    read: (stdout, task) => (task.source === 'html' ? COUNTED : COUNTED_OFFICE).read(stdout, task),
  },
  plan: (task) => {
    const { steps, ...more } = task.source === 'epub' ? fromBook(task) : planOf(task);
    return { steps: [...(LOCKABLE.includes(task.source) ? [{ run: 'clean', args: ['--open', task.input] }] : []), ...steps], ...more };
  },
  explain: (output, code) => {
    // 251 is the run-time system's own exit code for an exhausted heap (GHC user's guide, "RTS options to control the heap").
    if (output.trim() === 'encrypted document') return 'password_required';
    if (code === 251 || /heap exhausted|heap overflow/i.test(output)) return 'memory';
    return reasonOfText(output, code);
  },
};

/** Pandoc finds nothing that the package of a book names by `../`. */
function fromBook(task: Task): Plan {
  const book = `${task.scratch}/book.epub`;
  const { steps, ...more } = planOf({ ...task, input: book });
  return { steps: [{ run: 'epub', args: [task.input, book], answers: true }, ...steps], ...more };
}

/** A crafted table can make the Haskell heap grow without bound; the launcher's limit would only kill it later. */
export const HEAP = ['+RTS', '-M768m', '-RTS'];

function planOf(task: Task): Plan {
  const { source, target, input, output, scratch } = task;
  const found = `${scratch}/found.json`;
  const cleaned = `${scratch}/clean.json`;
  const written = `${output}/document.${target}`;
  const from = READS[source] ?? REFERENCES[source] ?? '';
  const to = WRITES[target] ?? WRITES_BY_NAME[target] ?? REFERENCES[target] ?? '';
  const cite = isReferences(source) && !isReferences(target) ? ['--citeproc'] : [];
  // The file is read in the sandbox only: RST, LaTeX and Org sources include any file that they name (pandoc manual, "A note on security").
  const read = step(['--sandbox', `--from=${from}`, ...cite, '--to=json', `--output=${found}`], input);
  const illustrated = ILLUSTRATED.includes(source) && SHOWING.includes(target);
  // A book must name its language (EPUB 3.3, 5.5.3.1.3); Pandoc would name the locale, "C".
  const language = target === 'epub' ? ['--language', 'und'] : [];
  const clean: ProcessStep = {
    run: 'clean',
    args: [found, cleaned, ...(illustrated ? ['--pictures', input] : []), ...language],
    answers: true,
  };
  if (PACKAGES.includes(target) || illustrated || (source === 'html' && SHOWING.includes(target)))
    return { steps: [read, clean, step(['--from=json', `--to=${to}`, '--standalone', `--output=${written}`], cleaned)] };
  const safe = ['--sandbox', `--to=${to}`, '--standalone', `--output=${written}`];
  const whole = step([`--from=${from}`, ...safe], input);
  if (WRAPPED.includes(source) && SHOWING_WRAPPERS.includes(target)) {
    const look: ProcessStep = { run: 'clean', args: ['--plain', found, cleaned] };
    // Pandoc needs more memory for a tree than for what it was made of.
    return {
      steps: [read],
      next: { look, plan: (said) => ({ steps: [isTooLarge(said) ? whole : step(['--from=json', ...safe], cleaned)] }) },
    };
  }
  // Headings inside the cells of a notebook are invisible to the writers of outlines.
  if (source === 'ipynb') return { steps: [read, clean, step(['--from=json', ...safe], cleaned)] };
  // Read as a standalone document, the first heading of RST becomes the title, which many formats lack; of references the list would stand there once more.
  if (source === 'rst' || cite.length > 0) return { steps: [read, step(['--from=json', ...safe], found)] };
  return { steps: [whole] };
}

/** @param said what `pandoc-tree.ts --plain` prints */
const isTooLarge = (said: string): boolean => said.includes('"left":true');

const step = (args: readonly string[], input: string): ProcessStep => ({ run: 'pandoc', args: ['--quiet', ...args, ...HEAP, input] });
