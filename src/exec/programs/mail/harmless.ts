/** A tree of HTML made to run and load nothing, with the parts of its file that it shows inside. */
import { html, type DefaultTreeAdapterTypes as Tree, defaultTreeAdapter as tree } from 'parse5';
import { beyond } from '../values/value.ts';
import { type StyleParts, styled } from './styles.ts';

/** Elements in elements: parse5 writes them by recursion. */
const MOST_LEVELS = 500;
/** What runs, loads, or changes what the rest of the page means. */
export const DROPPED: ReadonlySet<string> = new Set([
  ...['script', 'noscript', 'iframe', 'frame', 'frameset', 'object', 'embed', 'applet', 'base', 'link', 'meta', 'title', 'template'],
  ...['audio', 'video', 'source', 'track'],
]);
/** Of SVG, whose `href` is what a picture's `src` is in HTML. */
const DRAWN: ReadonlySet<string> = new Set(['image', 'feimage']);

/** What a page can refer to in its own file. */
export interface Parts extends StyleParts {
  /** @returns where a link leads outside the page */
  readonly link: (reference: string) => string;
}

export const isElement = (node: Tree.Node): node is Tree.Element => 'tagName' in node;

export const attributeOf = ({ attrs }: Tree.Element, name: string): string => attrs.find((each) => each.name === name)?.value ?? '';

/** Each node after its parent, without recursion. What is detached meanwhile is not entered. @throws Unfit where they are too deep in each other */
export function* nodesBelow(top: Tree.ParentNode): Generator<{ readonly node: Tree.ChildNode; readonly depth: number }> {
  const stack = top.childNodes.map((node) => ({ node, depth: 1 })).reverse();
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { node, depth } = next;
    if (depth > MOST_LEVELS) throw beyond('elements in each other', MOST_LEVELS);
    yield next;
    if (isElement(node) && node.parentNode !== null)
      for (let i = node.childNodes.length - 1; i >= 0; i--) stack.push({ node: node.childNodes[i] as Tree.ChildNode, depth: depth + 1 });
  }
}

export function makeHarmless(top: Tree.ParentNode, parts: Parts): void {
  for (const { node } of nodesBelow(top)) {
    // Some were programs for old browsers.
    if (node.nodeName === '#comment') tree.detachNode(node);
    if (!isElement(node)) continue;
    if (node.tagName === 'template') openShadow(node);
    if (node.tagName === 'link') replaceLink(node, parts);
    else if (DROPPED.has(node.tagName)) tree.detachNode(node);
    else {
      node.attrs = node.attrs.flatMap((attribute) => harmless(node.tagName, attribute, parts));
      if (node.tagName === 'style') setStyles(node, styled(innerText(node), parts));
    }
  }
}

/** The inside of an element with a shadow tree becomes a part of the page, without its own styles, as browsers write it (HTML, 4.12.3). */
function openShadow(element: Tree.Element): void {
  if (attributeOf(element, 'shadowmode') === '' && attributeOf(element, 'shadowrootmode') === '') return;
  const inside = tree.getTemplateContent(element as Tree.Template).childNodes;
  element.childNodes = inside.filter(({ nodeName }) => nodeName !== 'link' && nodeName !== 'style');
  for (const node of element.childNodes) node.parentNode = element;
  [element.tagName, element.nodeName] = ['div', 'div'];
}

export const innerText = ({ childNodes }: Tree.Element): string =>
  childNodes.map((node) => (node.nodeName === '#text' ? (node as Tree.TextNode).value : '')).join('');

function replaceLink(link: Tree.Element, parts: Parts): void {
  const kinds = attributeOf(link, 'rel').slice(0, 100).toLowerCase().split(/\s+/);
  const isSheet = kinds.includes('stylesheet') && !kinds.includes('alternate');
  const css = isSheet ? parts.sheet(attributeOf(link, 'href')) : undefined;
  if (css !== undefined && link.parentNode !== null) {
    const style = tree.createElement(
      'style',
      html.NS.HTML,
      link.attrs.filter(({ name }) => name === 'media'),
    );
    setStyles(style, css);
    tree.insertBefore(link.parentNode, style, link);
  }
  tree.detachNode(link);
}

/** A style sheet of its own could end the element: in CSS, the backslash changes nothing. */
function setStyles(style: Tree.Element, css: string): void {
  style.childNodes = [];
  tree.insertText(style, css.replace(/<\/(?=style)/gi, '<\\/'));
}

type Attribute = Tree.Element['attrs'][number];

function harmless(element: string, attribute: Attribute, parts: Parts): readonly Attribute[] {
  const { name, value } = attribute;
  if (name.startsWith('on') || name === 'srcset' || name === 'ping') return [];
  if (name === 'style') return [{ ...attribute, value: styled(value, parts) }];
  // Browsers leave out white space.
  const compact = value.slice(0, 200).replace(/[\0-\x20]/g, '');
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(compact)?.[1]?.toLowerCase();
  const isReference = name === 'href' || name === 'xlink:href';
  const isPicture = name === 'src' || name === 'background' || (isReference && DRAWN.has(element.toLowerCase()));
  if (!isPicture && (isReference || name === 'action' || name === 'formaction'))
    return ['http', 'https', 'mailto', 'tel', undefined].includes(scheme) ? [{ ...attribute, value: parts.link(value) }] : [];
  if (!isPicture) return [attribute];
  const data = element === 'input' ? undefined : parts.picture(value);
  if (data !== undefined) return [{ ...attribute, value: data }];
  return scheme === 'cid' || (isReference && scheme !== 'data') ? [] : [attribute];
}
