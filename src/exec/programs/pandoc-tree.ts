/**
 * Removes from Pandoc's document tree (its JSON format) whatever could make a writer read a file or a URL, or contain foreign code.
 *
 *   pandoc-tree.ts FOUND.json CLEAN.json [DOCUMENT]   with DOCUMENT, the tree gets the pictures that this file contains
 *   pandoc-tree.ts --open DOCUMENT                    fails with "encrypted document" if a password is needed, which Pandoc reports as damage
 *
 * Pictures are replaced by their descriptions unless their bytes are there, and raw passages are removed. Among the metadata, only what describes the
 * text is kept, since `cover-image`, `css`, `bibliography` and others name files. A text without a title gets its first heading's. Prints an answer
 * as residents give: warnings about pictures that the document has and the tree lacks.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { inflateRawSync } from 'node:zlib';
import { NO_PICTURES, picturesIn } from './pandoc-tree/pictures.ts';
import { answering } from './values/answer.ts';
import { STORED, zipEntries } from './zip.ts';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
interface Tree {
  meta: Record<string, Json>;
  blocks: Json[];
}

const KEPT_META = ['title', 'subtitle', 'author', 'date', 'lang', 'abstract', 'keywords'];
/** Bitmaps only: for vector graphics the writer would start another program. */
const INLINE_PICTURE = /^data:image\/(png|jpeg|gif);base64,/;

const tagOf = (node: Json): string | undefined =>
  typeof node === 'object' && node !== null && !Array.isArray(node) && typeof node['t'] === 'string' ? node['t'] : undefined;
const contentOf = (node: Json): Json => (typeof node === 'object' && node !== null && !Array.isArray(node) ? (node['c'] ?? null) : null);
const part = (node: Json, index: number): Json => (Array.isArray(node) ? (node[index] ?? null) : null);

let pictures = NO_PICTURES;

/** Links lead to the sections of a book, which are such a Div: the first words of it take its name over. */
function anchored(id: Json, blocks: Json[]): Json[] {
  const [first, ...rest] = blocks;
  const tag = tagOf(first ?? null);
  if (typeof id !== 'string' || id === '' || first === undefined || tag === undefined) return blocks;
  const span = { t: 'Span', c: [[id, [], []], []] };
  const content = contentOf(first);
  if (tag === 'Para' || tag === 'Plain') return [{ t: tag, c: [span, ...(content as Json[])] }, ...rest];
  if (tag === 'Header') return [{ t: tag, c: [part(content, 0), part(content, 1), [span, ...(part(content, 2) as Json[])]] }, ...rest];
  return blocks;
}

/** @returns the nodes that replace the node in its list: none, the cleaned node, or several */
function cleanNode(node: Json): Json[] {
  const tag = tagOf(node);
  if (tag === 'RawBlock' || tag === 'RawInline') return [];
  // Sections of books and cells of notebooks: inside a Div, headings count for less than those of the text around it.
  if (tag === 'Div') return anchored(part(part(contentOf(node), 0), 0), clean(part(contentOf(node), 1)) as Json[]);
  if (tag === 'Header') return [numbered(clean(contentOf(node)))];
  if (tag === 'Image') {
    const content = contentOf(node);
    const target = part(part(content, 2), 0);
    // Attributes go too: some writers fetch what `data-src` names.
    const shown = typeof target !== 'string' ? undefined : INLINE_PICTURE.test(target) ? target : pictures.inline(target);
    if (shown !== undefined) return [{ t: 'Image', c: [['', [], sizesOf(part(content, 0))], clean(part(content, 1)), [shown, '']] }];
    const description = clean(part(content, 1));
    return Array.isArray(description) ? description : [];
  }
  return [clean(node)];
}

/** Length of a picture's side: `0.83in` or `50%`. */
const sizesOf = (attributes: Json): Json[] => {
  const values = part(attributes, 2);
  if (!Array.isArray(values)) return [];
  return values.filter(
    (pair) => /^(?:width|height)$/.test(String(part(pair, 0))) && /^[\d.]{1,24}(?:in|cm|mm|px|%)?$/.test(String(part(pair, 1))),
  );
};

let headings = 0;

/** The EPUB writer fails on a heading without an identifier. */
function numbered(content: Json): Json {
  headings += 1;
  const [id, classes, values] = [0, 1, 2].map((index) => part(part(content, 1), index));
  return {
    t: 'Header',
    c: [part(content, 0), [id === '' ? `heading-${headings}` : (id ?? ''), classes ?? [], values ?? []], part(content, 2)],
  };
}

function clean(node: Json): Json {
  if (Array.isArray(node)) return node.flatMap((child) => (Array.isArray(child) ? [clean(child)] : cleanNode(child)));
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, clean(value)]));
}

function cleanTree(tree: Tree): Tree {
  const blocks = clean(tree.blocks) as Json[];
  const kept = KEPT_META.filter((name) => tree.meta[name] !== undefined);
  const meta = Object.fromEntries(kept.map((name) => [name, clean(tree.meta[name] ?? null)]));
  const heading = blocks.find((block) => tagOf(block) === 'Header');
  const pagetitle: Json = { t: 'MetaInlines', c: heading === undefined ? [{ t: 'Str', c: 'Document' }] : part(contentOf(heading), 2) };
  return { ...tree, blocks, meta: meta['title'] === undefined ? { ...meta, pagetitle } : meta };
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

const [first, second, document] = process.argv.slice(2);
if (first === undefined || second === undefined) throw new Error('usage: pandoc-tree.ts FOUND.json CLEAN.json [DOCUMENT]');
if (first === '--open') {
  let encrypted = false;
  try {
    encrypted = isEncrypted(readFileSync(second));
  } catch {
    // Damaged: Pandoc reports that.
  }
  if (encrypted) {
    process.stderr.write('encrypted document\n');
    process.exitCode = 1;
  }
} else
  await answering(() => {
    if (document !== undefined) pictures = picturesIn(readFileSync(document));
    writeFileSync(second, JSON.stringify(cleanTree(JSON.parse(readFileSync(first, 'utf8')))));
    return pictures.warnings();
  });
