/** The page of a web archive as one file that runs and loads nothing. */
import { html, parse, parseFragment, serialize, type DefaultTreeAdapterTypes as Tree, defaultTreeAdapter as tree } from 'parse5';
import { beyond, FileRefused } from '../../data/values/value.ts';
import type { Told } from '../../process/answer.ts';
import { decodeText, encodingOf, toldOf } from '../../text/charset.ts';
import { wordsIn } from './body.ts';
import { attributeOf, innerText, isElement, makeHarmless, nodesBelow, type PageResources } from './harmless.ts';
import { contentIdOf, isContentId, picturesOf } from './shown.ts';
import { styled } from './styles.ts';
import { type ArchivedPart, LONGEST_BASE, resolved, type WebArchive } from './web-archive.ts';

/** Style sheets that import one another. */
const MOST_IMPORTS = 10;
/** All style sheets together, each as often as it is referred to, characters. */
const MOST_CSS = 32 << 20;
/** All links together, characters: each of them may repeat the base. */
const MOST_LINKS = 32 << 20;
/** What each reference counts for at least, characters. */
const LEAST_CSS = 100;
const POLICY = "default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'";

export interface WebPage {
  readonly title: string;
  /** Frames of the page, which are left out: how many. */
  readonly frames: number;
  readonly told: readonly Told[];
  /** @param above HTML that is shown before the page's own */
  write(above: string): string;
  /** What a reader sees of it, without its formatting. */
  words(): string;
}

/** @throws FileRefused */
export function webPageOf({ page, parts, subject }: WebArchive): WebPage {
  const decoded = decodeText(page.bytes, ['html'], page.charset);
  const document = parse(decoded.text, { scriptingEnabled: false });
  const elements = [...nodesBelow(document)].map(({ node }) => node).filter(isElement);
  const named = (name: string) => elements.find(({ tagName, namespaceURI }) => tagName === name && namespaceURI === html.NS.HTML);
  const [head, body, title, base] = [named('head'), named('body'), named('title'), named('base')];
  if (head === undefined || body === undefined)
    throw new FileRefused('unsupported_variant', 'The page in the web archive has only frames, which are not read.');
  const name = (title === undefined ? '' : innerText(title).trim()) || subject;
  const href = base === undefined ? '' : attributeOf(base, 'href');
  makeHarmless(document, partsOf(parts, page, resolved(href, page.base)));
  return {
    title: name,
    frames: elements.filter(({ tagName }) => tagName === 'iframe').length,
    told: toldOf(decoded),
    write(above) {
      const policy = element('meta', { 'http-equiv': 'Content-Security-Policy', content: POLICY });
      const titled = element('title', {});
      tree.insertText(titled, name);
      prepend(head, [element('meta', { charset: 'utf-8' }), policy, titled]);
      prepend(body, parseFragment(above).childNodes);
      return `${serialize(document)}\n`;
    },
    words: () => wordsIn(body),
  };
}

const element = (name: string, attributes: Readonly<Record<string, string>>): Tree.Element =>
  tree.createElement(
    name,
    html.NS.HTML,
    Object.entries(attributes).map(([key, value]) => ({ name: key, value })),
  );

function prepend(parent: Tree.Element, nodes: readonly Tree.ChildNode[]): void {
  const [first] = parent.childNodes;
  for (const node of nodes) {
    if (first === undefined) tree.appendChild(parent, node);
    else tree.insertBefore(parent, node, first);
  }
}

/** What the page refers to by `cid:` or by a URL. If several parts have one URL, the first counts. @param base of the page's references */
function partsOf(parts: readonly ArchivedPart[], page: ArchivedPart, base: string): PageResources {
  const [byId, byLocation] = [new Map<string, ArchivedPart>(), new Map<string, ArchivedPart>()];
  for (const part of parts) {
    if (part.id !== undefined) byId.getOrInsert(part.id, part);
    if (part.location !== undefined) byLocation.getOrInsert(part.location, part);
  }
  const find = (reference: string, from: string): ArchivedPart | undefined => {
    if (/^\s{0,20}data:/i.test(reference)) return undefined;
    const named = isContentId(reference) ? byId.get(contentIdOf(reference)) : undefined;
    return named ?? byLocation.get(resolved(reference, from));
  };
  const pictures = picturesOf();
  const picture = (reference: string, from: string): string | undefined => {
    const part = find(reference, from);
    return part === undefined ? undefined : pictures(part);
  };
  let written = 0;
  const sheet = (reference: string, from: string, level: number): string | undefined => {
    const part = level > MOST_IMPORTS ? undefined : find(reference, from);
    if (part?.type !== 'text/css') return undefined;
    written += part.bytes.length + LEAST_CSS;
    if (written > MOST_CSS) throw beyond('bytes of the style sheets of a page', MOST_CSS, written);
    return styled(cssIn(part), {
      picture: (inside) => picture(inside, part.base),
      sheet: (inside) => sheet(inside, part.base, level + 1),
    });
  };
  let linked = 0;
  return {
    picture: (reference) => picture(reference, base),
    sheet: (reference) => sheet(reference, base, 1),
    link(reference) {
      if (reference.startsWith('#') || !/^https?:/.test(base) || base.length > LONGEST_BASE) return reference;
      const url = URL.parse(reference, base);
      if (url === null) return reference;
      linked += url.href.length;
      if (linked > MOST_LINKS) throw beyond('characters of the links of a page', MOST_LINKS, linked);
      return url.hash !== '' && resolved(url.href, base) === page.location ? url.hash : url.href;
    },
  };
}

/** CSS Syntax 3, 3.2. */
function cssIn({ bytes, charset }: ArchivedPart): string {
  const declared = /^@charset "([\w.:-]{1,40})";/.exec(bytes.toString('latin1', 0, 100))?.[1];
  const text = new TextDecoder(charset ?? encodingOf(declared ?? '') ?? 'utf-8').decode(bytes);
  return text.replace(/^@charset [^;]{0,100};/, '');
}
