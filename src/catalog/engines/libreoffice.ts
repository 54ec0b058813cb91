/** LibreOffice: word-processor documents, sheets and slides to each other's formats and to PDF. */
import { isReason, type Reason } from '../../errors.ts';
import { type Conversion, type Engine, everyPair } from '../engine.ts';

type Family = 'text' | 'sheet' | 'slides';

/** What each source is once LibreOffice has loaded it. */
const FAMILIES: Readonly<Record<string, Family>> = {
  ...all('text', ['docx', 'doc', 'odt', 'fodt', 'rtf', 'html', 'txt', 'pdf']),
  ...all('sheet', ['xlsx', 'xls', 'ods', 'fods', 'csv', 'tsv']),
  ...all('slides', ['pptx', 'ppt', 'odp', 'fodp']),
};
const WORDS = ['docx', 'doc', 'odt', 'fodt', 'rtf'];
const SHEETS = ['xlsx', 'xls', 'ods', 'fods'];
const SLIDES = ['pptx', 'ppt', 'odp', 'fodp'];
const ENCRYPTABLE = new Set(['docx', 'doc', 'odt', 'xlsx', 'xls', 'ods', 'pptx', 'ppt', 'odp', 'pdf']);

const CONVERSIONS: readonly Conversion[] = [
  ...everyPair([...WORDS, ...SHEETS, ...SLIDES], ['pdf'], { rank: 90 }),
  ...everyPair(['csv', 'tsv', 'txt'], ['pdf'], { rank: 70 }),
  ...everyPair(['html'], ['pdf'], { rank: 50, loses: ['page style beyond what a word processor knows'] }),

  ...everyPair(WORDS, WORDS, { rank: 85 }),
  ...everyPair(WORDS, ['html'], { rank: 60, loses: ['page layout'] }),
  ...everyPair(WORDS, ['txt'], { rank: 70, loses: ['formatting', 'pictures'] }),
  ...everyPair(['html', 'txt'], WORDS, { rank: 55 }),

  ...everyPair([...SHEETS, 'csv', 'tsv'], SHEETS, { rank: 85 }),
  ...everyPair([...SHEETS, 'tsv'], ['csv'], { rank: 90, loses: ['formulas', 'formatting'] }),
  ...everyPair([...SHEETS, 'csv', 'tsv'], ['html'], { rank: 60, loses: ['formulas'] }),

  ...everyPair(SLIDES, SLIDES, { rank: 85 }),

  ...everyPair(['pdf'], ['docx', 'odt'], {
    rank: 40,
    loses: ['the flow of the text (it stays in frames where the page had it)', 'tables and lists as such'],
  }),
];

export const engine: Engine = {
  id: 'libreoffice',
  name: 'LibreOffice',
  role: 'office',
  toolchains: ['office'],
  binaries: {
    office: {
      at: ['program:office.py'],
      version: { args: ['--version'], pattern: /LibreOffice (\d+\.\d+)/ },
      unixSockets: true,
    },
    // Not started by us but by the program above; asked for here so that its absence shows.
    soffice: { at: ['/usr/lib/libreoffice/program/soffice.bin'] },
  },
  conversions: CONVERSIONS,

  options: (source, target) => [
    ...(ENCRYPTABLE.has(source) ? (['password'] as const) : []),
    ...(target === 'pdf' ? (['pages', 'img_quality'] as const) : []),
  ],

  plan: ({ source, target, options, input, output, passwordFile }) => {
    const request = {
      input,
      source,
      output,
      target,
      family: FAMILIES[source],
      passwordFile,
      ...(target === 'pdf' && { pages: options.pages, quality: quality(options.img_quality) }),
    };
    return { steps: [{ ask: 'office', request, otherwise: { run: 'office', args: ['--once'], stdin: `${JSON.stringify(request)}\n` } }] };
  },

  explain: (words) => reasonIn(words),
  limits: { memoryBytes: 2 * 1024 * 1024 * 1024, processes: 128 },
};

/** LibreOffice keeps pictures as they are unless told; its scale starts at 1. */
const quality = (given: number | undefined): number | undefined => (given === undefined ? undefined : Math.max(1, given));

/** The program answers in JSON also when it runs once; a Python traceback means that LibreOffice went away under its hands. */
function reasonIn(words: string): Reason | undefined {
  const reason = /"reason": ?"(\w+)"/.exec(words)?.[1];
  if (isReason(reason)) return reason;
  return words.includes('Traceback') ? 'engine_crashed' : undefined;
}

function all(family: Family, sources: readonly string[]): Record<string, Family> {
  return Object.fromEntries(sources.map((source) => [source, family]));
}
