/** Pages of HTML, and books of them in EPUB. */
import type { Package } from '../package.ts';
import { attributeIn, type Tag, walkTags, withoutEntities } from '../tags.ts';
import { distinctWords } from '../words.ts';
import { type DocumentFacts, isOutside, isRaster, type OfficeFacts, primaryLanguage, shownText } from './facts.ts';
import { textIn } from './ooxml.ts';

/** No text of them shows, or only in a picture. */
const SKIPPED: ReadonlySet<string> = new Set(['script', 'style', 'template', 'noscript', 'head', 'select', 'svg']);
/** Between the letters on both sides of these there is no space. */
const INLINE: ReadonlySet<string> = new Set(
  'a abbr b bdi bdo cite code em font i kbd mark q s samp small span strong sub sup u var wbr'.split(' '),
);

/** These have no end. */
const VOID: ReadonlySet<string> = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '));
const isHidden = (tag: Tag): boolean =>
  /\shidden(?:\s|=|$)/i.test(tag.attributes.replace(/"[^"]*"|'[^']*'/g, '""')) ||
  /display\s{0,9}:\s{0,9}none/i.test(attributeIn(tag, 'style') ?? '');

interface Found {
  readonly text: string;
  readonly title: string;
  readonly language: string;
  readonly headings: number;
  readonly footnotes: number;
  readonly fields: number;
  readonly links: ReadonlySet<string>;
  readonly pictures: ReadonlySet<string>;
}

function foundIn(html: string): Found {
  const pieces: string[] = [];
  const [links, pictures] = [new Set<string>(), new Set<string>()];
  let [title, language, headings, footnotes, fields] = ['', '', 0, 0, 0];
  let [isTitle, skipped, isHeading, hidden] = [false, '', false, 0];
  /** The element that does not show, of which `hidden` are open. */
  let hiding = '';
  const onTag = (tag: Tag): void => {
    const [name, isOpen] = [tag.name.toLowerCase(), tag.kind !== 'close'];
    isTitle = name === 'title' && tag.kind === 'open' && title === '' && skipped !== 'svg';
    if (name === 'select' && isOpen) fields++;
    // The head of a page may have no end: what follows it begins with the body.
    if (skipped === '' && isOpen && tag.kind !== 'empty' && SKIPPED.has(name)) skipped = name;
    else if (skipped !== '' && ((!isOpen && name === skipped) || name === 'body')) skipped = '';
    if (hidden > 0 && name === hiding) hidden += tag.kind === 'open' ? 1 : tag.kind === 'close' ? -1 : 0;
    else if (hidden === 0 && tag.kind === 'open' && !VOID.has(name) && isHidden(tag)) [hiding, hidden] = [name, 1];
    if (!INLINE.has(name)) pieces.push(' ');
    if (/^h[1-6]$/.test(name)) isHeading = tag.kind === 'open';
    if (!isOpen || skipped !== '' || hidden > 0) return;
    if (name === 'html') language = primaryLanguage(attributeIn(tag, 'lang') ?? attributeIn(tag, 'xml:lang') ?? '');
    else if (name === 'a') {
      const address = attributeIn(tag, 'href') ?? '';
      if (isOutside(address)) links.add(address);
      if (/noteref/.test(`${attributeIn(tag, 'role')} ${attributeIn(tag, 'epub:type')} ${attributeIn(tag, 'class')}`)) footnotes++;
    } else if (name === 'img' || name === 'image') {
      const from = attributeIn(tag, 'src') ?? attributeIn(tag, 'xlink:href') ?? '';
      // Only embedded pictures count. Two are the same if length and beginning are: comparing all of a long one costs too much.
      if (from.startsWith('data:image/')) pictures.add(`${from.length} ${from.slice(0, 400)}`);
    } else if ((name === 'input' && attributeIn(tag, 'type') !== 'hidden') || name === 'textarea') fields++;
  };
  const onText = (text: string): void => {
    if (isTitle) title = shownText(withoutEntities(text));
    else if (skipped === '' && hidden === 0) {
      pieces.push(withoutEntities(text));
      if (isHeading && text.trim() !== '') [headings, isHeading] = [headings + 1, false];
    }
  };
  walkTags(html, onTag, onText);
  return { text: pieces.join(''), title, language, headings, footnotes, fields, links, pictures };
}

export function pageFacts(html: string): OfficeFacts {
  const { text, links, pictures, ...found } = foundIn(html);
  return { document: { words: distinctWords(text), isStyled: true, links: links.size, pictures: pictures.size, ...found } };
}

const MOST_CHAPTERS = 5_000;

/** @returns the facts of all chapters together (EPUB 3.3, 5) */
export function bookFacts(file: Package): OfficeFacts {
  let path = '';
  const onRoot = (tag: Tag) => {
    if (tag.name.split(':').at(-1) === 'rootfile' && path === '') path = attributeIn(tag, 'full-path') ?? '';
  };
  walkTags(file.text('META-INF/container.xml'), onRoot, () => {});
  const opf = file.text(path);
  const items = new Map<string, { readonly href: string; readonly isNavigation: boolean }>();
  const spine: string[] = [];
  const onTag = (tag: Tag) => {
    const name = tag.name.split(':').at(-1);
    if (name === 'item' && tag.kind !== 'close') {
      const isNavigation = (attributeIn(tag, 'properties') ?? '').split(' ').includes('nav');
      items.set(attributeIn(tag, 'id') ?? '', { href: attributeIn(tag, 'href') ?? '', isNavigation });
    }
    if (name === 'itemref' && tag.kind !== 'close') spine.push(attributeIn(tag, 'idref') ?? '');
  };
  walkTags(opf, onTag, () => {});
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const chapters = spine.slice(0, MOST_CHAPTERS).flatMap((id) => {
    const item = items.get(id);
    return item === undefined || item.isNavigation ? [] : [foundIn(file.text(`${folder}${nameIn(item.href)}`))];
  });
  const sum = (of: (chapter: Found) => number) => chapters.reduce((total, chapter) => total + of(chapter), 0);
  const document: DocumentFacts = {
    words: distinctWords(chapters.map(({ text }) => text).join(' ')),
    isStyled: true,
    links: new Set(chapters.flatMap(({ links }) => [...links])).size,
    pictures: [...items.values()].filter(({ href }) => isRaster(href)).length,
    headings: sum(({ headings }) => headings),
    footnotes: sum(({ footnotes }) => footnotes),
    language: primaryLanguage(textIn(opf, 'dc:language').replace(/^und$/, '')),
    title: textIn(opf, 'dc:title'),
  };
  return { document };
}

function nameIn(href: string): string {
  try {
    return decodeURIComponent(href);
  } catch {
    return href;
  }
}
