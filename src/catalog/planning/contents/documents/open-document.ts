/** Texts, sheets, slides and drawings in OpenDocument (OASIS, OpenDocument 1.3 part 3), packed or flat. */
import type { Package } from '../package.ts';
import { attributeIn, type Tag, walkTags, withoutEntities } from '../tags.ts';
import { cellWords, distinctWords } from '../words.ts';
import { type DocumentFacts, distinct, isOutside, isRaster, millimetres, type OfficeFacts, primaryLanguage } from './facts.ts';
import { textIn } from './ooxml.ts';
import { sheetCounter } from './open-sheets.ts';

export const openDocumentFacts = (file: Package): OfficeFacts =>
  factsIn({ content: file.text('content.xml'), styles: file.text('styles.xml'), meta: file.text('meta.xml') });

/** All of it in one file. */
export const flatDocumentFacts = (xml: string): OfficeFacts => factsIn({ content: xml, styles: xml, meta: xml });

interface Parts {
  readonly content: string;
  readonly styles: string;
  readonly meta: string;
}

const MM: Readonly<Record<string, number>> = { mm: 1, cm: 10, in: 25.4, pt: 25.4 / 72, pc: 25.4 / 6 };
function length(value = ''): number {
  const [, number, unit = ''] = /^(\d{1,6}(?:\.\d{1,8})?)(mm|cm|in|pt|pc)$/.exec(value) ?? [];
  return Number(number) * (MM[unit] ?? Number.NaN);
}

interface Layouts {
  /** By the name of a page's master. */
  readonly sizes: ReadonlyMap<string, string>;
  readonly hidden: ReadonlySet<string>;
  readonly language: string;
  /** The master of the page that each style begins. */
  readonly begun: ReadonlyMap<string, string>;
}

/** Sizes of pages, styles of slides and sheets that are hidden, and the language of a text that names none. */
function layoutsIn(...all: readonly string[]): Layouts {
  const [layouts, masters, hidden] = [new Map<string, string>(), new Map<string, string>(), new Set<string>()];
  const begun = new Map<string, string>();
  let [layout, style, language] = ['', '', ''];
  const onTag = (tag: Tag): void => {
    if (tag.kind === 'close') return;
    if (tag.name === 'style:page-layout') layout = attributeIn(tag, 'style:name') ?? '';
    else if (tag.name === 'style:style') {
      style = attributeIn(tag, 'style:name') ?? '';
      const master = attributeIn(tag, 'style:master-page-name') ?? begun.get(attributeIn(tag, 'style:parent-style-name') ?? '');
      if (master !== undefined && master !== '') begun.set(style, master);
    }
    if (tag.name === 'style:page-layout-properties') {
      const [width, height] = [length(attributeIn(tag, 'fo:page-width')), length(attributeIn(tag, 'fo:page-height'))];
      if (width > 0 && height > 0) layouts.set(layout, millimetres(width, height));
    } else if (tag.name === 'style:drawing-page-properties' && attributeIn(tag, 'presentation:visibility') === 'hidden') hidden.add(style);
    else if (tag.name === 'style:table-properties' && attributeIn(tag, 'table:display') === 'false') hidden.add(style);
    else if (tag.name === 'style:text-properties' && language === '') {
      const named = attributeIn(tag, 'fo:language');
      if (named !== undefined && named !== 'none' && named !== 'zxx') language = primaryLanguage(named);
    } else if (tag.name === 'style:master-page') {
      const size = layouts.get(attributeIn(tag, 'style:page-layout-name') ?? '');
      if (size !== undefined) masters.set(attributeIn(tag, 'style:name') ?? '', size);
    }
  };
  for (const xml of all) walkTags(xml, onTag, () => {});
  return { sizes: masters, hidden, language, begun };
}

/** What is not part of the text as it is read. */
const SKIPPED: ReadonlySet<string> = new Set([
  'text:tracked-changes',
  'office:annotation',
  'office:meta',
  'svg:title',
  'svg:desc',
  'text:note-citation',
  // What is filled in on another day or page.
  ...['text:date', 'text:time', 'text:page-number', 'text:page-count'],
  'office:styles',
  'office:master-styles',
]);
const BREAKS: ReadonlySet<string> = new Set(['text:p', 'text:h', 'text:s', 'text:tab', 'text:line-break', 'table:table-cell']);

function factsIn({ content, styles, meta }: Parts): OfficeFacts {
  const layouts = layoutsIn(...new Set([styles, content]));
  const pieces: string[] = [];
  const [links, pictures, masters]: [Set<string>, Set<string>, string[]] = [new Set(), new Set(), []];
  const sheets = sheetCounter(layouts.hidden);
  let [headings, footnotes, comments, changes, fields, embedded] = [0, 0, 0, 0, 0, 0];
  let [slides, hiddenSlides, speakerNotes, skipped, notes] = [0, 0, 0, 0, 0];
  let [isBody, isHidden, hasNotes] = [false, false, false];
  const onTag = (tag: Tag): void => {
    const { name, kind } = tag;
    const by = kind === 'open' ? 1 : kind === 'close' ? -1 : 0;
    if (name === 'office:body') isBody = kind === 'open';
    if (SKIPPED.has(name)) skipped += by;
    if (name === 'text:changed-region' && kind === 'open') changes++;
    if (name === 'office:annotation' && kind === 'open') comments++;
    if (name === 'office:binary-data' && kind === 'open') embedded++;
    if (!isBody || skipped > 0) return;
    if (name === 'presentation:notes') {
      notes += by;
      hasNotes = false;
    }
    if (BREAKS.has(name)) pieces.push(' ');
    sheets.onTag(tag);
    if (kind === 'close') return;
    const master = attributeIn(tag, name === 'draw:page' ? 'draw:master-page-name' : 'text:master-page-name');
    if (master !== undefined) masters.push(master);
    if (name === 'text:p' || name === 'text:h' || name === 'table:table') {
      const begins = layouts.begun.get(attributeIn(tag, name === 'table:table' ? 'table:style-name' : 'text:style-name') ?? '');
      if (begins !== undefined) masters.push(begins);
      else if (masters.length === 0) masters.push('Standard', 'Default');
    }
    const link = name === 'text:a' || name === 'draw:a' ? attributeIn(tag, 'xlink:href') : undefined;
    if (link !== undefined && isOutside(link)) links.add(link);
    const picture = name === 'draw:image' && notes === 0 ? attributeIn(tag, 'xlink:href') : undefined;
    if (picture !== undefined && isRaster(picture)) pictures.add(picture);
    if (name === 'text:h' && kind === 'open') headings++;
    if (name === 'text:note') footnotes++;
    if (FIELD.test(name) || (FIELD_MARK.test(name) && /\.FORM[A-Z]{1,20}$/.test(attributeIn(tag, 'field:type') ?? ''))) fields++;
    if (name === 'draw:page') {
      isHidden = layouts.hidden.has(attributeIn(tag, 'draw:style-name') ?? '');
      if (isHidden) hiddenSlides++;
      else slides++;
    }
  };
  const onText = (text: string): void => {
    if (!isBody || skipped > 0) return;
    if (notes > 0) {
      if (!hasNotes && text.trim() !== '') {
        speakerNotes++;
        hasNotes = true;
      }
      return;
    }
    if (!isHidden && sheets.isText()) pieces.push(withoutEntities(text));
  };
  walkTags(content, onTag, onText);
  const table = sheets.facts();
  const common: DocumentFacts = {
    ...(table !== undefined && { isCells: true }),
    words: (table === undefined ? distinctWords : cellWords)(pieces.join('')),
    links: links.size,
    pictures: pictures.size === 0 ? embedded : pictures.size,
    comments: table === undefined ? comments : 0,
    language: layouts.language,
    title: textIn(meta, 'dc:title'),
    ...([content, styles].some((xml) => /text:(?:display="(?:none|condition)|is-hidden=)/.test(xml)) && { hasHiding: true }),
  };
  if (table !== undefined) return { document: common, table: { ...table, cellNotes: comments, cellLinks: links.size } };
  const used = masters.length === 0 ? ['Standard', 'Default'] : masters;
  const pageSizes = distinct(used.flatMap((name) => layouts.sizes.get(name) ?? []));
  if (slides + hiddenSlides > 0) return { document: { ...common, pages: slides, hiddenSlides, speakerNotes, pageSizes } };
  return { document: { ...common, pageSizes, headings, footnotes, changes, fields } };
}

const FIELD_MARK = /^field:fieldmark(?:-start)?$/;
const FIELD = /^form:(?:text|textarea|password|checkbox|radio|combobox|listbox|date|time|number|formatted-text)$/;
