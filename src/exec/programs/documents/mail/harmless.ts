/** A tree of HTML reduced to what runs and loads nothing (`allowed.ts`), with the parts of its file that it shows inside. */
import { html, type DefaultTreeAdapterTypes as Tree, defaultTreeAdapter as tree } from 'parse5';
import { beyond } from '../../data/values/value.ts';
import { fateOf, mayHave } from './allowed.ts';
import { type StyleResources, styled } from './styles.ts';

/** Elements in elements: parse5 writes them by recursion. */
const MOST_LEVELS = 500;
/** Elements of SVG whose `href` means what a picture's `src` means in HTML. */
const DRAWN: ReadonlySet<string> = new Set(['image', 'feimage']);

/** Resolves what a page refers to in its own file. */
export interface PageResources extends StyleResources {
  /** @returns where a link leads outside the page */
  readonly link: (reference: string) => string;
}

export const isElement = (node: Tree.Node): node is Tree.Element => 'tagName' in node;

export const attributeOf = ({ attrs }: Tree.Element, name: string): string => attrs.find((each) => each.name === name)?.value ?? '';

/** Each node after its parent, without recursion: the nodes that a parent has when the walk goes on. @throws FileRefused where they are too deep in each other */
export function* nodesBelow(top: Tree.ParentNode): Generator<{ readonly node: Tree.ChildNode; readonly depth: number }> {
  const stack = top.childNodes.map((node) => ({ node, depth: 1 })).reverse();
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { node, depth } = next;
    if (depth > MOST_LEVELS) throw beyond('elements in each other', MOST_LEVELS);
    yield next;
    if (isElement(node))
      for (let i = node.childNodes.length - 1; i >= 0; i--) stack.push({ node: node.childNodes[i] as Tree.ChildNode, depth: depth + 1 });
  }
}

export function makeHarmless(top: Tree.ParentNode, resources: PageResources): void {
  keepHarmless(top, resources);
  for (const { node } of nodesBelow(top)) if (isElement(node)) keepHarmless(node, resources);
}

/** All of its children at once: to detach one looks through the others. */
function keepHarmless(parent: Tree.ParentNode, resources: PageResources): void {
  parent.childNodes = parent.childNodes.flatMap((node) => harmlessNode(node, resources));
  for (const node of parent.childNodes) node.parentNode = parent;
}

function harmlessNode(node: Tree.ChildNode, resources: PageResources): readonly Tree.ChildNode[] {
  // Some were programs for old browsers.
  if (node.nodeName === '#comment') return [];
  if (!isElement(node)) return [node];
  if (node.tagName === 'template') openShadow(node);
  if (node.tagName === 'link') return sheetOf(node, resources);
  const fate = fateOf(node);
  if (fate === 'dropped') return [];
  if (fate === 'inside') {
    // Parsers read both alike.
    [node.tagName, node.nodeName] = ['span', 'span'];
    node.attrs = [];
  }
  node.attrs = node.attrs.flatMap((attribute) => (mayHave(node, attribute) ? harmless(node.tagName, attribute, resources) : []));
  if (node.tagName === 'style') setStyles(node, styled(innerText(node), resources));
  return [node];
}

/** The inside of an element with a shadow tree becomes a part of the page, without its own styles, as browsers write it (HTML, 4.12.3). */
function openShadow(element: Tree.Element): void {
  if (element.namespaceURI !== html.NS.HTML) return;
  if (attributeOf(element, 'shadowmode') === '' && attributeOf(element, 'shadowrootmode') === '') return;
  element.childNodes = tree.getTemplateContent(element as Tree.Template).childNodes;
  [element.tagName, element.nodeName] = ['div', 'div'];
  dropStyles(element);
  for (const { node } of nodesBelow(element)) if (isElement(node)) dropStyles(node);
}

function dropStyles(parent: Tree.Element): void {
  parent.childNodes = parent.childNodes.filter(({ nodeName }) => nodeName !== 'link' && nodeName !== 'style');
}

export const innerText = ({ childNodes }: Tree.Element): string =>
  childNodes.map((node) => (node.nodeName === '#text' ? (node as Tree.TextNode).value : '')).join('');

/** The style sheet that a link refers to, in its place. */
function sheetOf(link: Tree.Element, resources: PageResources): readonly Tree.Element[] {
  if (link.namespaceURI !== html.NS.HTML) return [];
  const kinds = attributeOf(link, 'rel').slice(0, 100).toLowerCase().split(/\s+/);
  const isSheet = kinds.includes('stylesheet') && !kinds.includes('alternate');
  const css = isSheet ? resources.sheet(attributeOf(link, 'href')) : undefined;
  if (css === undefined) return [];
  const style = tree.createElement(
    'style',
    html.NS.HTML,
    link.attrs.filter(({ name }) => name === 'media'),
  );
  setStyles(style, css);
  return [style];
}

/** What a style sheet says is written as it stands: a tag in it could end the element, or be one. CSS ignores `<!--` (CSS Syntax 3, 5.4.1). */
function setStyles(style: Tree.Element, css: string): void {
  style.childNodes = [];
  tree.insertText(style, css.replaceAll('<!--', ' ').replace(/<(?=[a-z/!?])/gi, '\\3c '));
}

type Attribute = Tree.Element['attrs'][number];

function harmless(element: string, attribute: Attribute, resources: PageResources): readonly Attribute[] {
  const { name, value } = attribute;
  if (name === 'style') return [{ ...attribute, value: styled(value, resources) }];
  // Browsers leave out white space.
  const compact = value.replace(/[\0-\x20]+/g, '').slice(0, 200);
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(compact)?.[1]?.toLowerCase();
  const isReference = name === 'href' || name === 'xlink:href';
  const isPicture = name === 'src' || name === 'background' || (isReference && DRAWN.has(element.toLowerCase()));
  if (!isPicture && (isReference || name === 'action' || name === 'formaction'))
    return ['http', 'https', 'mailto', 'tel', undefined].includes(scheme) ? [{ ...attribute, value: resources.link(value) }] : [];
  if (!isPicture) return [attribute];
  const data = element === 'input' ? undefined : resources.picture(value);
  if (data !== undefined) return [{ ...attribute, value: data }];
  return scheme === 'cid' || (isReference && scheme !== 'data') ? [] : [attribute];
}
