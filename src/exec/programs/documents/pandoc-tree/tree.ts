/** Pandoc's document tree in JSON: nodes with a type `t` and content `c` (Text.Pandoc.Definition). */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export interface Tree {
  meta: Record<string, Json>;
  blocks: Json[];
}

export const typeOf = (node: Json): string | undefined =>
  typeof node === 'object' && node !== null && !Array.isArray(node) && typeof node['t'] === 'string' ? node['t'] : undefined;
export const contentOf = (node: Json): Json =>
  typeof node === 'object' && node !== null && !Array.isArray(node) ? (node['c'] ?? null) : null;
export const itemAt = (node: Json, index: number): Json => (Array.isArray(node) ? (node[index] ?? null) : null);

/** @param blocks of a Div with a name, which may be empty @returns what stands in its place: paragraphs, as text would go on in what stands before */
export function unwrapped(name: Json, blocks: Json[]): Json[] {
  return anchored(
    name,
    blocks.map((block) => (typeOf(block) === 'Plain' ? { t: 'Para', c: contentOf(block) } : block)),
  );
}

/** Links lead to the sections of a book, which are such a Div: the first words of it take its name over. */
function anchored(name: Json, blocks: Json[]): Json[] {
  const [first, ...rest] = blocks;
  const tag = typeOf(first ?? null);
  if (typeof name !== 'string' || name === '' || first === undefined) return blocks;
  const span = { t: 'Span', c: [[name, [], []], []] };
  const content = contentOf(first);
  if (tag === 'Para') return [{ t: tag, c: [span, ...(content as Json[])] }, ...rest];
  if (tag === 'Header')
    return [{ t: tag, c: [itemAt(content, 0), itemAt(content, 1), [span, ...(itemAt(content, 2) as Json[])]] }, ...rest];
  return blocks;
}
