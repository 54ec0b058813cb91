/** Reads what a receipt compares, of every kind of file that is no picture and no recording. */
import type { Facts } from '../../engine.ts';
import type { Pieces } from '../pieces.ts';
import { unicodeOf, wholeOf } from './bytes.ts';
import type { DocumentFacts, OfficeFacts, TableFacts } from './documents/facts.ts';
import { flatDocumentFacts, openDocumentFacts } from './documents/open-document.ts';
import { bookFacts, pageFacts } from './documents/page.ts';
import { pdfFacts } from './documents/pdf.ts';
import { markdownFacts, separatedFacts, textFacts } from './documents/plain.ts';
import { slideFacts } from './documents/slides.ts';
import { wordFacts } from './documents/word.ts';
import { workbookFacts } from './documents/workbook.ts';
import { type ArchiveFacts, cpioArchive, tarArchive, zipArchive } from './others/archive.ts';
import { type FontContents, fontFacts } from './others/font.ts';
import { type MailFacts, mailFacts } from './others/mail.ts';
import { type ModelFacts, modelFacts } from './others/model.ts';
import { openPackage, type Package } from './package.ts';

/** What a file is, by its kinds: a workbook is a table, and a document with a text. */
export interface Contents {
  readonly document?: DocumentFacts;
  readonly table?: TableFacts;
  readonly mail?: MailFacts;
  readonly archive?: ArchiveFacts;
  readonly font?: FontContents;
  readonly model?: ModelFacts;
}

type Read = (file: Pieces) => Contents;
interface Reader {
  /** What a file of the format can be. */
  readonly kinds: readonly (keyof Contents)[];
  readonly read: Read;
}

const packaged =
  (read: (file: Package) => OfficeFacts): Read =>
  (file) =>
    read(openPackage(file));
const written =
  (read: (text: string) => OfficeFacts): Read =>
  (file) =>
    read(unicodeOf(wholeOf(file)));
const all = (formats: string, kinds: readonly (keyof Contents)[], reader: (format: string) => Read) =>
  formats.split(' ').map((format) => [format, { kinds, read: reader(format) }] as const);

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ...all('docx', ['document'], () => packaged(wordFacts)),
  ...all('pptx', ['document'], () => packaged(slideFacts)),
  ...all('xlsx', ['table', 'document'], () => packaged(workbookFacts)),
  ...all('ods', ['table', 'document'], () => packaged(openDocumentFacts)),
  ...all('odt odp', ['document'], () => packaged(openDocumentFacts)),
  ...all('fods', ['table', 'document'], () => written(flatDocumentFacts)),
  ...all('fodt fodp', ['document'], () => written(flatDocumentFacts)),
  ...all('epub', ['document'], () => packaged(bookFacts)),
  ...all('html', ['document'], () => written(pageFacts)),
  ...all('md', ['document'], () => written(markdownFacts)),
  ...all('txt', ['document'], () => written(textFacts)),
  ...all('csv', ['table', 'document'], () => written((text) => separatedFacts(text))),
  ...all('tsv', ['table', 'document'], () => written((text) => separatedFacts(text, '\t'))),
  ...all('pdf', ['document'], () => (file) => pdfFacts(wholeOf(file))),
  ...all('eml', ['mail', 'document'], () => mailFacts),
  ...all('zip cbz', ['archive'], () => (file) => ({ archive: zipArchive(file) })),
  ...all('tar tgz tzst', ['archive'], (format) => (file) => ({ archive: tarArchive(format, file) })),
  ...all('cpio', ['archive'], () => (file) => ({ archive: cpioArchive(file) })),
  ...all('ttf otf woff woff2', ['font'], (format) => (file) => ({ font: fontFacts(format, file) })),
  ...all('stl obj ply off gltf glb 3mf dae', ['model'], (format) => (file) => ({ model: modelFacts(format, file) })),
]);

/** Empty for a format that has no reader. */
export const kindsOf = (format: string): ReadonlySet<keyof Contents> => new Set(READERS.get(format)?.kinds);

/** @returns nothing of a file that is damaged, encrypted, or larger than is read: a receipt costs no conversion, whatever its readers stumble over */
export function contentsOf(format: string, file: Pieces): Facts {
  try {
    return { contents: READERS.get(format)?.read(file) };
  } catch {
    return {};
  }
}
