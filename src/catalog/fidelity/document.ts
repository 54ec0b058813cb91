/** What a document has that its result should have too, and which formats can contain it. */
import type { Options } from '../options/options.ts';
import type { DocumentFacts } from '../planning/contents/documents/facts.ts';
import { comparedWords, foundWords, MEASURED_PAGES } from '../planning/contents/words.ts';
import { among, counted } from './counted.ts';
import type { FidelityProperty } from './fidelity.ts';

/** How many words of the source are compared, or how many of those the result has. */
export interface DocumentSide extends DocumentFacts {
  readonly found: number | undefined;
}

type DocumentProperty = FidelityProperty<DocumentSide, Options>;

/** Both sides of a receipt. */
export function documentSides(source: DocumentFacts, result: DocumentFacts): readonly [DocumentSide, DocumentSide] {
  const isPart = (result.pages ?? 0) > MEASURED_PAGES;
  const compared = source.words && comparedWords(source.words, isPart ? result.words : undefined);
  return [
    { ...source, found: compared?.length },
    { ...result, found: compared && result.words && foundWords(compared, result.words, result.joined) },
  ];
}

const TEXTS = 'docx doc odt fodt rtf';
const SLIDES = 'pptx ppt odp fodp';
const SHEETS = 'xlsx xls ods fods';
/** Words that a page number, a date or the end of a line made others: two, or a share, but no text of a few words. */
const WORD_ROUNDS = 0.01;
const otherWords = (all: number): number => Math.max(Math.min(2, Math.floor(all / 4)), Math.floor(all * WORD_ROUNDS));
const MM_ROUNDS = 1;
/** Fewer may be what a program generates, such as the numbers of pages. */
const CERTAIN_WORDS = 20;

/** Some pages, and one sheet, have some of it. */
export const somePages = ({ pages, worksheet }: Options): boolean => pages !== undefined || worksheet !== undefined;
/** Whose tracked changes become text, or go. */
const isSettled = ({ tracked_changes: changes }: Options): boolean => changes === 'accept' || changes === 'reject';
const number = (name: string, count: (side: DocumentSide) => number | undefined, formats: string, asked = somePages): DocumentProperty =>
  counted({ name, count, fits: among(formats), asked });
const said = (name: string, show: (side: DocumentSide) => string | undefined, formats: string): DocumentProperty => ({
  name,
  show: (side) => show(side) || undefined,
  asked: somePages,
  unsure: (_, result) => show(result) === undefined,
  fits: among(formats),
});

export const textProperty: DocumentProperty = counted({
  name: 'text',
  count: ({ found }) => found,
  of: ' words',
  tolerance: otherWords,
  asked: (options, { changes = 0 }) => somePages(options) || (isSettled(options) && changes > 0),
  // The marks of a source are no text, a page's styles may hide some where it is printed, and a table of a page is a part of it.
  unsure: (source, result) =>
    source.isMarkup === true ||
    (source.isStyled === true && result.pages !== undefined) ||
    (result.isCells === true && source.isCells !== true),
  fits: () => true,
  promised: isBlank,
});

/**
 * A text without a word, and without a picture that may show them. Pages are not judged on either side: what a PDF prints in a font of signs, and the
 * invisible words under a scan, are no words to every reader. Nor are those that styles may hide.
 */
function isBlank({ words = [], ...source }: DocumentSide, { words: others, pictures = 0, pages, isCells }: DocumentSide): boolean {
  const isPlain =
    isCells !== true && source.pages === undefined && pages === undefined && source.isStyled !== true && source.hasHiding !== true;
  return isPlain && words.length >= CERTAIN_WORDS && others?.length === 0 && pictures === 0;
}

/** For sheets and e-mails, where what is hidden, or in another part, may be all of it. */
export const unsureTextProperty: DocumentProperty = { ...textProperty, promised: () => false };

export const linksProperty = number('links', ({ links }) => links, `pdf html md epub ${TEXTS} ${SLIDES} ${SHEETS}`);

export const documentProperties: readonly DocumentProperty[] = [
  textProperty,
  number('pages', ({ pages }) => pages, `pdf ${TEXTS} ${SLIDES}`),
  {
    name: 'page_size',
    show: ({ pageSizes }) => (pageSizes === undefined || pageSizes.length === 0 ? undefined : pageSizes.join(', ')),
    same: (source, result) => (source.pageSizes ?? []).every((size) => (result.pageSizes ?? []).some((other) => isNear(size, other))),
    asked: somePages,
    unsure: (_, { pageSizes }) => pageSizes === undefined || pageSizes.length === 0,
    fits: among(`pdf ${TEXTS} ${SLIDES}`),
  },
  linksProperty,
  number('outline', ({ headings }) => headings, `pdf html md epub ${TEXTS}`),
  number(
    'form_fields',
    ({ fields }) => fields,
    `pdf html ${TEXTS}`,
    (options) => somePages(options) || options.pdfa !== undefined,
  ),
  {
    ...number('pictures', ({ pictures }) => pictures, `pdf html epub ${TEXTS} ${SLIDES} ${SHEETS}`),
    // One that stands twice is stored once by some, and one that is made of parts is several.
    unsure: (_, { pictures }) => pictures !== 0,
  },
  number('footnotes', ({ footnotes }) => footnotes, `pdf html md epub ${TEXTS}`),
  number('speaker_notes', ({ speakerNotes }) => speakerNotes, SLIDES),
  number('hidden_slides', ({ hiddenSlides }) => hiddenSlides, SLIDES),
  number(
    'comments',
    ({ comments }) => comments,
    `pdf ${TEXTS} ${SLIDES}`,
    (options) => somePages(options) || options.pdfa !== undefined || options.comments === 'none',
  ),
  // Programs count the parts of a change as they please: what matters is that they are there.
  {
    ...number(
      'tracked_changes',
      ({ changes }) => changes,
      TEXTS,
      (options) => somePages(options) || isSettled(options),
    ),
    same: (_, { changes = 0 }) => changes > 0,
  },
  number('attached_files', ({ attachments }) => attachments, 'pdf'),
  said('language', ({ language }) => language, `pdf html epub ${TEXTS}`),
  said('title', ({ title }) => title, `pdf html epub ${TEXTS} ${SLIDES} ${SHEETS}`),
];

function isNear(one: string, other: string): boolean {
  const [these, those] = [one, other].map((size) => size.split(/[^\d.]+/, 2).map(Number)) as [number[], number[]];
  return these.every((side, index) => Math.abs(side - (those[index] ?? 0)) <= MM_ROUNDS);
}

/** Has all that a document may have. */
export const RICH_DOCUMENT: DocumentSide = {
  ...{ found: 100, pages: 3, pageSizes: ['210 × 297 mm'], links: 1, headings: 1, fields: 1, pictures: 1, footnotes: 1, speakerNotes: 1 },
  ...{ hiddenSlides: 1, comments: 1, changes: 1, attachments: 1, language: 'de', title: 'A' },
};
