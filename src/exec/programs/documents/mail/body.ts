/** The text of a message, as HTML that runs and loads nothing. */
import { html, parse, serialize, type DefaultTreeAdapterTypes as Tree, defaultTreeAdapter as tree } from 'parse5';
import { escaped } from '../../text/html.ts';
import { fateOf } from './allowed.ts';
import { isElement, makeHarmless, nodesBelow } from './harmless.ts';
import type { MailedFile, Message } from './messages.ts';
import { contentIdOf, isContentId, type PictureUrls } from './shown.ts';

/** Elements before and after which a new line begins. */
const BLOCKS: ReadonlySet<string> = new Set(
  (
    'address article blockquote center dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li main ol p pre ' +
    'section table tr ul'
  ).split(' '),
);

/** @returns a fragment of HTML, written when it is asked for, and the files that it shows */
export function htmlOf(
  { html: written, text, files }: Message,
  pictures: PictureUrls,
): { fragment(): string; readonly shown: ReadonlySet<MailedFile> } {
  if (written === undefined) return { fragment: () => paragraphs(text ?? ''), shown: new Set() };
  const shown = new Set<MailedFile>();
  const byId = new Map(files.flatMap((file) => (file.id === undefined ? [] : [[file.id, file] as const])));
  const body = bodyOf(written);
  makeHarmless(body, {
    picture: (reference) => {
      const file = isContentId(reference) ? byId.get(contentIdOf(reference)) : undefined;
      const url = file === undefined ? undefined : pictures(file);
      if (file !== undefined && url !== undefined) shown.add(file);
      return url;
    },
    sheet: () => undefined,
    link: (reference) => reference,
  });
  return { fragment: () => serialize(body), shown };
}

/** The document's body, with the styles of its head before it. */
function bodyOf(written: string): Tree.Element {
  const root = parse(written, { scriptingEnabled: false }).childNodes.find(isElement);
  const part = (name: string) => root?.childNodes.filter(isElement).find(({ tagName }) => tagName === name);
  const body = part('body') ?? tree.createElement('body', html.NS.HTML, []);
  const styles = part('head')?.childNodes.filter((node) => isElement(node) && node.tagName === 'style') ?? [];
  body.childNodes = [...styles, ...body.childNodes];
  return body;
}

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
  return written === undefined ? '' : wordsIn(bodyOf(written));
}

export function wordsIn(top: Tree.ParentNode): string {
  let words = '';
  // Those that the walk is in, by their depths; whether it left one and no line has begun since.
  const blocks: number[] = [];
  let isLeft = false;
  for (const { node, depth } of nodesBelow(top)) {
    for (; (blocks.at(-1) ?? 0) >= depth; blocks.pop()) isLeft = true;
    if (node.nodeName === '#text') {
      const text = (node as Tree.TextNode).value.replace(/\s+/g, ' ');
      words += isLeft && text.trim() !== '' ? `\n${text}` : text;
      isLeft &&= text.trim() === '';
    } else if (!isElement(node)) continue;
    else if (fateOf(node) === 'dropped' || node.tagName === 'style') node.childNodes = [];
    else if (node.tagName === 'br' || BLOCKS.has(node.tagName)) {
      words += '\n';
      isLeft = false;
      if (node.tagName !== 'br') blocks.push(depth);
    } else if (node.tagName === 'td' || node.tagName === 'th') words += '\t';
  }
  const lines = words.split('\n').map((line) => line.trim());
  return `${lines
    .filter((line, i) => line !== '' || (i > 0 && lines[i - 1] !== ''))
    .join('\n')
    .trim()}\n`;
}
