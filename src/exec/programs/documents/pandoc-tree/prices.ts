/**
 * Makes words again of what Pandoc took for formulas between dollars: it takes "$10, US$20" for one. As GitHub has it, a formula in a line stands apart from
 * letters and digits on both sides (docs.github.com, "Writing mathematical expressions").
 */
import { contentOf, itemAt, type Json, type Tree, typeOf } from './tree.ts';

export const pricesRestored = (tree: Tree): Tree => ({ ...tree, blocks: restored(tree.blocks) as Json[] });

function restored(node: Json): Json {
  if (Array.isArray(node)) return node.map((child, at) => (isPrice(node, at) ? { t: 'Str', c: `$${formulaOf(child)}$` } : restored(child)));
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, restored(value)]));
}

const formulaOf = (node: Json): string => String(itemAt(contentOf(node), 1));

function isPrice(siblings: readonly Json[], at: number): boolean {
  const node = siblings[at] ?? null;
  if (typeOf(node) !== 'Math' || typeOf(itemAt(contentOf(node), 0)) !== 'InlineMath') return false;
  return /[\p{L}\p{N}]$/u.test(wordsOf(siblings[at - 1])) || /^[\p{L}\p{N}]/u.test(wordsOf(siblings[at + 1]));
}

const wordsOf = (node: Json | undefined): string => (node !== undefined && typeOf(node) === 'Str' ? String(contentOf(node)) : '');
