/**
 * Removes from Pandoc's document tree (its JSON format) whatever could make a writer read a file or a URL, or contain foreign code.
 *
 *   pandoc-tree.ts FOUND.json CLEAN.json [--pictures DOCUMENT] [--language TAG] [--titled]   with the pictures, the title, the author and the language that DOCUMENT has, and a language where it names none
 *   pandoc-tree.ts --plain FOUND.json PLAIN.json   removes the wrappers that Markdown and wikis would show as tags, and nothing else; prints `left` for a tree
 *                                                  that Pandoc could not read in its memory
 *   pandoc-tree.ts --prices FOUND.json WORDS.json   makes words again of what is no formula between dollars, and nothing else; prints `left` as above
 *   pandoc-tree.ts --drawings FOUND.json FOLDER     writes the drawings in SVG there; prints `drawings`, their names. With `--drawn FOLDER`, what was drawn of them
 *                                                  takes their place in CLEAN.json
 *   pandoc-tree.ts --open DOCUMENT                 fails with "encrypted document" if a password is needed, which Pandoc reports as damage
 *
 * Pictures are replaced by their descriptions unless their bytes are there, and raw passages are removed. Among the metadata, only what describes the
 * text is kept, since `cover-image`, `css`, `bibliography` and others name files. A text without a title gets its first heading's,
 * or its first words: as the title of the page only, or, with `--titled`, as its own. Prints an answer
 * as residents give: warnings about pictures that the document has and the tree lacks.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { inflateRawSync } from 'node:zlib';
import { STORED, zipEntries } from '../archives/zip.ts';
import { answering } from '../process/answer.ts';
import { drawingsOf, drawnIn, NO_DRAWINGS } from './pandoc-tree/drawings.ts';
import { NO_PICTURES, picturesIn } from './pandoc-tree/pictures.ts';
import { plainTree } from './pandoc-tree/plain.ts';
import { pricesRestored } from './pandoc-tree/prices.ts';
import { type DocumentProperties, propertiesOf } from './pandoc-tree/properties.ts';
import { contentOf, itemAt, type Json, type Tree, typeOf, unwrapped } from './pandoc-tree/tree.ts';

const KEPT_META = ['title', 'subtitle', 'author', 'date', 'lang', 'abstract', 'keywords'];
/** Bitmaps only: for vector graphics the writer would start another program. */
const INLINE_PICTURE = /^data:image\/(png|jpeg|gif);base64,/;

let pictures = NO_PICTURES;
let drawings = NO_DRAWINGS;
let properties: DocumentProperties = {};

/** @returns the nodes that replace the node in its list: none, the cleaned node, or several */
function cleanNode(node: Json): Json[] {
  const tag = typeOf(node);
  if (tag === 'RawBlock' || tag === 'RawInline') return [];
  // Sections of books and cells of notebooks: inside a Div, headings count for less than those of the text around it.
  if (tag === 'Div') return unwrapped(itemAt(itemAt(contentOf(node), 0), 0), clean(itemAt(contentOf(node), 1)) as Json[]);
  if (tag === 'Header') return [numbered(clean(contentOf(node)))];
  if (tag === 'Image') {
    const content = contentOf(node);
    const target = itemAt(itemAt(content, 2), 0);
    const drawn = typeof target === 'string' ? drawings.inline(target) : undefined;
    if (drawn !== undefined) {
      const words = clean(itemAt(content, 1));
      const said = Array.isArray(words) && words.length > 0 ? words : [{ t: 'Str', c: drawn.text }];
      return [{ t: 'Image', c: [['', [], [['width', `${drawn.width}px`]]], said, [drawn.url, '']] }];
    }
    // Attributes go too: some writers fetch what `data-src` names.
    const shown = typeof target !== 'string' ? undefined : INLINE_PICTURE.test(target) ? target : pictures.inline(target);
    if (shown !== undefined) return [{ t: 'Image', c: [['', [], sizesOf(itemAt(content, 0))], clean(itemAt(content, 1)), [shown, '']] }];
    const description = clean(itemAt(content, 1));
    return Array.isArray(description) ? description : [];
  }
  return [clean(node)];
}

/** Length of a picture's side: `0.83in` or `50%`. */
const sizesOf = (attributes: Json): Json[] => {
  const values = itemAt(attributes, 2);
  if (!Array.isArray(values)) return [];
  return values.filter(
    (pair) => /^(?:width|height)$/.test(String(itemAt(pair, 0))) && /^[\d.]{1,24}(?:in|cm|mm|px|%)?$/.test(String(itemAt(pair, 1))),
  );
};

let headings = 0;

/** The EPUB writer fails on a heading without an identifier. */
function numbered(content: Json): Json {
  headings += 1;
  const [id, classes, values] = [0, 1, 2].map((index) => itemAt(itemAt(content, 1), index));
  return {
    t: 'Header',
    c: [itemAt(content, 0), [id === '' ? `heading-${headings}` : (id ?? ''), classes ?? [], values ?? []], itemAt(content, 2)],
  };
}

function clean(node: Json): Json {
  if (Array.isArray(node)) return node.flatMap((child) => (Array.isArray(child) ? [clean(child)] : cleanNode(child)));
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, clean(value)]));
}

/** @param language for the metadata of a text that names none, by which a writer would take the name of the locale */
function cleanTree(tree: Tree, language: string | undefined): Tree {
  const blocks = clean(tree.blocks) as Json[];
  const kept = KEPT_META.filter((name) => tree.meta[name] !== undefined);
  const meta = Object.fromEntries(kept.map((name) => [name, clean(tree.meta[name] ?? null)]));
  const { title, author, language: own } = properties;
  const named = own ?? language;
  if (named !== undefined) meta['lang'] ??= { t: 'MetaString', c: named };
  if (author !== undefined && meta['author'] === undefined)
    // In a page it is said only to programs.
    meta[asked.titled === true ? 'author' : 'author-meta'] = { t: 'MetaList', c: [{ t: 'MetaInlines', c: [{ t: 'Str', c: author }] }] };
  if (meta['title'] !== undefined) return { ...tree, blocks, meta };
  const inlines = title === undefined ? titleOf(blocks) : [{ t: 'Str', c: title }];
  return { ...tree, blocks, meta: { ...meta, [asked.titled === true ? 'title' : 'pagetitle']: { t: 'MetaInlines', c: inlines } } };
}

/** Words of a title at most. */
const MOST_WORDS = 12;

/** The first heading, or the first words. */
function titleOf(blocks: readonly Json[]): Json {
  const heading = blocks.find((block) => typeOf(block) === 'Header');
  if (heading !== undefined) return itemAt(contentOf(heading), 2);
  const text = blocks.find((block) => ['Para', 'Plain'].includes(typeOf(block) ?? ''));
  const words = text === undefined ? [] : wordsIn(contentOf(text), MOST_WORDS + 1);
  if (words.length === 0) return [{ t: 'Str', c: 'Untitled' }];
  return [{ t: 'Str', c: words.length > MOST_WORDS ? `${words.slice(0, MOST_WORDS).join(' ')}…` : words.join(' ') }];
}

function wordsIn(node: Json, most: number): string[] {
  const words: string[] = [];
  const visit = (each: Json): void => {
    if (words.length >= most || typeof each !== 'object' || each === null) return;
    if (Array.isArray(each)) for (const one of each) visit(one);
    else if (typeOf(each) === 'Str') words.push(String(contentOf(each)));
    else visit(contentOf(each));
  };
  visit(node);
  return words;
}

/** Encrypted Office documents are compound files around the real one ([MS-OFFCRYPTO] 2.3.4); OpenDocument declares it in the manifest (ODF 1.3 part 2, 3.4). */
function isEncrypted(document: Buffer): boolean {
  if (document.readUInt32BE(0) === 0xd0cf_11e0) return true;
  for (const { name, method, raw } of zipEntries(document))
    if (name === 'META-INF/manifest.xml')
      return (method === STORED ? raw : inflateRawSync(raw, { maxOutputLength: MOST_MANIFEST })).includes('encryption-data');
  return false;
}

const MOST_MANIFEST = 16 * 1024 * 1024;
/** Bytes of a tree: Pandoc takes 25 times as many to read it, of its 768 MB. */
const MOST_READ = 28 * 1024 * 1024;

const { values: asked, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    open: { type: 'boolean' },
    plain: { type: 'boolean' },
    prices: { type: 'boolean' },
    pictures: { type: 'string' },
    language: { type: 'string' },
    titled: { type: 'boolean' },
    drawings: { type: 'boolean' },
    drawn: { type: 'string' },
  },
});
const [input, output = ''] = positionals;
if (input === undefined || (output === '') !== (asked.open === true))
  throw new Error('usage: pandoc-tree.ts FOUND.json CLEAN.json [--pictures DOCUMENT] [--language TAG] [--titled]');
if (asked.open === true) {
  let encrypted = false;
  try {
    encrypted = isEncrypted(readFileSync(input));
  } catch {
    // Damaged: Pandoc reports that.
  }
  if (encrypted) {
    process.stderr.write('encrypted document\n');
    process.exitCode = 1;
  }
} else if ((asked.plain === true || asked.prices === true) && statSync(input).size > MOST_READ)
  process.stdout.write('{"ok":true,"left":true}\n');
else if (asked.drawings === true) {
  const tree: Tree = JSON.parse(readFileSync(input, 'utf8'));
  process.stdout.write(`${JSON.stringify({ ok: true, drawings: drawingsOf(tree.blocks, output) })}\n`);
} else
  await answering(() => {
    if (asked.drawn !== undefined) drawings = drawnIn(asked.drawn);
    if (asked.pictures !== undefined) {
      const document = readFileSync(asked.pictures);
      [pictures, properties] = [picturesIn(document), propertiesOf(document)];
    }
    const tree: Tree = JSON.parse(readFileSync(input, 'utf8'));
    writeFileSync(
      output,
      JSON.stringify(
        asked.plain === true ? plainTree(tree) : asked.prices === true ? pricesRestored(tree) : cleanTree(tree, asked.language),
      ),
    );
    return [...pictures.warnings(), ...drawings.warnings()];
  });
