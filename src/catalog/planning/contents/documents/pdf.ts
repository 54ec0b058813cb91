/** What a PDF has, without its text (ISO 32000-1). */
import { type DocumentFacts, distinct, isOutside, millimetres, type OfficeFacts, primaryLanguage, shownText } from './facts.ts';
import { isPdfString, objectsIn, type PdfObjects, referenceOf } from './pdf-objects.ts';
import { type PdfDictionary, type PdfValue, textOfString } from './pdf-values.ts';

const MM_PER_POINT = 25.4 / 72;
const MOST_PAGES = 5_000;
const MOST_ENTRIES = 20_000;
const MOST_LEVELS = 40;

/** @throws Unmeasured */
export function pdfFacts(bytes: Buffer): OfficeFacts {
  const objects = objectsIn(bytes);
  const pages = pagesIn(objects);
  const title = objects.get(objects.info.get('Title'));
  const language = objects.get(objects.root.get('Lang'));
  const document: DocumentFacts = {
    pages: pages.length,
    pageSizes: distinct(pages.flatMap(({ size }) => size ?? [])),
    ...notesOn(objects, pages),
    headings: entriesIn(objects),
    pictures: picturesIn(objects),
    attachments: objects.dictionary(objects.root.get('Names')).has('EmbeddedFiles') ? 1 : 0,
    language: isPdfString(language) ? primaryLanguage(textOfString(language)) : '',
    title: isPdfString(title) ? shownText(textOfString(title)) : '',
  };
  return { document };
}

interface Page {
  readonly page: PdfDictionary;
  readonly size: string | undefined;
}

function pagesIn(objects: PdfObjects): readonly Page[] {
  const pages: Page[] = [];
  const seen = new Set<PdfValue>();
  const walk = (value: PdfValue | undefined, above: PdfDictionary, level: number): void => {
    const node = objects.dictionary(value);
    if (seen.has(node) || level > MOST_LEVELS || pages.length >= MOST_PAGES) return;
    seen.add(node);
    const inherited = new Map([...above, ...[...node].filter(([key]) => INHERITED.has(key))]);
    const kids = objects.list(node.get('Kids'));
    if (node.has('Kids')) for (const kid of kids) walk(kid, inherited, level + 1);
    else if (node.get('Type') === '/Page' || node.has('MediaBox') || node.has('Contents'))
      pages.push({ page: node, size: sizeOf(objects, inherited) });
  };
  walk(objects.root.get('Pages'), new Map(), 0);
  return pages;
}
/** 7.7.3.4 */
const INHERITED: ReadonlySet<string> = new Set(['MediaBox', 'CropBox', 'Rotate', 'UserUnit']);

function sizeOf(objects: PdfObjects, page: PdfDictionary): string | undefined {
  const box = objects.list(page.get('CropBox') ?? page.get('MediaBox')).map((value) => Number(objects.get(value)));
  const [left = 0, bottom = 0, right = 0, top = 0] = box;
  const unit = MM_PER_POINT * Number(objects.get(page.get('UserUnit')) ?? 1);
  const [width, height] = [Math.abs(right - left) * unit, Math.abs(top - bottom) * unit];
  if (!(width > 0 && height > 0)) return undefined;
  return Number(objects.get(page.get('Rotate')) ?? 0) % 180 === 0 ? millimetres(width, height) : millimetres(height, width);
}

/** 12.5: links, fields, and what readers have written. */
function notesOn(objects: PdfObjects, pages: readonly Page[]): Pick<DocumentFacts, 'links' | 'fields' | 'comments'> {
  const links = new Set<string>();
  let [fields, comments, left] = [0, 0, MOST_ENTRIES];
  for (const { page } of pages)
    for (const value of objects.list(page.get('Annots'))) {
      if (--left < 0) return { links: links.size, fields, comments };
      const note = objects.dictionary(value);
      const kind = note.get('Subtype');
      if (kind === '/Widget') fields++;
      else if (kind === '/Link') {
        const address = objects.get(objects.dictionary(note.get('A')).get('URI'));
        if (isPdfString(address) && isOutside(address.text)) links.add(address.text);
      } else if (kind !== '/Popup' && kind !== undefined) comments++;
    }
  return { links: links.size, fields, comments };
}

/** 12.3.3 */
function entriesIn(objects: PdfObjects): number {
  const seen = new Set<PdfValue>();
  const waiting: (PdfValue | undefined)[] = [objects.dictionary(objects.root.get('Outlines')).get('First')];
  while (waiting.length > 0 && seen.size < MOST_ENTRIES) {
    const entry = objects.dictionary(waiting.pop());
    if (entry.size === 0 || seen.has(entry)) continue;
    seen.add(entry);
    waiting.push(entry.get('Next'), entry.get('First'));
  }
  return seen.size;
}

/** 8.9.5: those that are not the transparency of others. */
function picturesIn({ streams }: PdfObjects): number {
  const pictures = streams.filter(([, dictionary]) => dictionary.get('Subtype') === '/Image' && dictionary.get('ImageMask') !== true);
  const masks = new Set(pictures.flatMap(([, dictionary]) => [referenceOf(dictionary.get('SMask')), referenceOf(dictionary.get('Mask'))]));
  return pictures.filter(([number]) => !masks.has(number)).length;
}
