/** LibreOffice: text documents, sheets, slides and drawings to other formats of the same kind and to PDF. */
import { type Conversion, type Engine, everyPair } from '../../engine.ts';
import { FODT } from '../../known-good.ts';
import { UTF8 } from '../../planning/documents/text.ts';
import { HEAD, INSPECT_SVG } from '../drawings/rsvg/inspect.ts';
import { askOffice, explainOffice, OFFICE, OFFICE_LIMITS, type OfficeModule } from './libreoffice/ask.ts';

/** The kind of document that LibreOffice loads each source as. */
const FAMILIES: Readonly<Record<string, OfficeModule>> = {
  ...all('text', ['docx', 'doc', 'odt', 'fodt', 'rtf', 'html', 'txt', 'sxw', 'abw', 'wpd', 'wps']),
  ...all('sheet', ['xlsx', 'xls', 'ods', 'fods', 'csv', 'tsv', 'slk', 'dif', 'sxc', 'xlsb']),
  ...all('slides', ['pptx', 'ppt', 'odp', 'fodp', 'sxi']),
  ...all('drawing', ['odg', 'fodg', 'sxd', 'svg', 'emf', 'wmf', 'vsdx', 'vsd', 'pub']),
};
const WORDS = ['docx', 'doc', 'odt', 'fodt', 'rtf'];
const SHEETS = ['xlsx', 'xls', 'ods', 'fods'];
const SLIDES = ['pptx', 'ppt', 'odp', 'fodp'];
const ENCRYPTABLE = new Set(['docx', 'doc', 'odt', 'xlsx', 'xls', 'ods', 'pptx', 'ppt', 'odp']);

/** Files of several sheets, and those that all of them become. */
const SEVERAL = new Set([...SHEETS, 'sxc', 'xlsb']);
const SAME_KIND = new Set(SHEETS);

/** Their values have no types: which are numbers is for the reader to tell. */
const SEPARATED = new Set(['csv', 'tsv']);
const TEXTS = new Set(['txt', 'html', 'dif', ...SEPARATED]);

const CONVERSIONS: readonly Conversion[] = [
  ...everyPair([...WORDS, ...SHEETS, ...SLIDES], ['pdf'], { rank: 90 }),
  ...everyPair(['csv', 'tsv', 'txt'], ['pdf'], { rank: 70 }),
  ...everyPair(['html'], ['pdf'], { rank: 50, loses: ['page style beyond what a word processor knows'] }),

  ...everyPair(WORDS, WORDS, { rank: 85 }),
  ...everyPair(WORDS, ['html'], { rank: 60, loses: ['page layout'] }),
  ...everyPair(WORDS, ['txt'], { rank: 70, loses: ['formatting', 'pictures'] }),
  ...everyPair(['html', 'txt'], WORDS, { rank: 55 }),

  ...everyPair([...SHEETS, 'csv', 'tsv'], SHEETS, { rank: 85 }),
  // The loss of formulas is reported only for a document that has some: the program looks.
  ...everyPair(SHEETS, ['csv'], { rank: 90, loses: ['formatting'] }),
  ...everyPair(SHEETS, ['tsv'], { rank: 90, loses: ['formatting'] }),
  ...everyPair(['tsv'], ['csv'], { rank: 90 }),
  ...everyPair([...SHEETS, 'csv', 'tsv'], ['html'], { rank: 60 }),

  ...everyPair(SLIDES, SLIDES, { rank: 85 }),

  // What only few have goes to what most have. The two sheets of text hold one sheet without formatting: no chain passes through or ends there.
  ...everyPair(['sxw', 'wpd', 'wps'], ['pdf', 'docx', 'odt', 'html'], { rank: 80 }),
  ...everyPair(['abw'], ['pdf', 'docx', 'odt', 'html'], { rank: 70, loses: ['headings as such (they keep their looks)'] }),
  ...everyPair(['sxw', 'abw', 'wpd', 'wps'], ['txt'], { rank: 70, loses: ['formatting', 'pictures'] }),
  ...everyPair(['sxc', 'slk', 'dif', 'xlsb'], ['pdf', 'xlsx', 'ods', 'csv', 'html'], { rank: 80 }),
  ...everyPair(['sxi'], ['pdf', 'pptx', 'odp'], { rank: 80 }),
  ...everyPair(['odg', 'fodg', 'sxd', 'emf', 'wmf', 'vsdx', 'vsd', 'pub'], ['pdf'], { rank: 80 }),
  ...everyPair(['emf', 'wmf'], ['svg'], { rank: 60 }),
  // No ODG: LibreOffice would put the SVG into it as one picture.
  ...everyPair(['svg'], ['emf', 'wmf'], { rank: 60, loses: ['filters and masks'] }),
  ...everyPair(['emf', 'wmf'], ['png'], { rank: 60 }),
  ...everyPair(['xlsx', 'ods', 'csv'], ['slk', 'dif'], { rank: 45, loses: ['formatting', 'all sheets but the first'] }),
];

export const engine: Engine = {
  id: 'libreoffice',
  name: 'LibreOffice',
  role: 'office',
  toolchains: ['office'],
  binaries: { ...OFFICE, utf8: UTF8, head: HEAD },
  // Compressed drawings are unpacked, too.
  readsUtf8: new Set([...TEXTS, 'svg']),
  conversions: CONVERSIONS,
  trials: [{ file: FODT, target: 'pdf', slow: true }],

  options: (source, target) => [
    ...(ENCRYPTABLE.has(source) ? (['password'] as const) : []),
    ...(target === 'pdf' ? (['pages', 'img_quality', 'pdfa'] as const) : []),
    ...(SEVERAL.has(source) && !SAME_KIND.has(target) ? (['worksheet'] as const) : []),
    ...(target === 'pdf' && SHEETS.includes(source) ? (['sheet_fit'] as const) : []),
    ...(target === 'pdf' && SLIDES.includes(source) ? (['hidden_slides', 'notes'] as const) : []),
    ...(target === 'pdf' && WORDS.includes(source) ? (['comments'] as const) : []),
    ...(WORDS.includes(source) ? (['tracked_changes'] as const) : []),
    ...(SEPARATED.has(source) ? (['csv_types'] as const) : []),
    ...(TEXTS.has(source) ? (['charset'] as const) : []),
  ],

  inspect: INSPECT_SVG,
  plan: (task) => askOffice(task, FAMILIES[task.source]),
  explain: explainOffice,
  limits: OFFICE_LIMITS,
};

function all(family: OfficeModule, sources: readonly string[]): Record<string, OfficeModule> {
  return Object.fromEntries(sources.map((source) => [source, family]));
}
