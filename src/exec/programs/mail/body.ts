/** The text of a message, as HTML that runs and loads nothing. */
import { html, parse, serialize, type DefaultTreeAdapterTypes as Tree, defaultTreeAdapter as tree } from 'parse5';
import { beyond } from '../values/value.ts';
import type { MailedFile, Message } from './messages.ts';

/** Elements in elements: parse5 writes them by recursion. */
const MOST_LEVELS = 500;
/** What runs, loads, or changes what the rest of the page means. */
const DROPPED: ReadonlySet<string> = new Set([
  ...['script', 'noscript', 'iframe', 'frame', 'frameset', 'object', 'embed', 'applet', 'base', 'link', 'meta', 'title', 'template'],
  ...['audio', 'video', 'source', 'track'],
]);
/** Elements before which a new line begins. */
const BLOCKS: ReadonlySet<string> = new Set(
  (
    'address article blockquote center dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li main ol p pre ' +
    'section table tr ul'
  ).split(' '),
);
const isElement = (node: Tree.Node): node is Tree.Element => 'tagName' in node;

/** @returns a fragment of HTML, written when it is asked for, and the files that it shows */
export function htmlOf({ html: written, text, files }: Message): { fragment(): string; readonly shown: ReadonlySet<MailedFile> } {
  if (written === undefined) return { fragment: () => paragraphs(text ?? ''), shown: new Set() };
  const shown = new Set<MailedFile>();
  const body = bodyOf(written);
  for (const { node, depth } of nodesBelow(body)) {
    if (depth > MOST_LEVELS) throw beyond('elements in each other', MOST_LEVELS);
    if (!isElement(node)) continue;
    if (DROPPED.has(node.tagName)) tree.detachNode(node);
    else node.attrs = node.attrs.flatMap((attribute) => harmless(node.tagName, attribute, files, shown));
  }
  return { fragment: () => serialize(body), shown };
}

/** The document's body, with the styles of its head before it. */
function bodyOf(written: string): Tree.Element {
  const root = parse(written, { scriptingEnabled: false }).childNodes.find(isElement);
  const part = (name: string) => root?.childNodes.filter(isElement).find(({ tagName }) => tagName === name);
  const body = part('body') ?? tree.createElement('body', html.NS.HTML, []);
  const styles = part('head')?.childNodes.filter((node) => isElement(node) && node.tagName === 'style') ?? [];
  for (const style of styles.reverse()) {
    tree.detachNode(style);
    const [first] = body.childNodes;
    if (first === undefined) tree.appendChild(body, style);
    else tree.insertBefore(body, style, first);
  }
  return body;
}

/** Each node after its parent, without recursion. */
function* nodesBelow(top: Tree.ParentNode): Generator<{ readonly node: Tree.ChildNode; readonly depth: number }> {
  const stack = top.childNodes.map((node) => ({ node, depth: 1 })).reverse();
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    yield next;
    const { node, depth } = next;
    // What was dropped has no parent any more.
    if (isElement(node) && node.parentNode !== null)
      for (let i = node.childNodes.length - 1; i >= 0; i--) stack.push({ node: node.childNodes[i] as Tree.ChildNode, depth: depth + 1 });
  }
}

type Attribute = Tree.Element['attrs'][number];

/** @param shown is added the file that the attribute names */
function harmless(element: string, attribute: Attribute, files: readonly MailedFile[], shown: Set<MailedFile>): readonly Attribute[] {
  const { name, value } = attribute;
  if (name.startsWith('on') || name === 'srcset' || name === 'ping') return [];
  // Browsers leave out white space.
  const compact = value.slice(0, 200).replace(/[\0-\x20]/g, '');
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(compact)?.[1]?.toLowerCase();
  if (['href', 'action', 'formaction', 'xlink:href'].includes(name))
    return ['http', 'https', 'mailto', 'tel', undefined].includes(scheme) ? [attribute] : [];
  if (name !== 'src' && name !== 'background') return [attribute];
  if (scheme !== 'cid') return [attribute];
  const id = decoded(value.trim().slice('cid:'.length));
  const file = files.find((each) => each.id === id);
  if (file === undefined || element === 'input' || !/^image\/[a-z0-9.+-]{1,50}$/i.test(file.type)) return [];
  shown.add(file);
  return [{ ...attribute, value: `data:${file.type};base64,${file.bytes.toString('base64')}` }];
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const paragraphs = (text: string): string =>
  text
    .replaceAll('\r\n', '\n')
    .trim()
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${escaped(paragraph).replaceAll('\n', '<br>\n')}</p>`)
    .join('\n');

/** What a reader sees of a message, without its formatting. */
export function plainTextOf({ html: written, text }: Message): string {
  if (text !== undefined && text.trim() !== '') return `${text.replaceAll('\r\n', '\n').trimEnd()}\n`;
  if (written === undefined) return '';
  let words = '';
  for (const { node, depth } of nodesBelow(bodyOf(written))) {
    if (depth > MOST_LEVELS) throw beyond('elements in each other', MOST_LEVELS);
    if (node.nodeName === '#text') words += (node as Tree.TextNode).value.replace(/\s+/g, ' ');
    else if (!isElement(node)) continue;
    else if (DROPPED.has(node.tagName) || node.tagName === 'style') tree.detachNode(node);
    else if (node.tagName === 'br' || BLOCKS.has(node.tagName)) words += '\n';
    else if (node.tagName === 'td' || node.tagName === 'th') words += '\t';
  }
  const lines = words.split('\n').map((line) => line.trim());
  return `${lines
    .filter((line, i) => line !== '' || (i > 0 && lines[i - 1] !== ''))
    .join('\n')
    .trim()}\n`;
}
