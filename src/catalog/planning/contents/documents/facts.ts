/** What is known of a document and of the tables in a workbook. A field that is unset was not read; 0, '' and [] mean that there is none. */

export interface DocumentFacts {
  /** Distinct words of its text. */
  readonly words?: readonly string[];
  /** Words that line ends have cut. */
  readonly joined?: readonly string[];
  /** Whether the words are those of the source text, with addresses and marks that do not show. */
  readonly isMarkup?: boolean;
  /** Whether the words are those of cells, without numbers. */
  readonly isCells?: boolean;
  /** Whether styles may hide some of the words. */
  readonly isStyled?: boolean;
  /** Whether one of its styles hides text, which may be all of it. */
  readonly hasHiding?: boolean;
  /** Pages of a PDF, or slides that are shown. */
  readonly pages?: number;
  /** Distinct sizes, in order, as `210 × 297 mm`. */
  readonly pageSizes?: readonly string[];
  /** How many distinct addresses outside of the document it links to. */
  readonly links?: number;
  /** Headings, or entries of a PDF's outline. */
  readonly headings?: number;
  readonly fields?: number;
  /** Pictures of pixels. */
  readonly pictures?: number;
  /** At the foot of a page or at the end. */
  readonly footnotes?: number;
  /** Slides with notes for the speaker. */
  readonly speakerNotes?: number;
  readonly hiddenSlides?: number;
  readonly comments?: number;
  /** Tracked insertions and deletions. */
  readonly changes?: number;
  /** Files in it. */
  readonly attachments?: number;
  /** `de`: without the country. */
  readonly language?: string;
  readonly title?: string;
}

export interface TableFacts {
  readonly sheets?: number;
  readonly hiddenSheets?: number;
  /** Those of all sheets together, up to the last cell with something in it. */
  readonly rows?: number;
  /** Those of the widest sheet. */
  readonly columns?: number;
  readonly numbers?: number;
  readonly dates?: number;
  readonly truths?: number;
  readonly formulas?: number;
  readonly mergedCells?: number;
  readonly cellNotes?: number;
  readonly cellLinks?: number;
}

/** What a reader of an office package knows of a file. */
export interface OfficeFacts {
  readonly document?: DocumentFacts;
  readonly table?: TableFacts;
}

export const millimetres = (width: number, height: number): string => `${Math.round(width)} × ${Math.round(height)} mm`;

/** The distinct values, in order. @param most how many at most */
export const distinct = (values: Iterable<string>, most = 8): readonly string[] => [...new Set(values)].slice(0, most);

export const isOutside = (address: string): boolean => /^(?:https?|mailto|ftp|tel):/i.test(address.slice(0, 8));
export const isRaster = (name: string): boolean => /\.(?:png|jpe?g|gif|bmp|tiff?|webp)$/i.test(name);
export const primaryLanguage = (tag: string): string => tag.split(/[-_]/, 1)[0]?.toLowerCase().slice(0, 8) ?? '';

/** A text as it is shown in a receipt. */
export const shownText = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, 200);
