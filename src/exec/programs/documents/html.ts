/**
 * A page whose tables Pandoc does not read as they stand (`count/tables.ts`): with all end tags, and each table in the order that it reads.
 *
 *   html.ts INPUT OUTPUT    INPUT: UTF-8
 *
 * What is too large, nested too deep or XHTML is copied, with a warning. Prints an answer as residents give.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parse, serialize, type DefaultTreeAdapterTypes as Tree, type TreeAdapter, defaultTreeAdapter as tree } from 'parse5';
import { beyond, FileRefused } from '../data/values/value.ts';
import { answering, type Told } from '../process/answer.ts';
import { arrangeTable } from './html/tables.ts';
import { isElement, nodesBelow } from './mail/harmless.ts';

const VERSION = '1.0';
/** Characters: Pandoc has no memory for the tree of more. */
const MOST_TEXT = 16 << 20;
/** Elements, of which each takes some 2 kB here. A page of fewer tags has no more than some for each, as where words in bold go on in the next paragraph. */
const MOST_ELEMENTS = 300_000;
const MOST_OF_TAG = 3;
/** XHTML, where these elements may be empty: as HTML, one would take in all that follows. */
const IS_XML = /^\s{0,99}<\?xml|<(?:script|style|title|textarea|iframe|xmp|noframes|noembed)\b[^<>]{0,999}\/>/i;
const LEFT: Told = {
  code: 'lossy',
  message:
    'End tags that the page leaves out could not be added, as it is too large, nested too deep, or XHTML: some of its tables may be read as paragraphs.',
};

const [input = '', output = ''] = process.argv.slice(2);

if (input === '--version') process.stdout.write(`html ${VERSION}\n`);
else
  await answering(() => {
    // parse5 takes a mark of UTF-8 for text, which a head cannot have.
    const text = readFileSync(input, 'utf8').replace(/^\uFEFF/, '');
    const page = text.length > MOST_TEXT || IS_XML.test(text) ? undefined : closed(text);
    writeFileSync(output, page ?? text);
    return page === undefined ? [LEFT] : [];
  });

/** @returns undefined where it is nested too deep */
function closed(text: string): string | undefined {
  try {
    const most = Math.min(MOST_ELEMENTS, MOST_OF_TAG * text.split('<').length);
    const document = parse<Tree.DefaultTreeAdapterMap>(text, { scriptingEnabled: false, treeAdapter: bounded(most) });
    const elements = [...nodesBelow(document)].map(({ node }) => node).filter(isElement);
    for (const table of elements.filter(({ tagName }) => tagName === 'table')) arrangeTable(table);
    return serialize(document, { scriptingEnabled: false });
  } catch (error) {
    if (error instanceof FileRefused) return undefined;
    throw error;
  }
}

/** Paragraphs that are all in the elements that earlier ones left open, with all their attributes, make the square of what is written. */
function bounded(most: number): TreeAdapter<Tree.DefaultTreeAdapterMap> {
  let made = 0;
  let characters = 0;
  return {
    ...tree,
    createElement(name, namespace, attributes) {
      if (++made > most) throw beyond('elements of a page', most);
      for (const attribute of attributes) characters += attribute.name.length + attribute.value.length;
      if (characters > 2 * MOST_TEXT) throw beyond('characters in attributes', 2 * MOST_TEXT);
      return tree.createElement(name, namespace, attributes);
    },
    createCommentNode(data) {
      if (++made > most) throw beyond('nodes of a page', most);
      return tree.createCommentNode(data);
    },
  };
}
