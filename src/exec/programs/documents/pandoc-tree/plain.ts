/** Takes the wrappers out of a tree that only pages of the web have, with what they look like. What a link leads to keeps its name. */
import { contentOf, itemAt, type Json, type Tree, typeOf, unwrapped } from './tree.ts';

export function plainTree(tree: Tree): Tree {
  const linked = new Set<string>();
  collectLinks(tree.blocks, linked);
  return { ...tree, blocks: plain(tree.blocks, linked) as Json[] };
}

/** The names within the document that its links lead to. */
function collectLinks(node: Json, linked: Set<string>): void {
  if (Array.isArray(node)) for (const child of node) collectLinks(child, linked);
  else if (typeof node === 'object' && node !== null) {
    const target = typeOf(node) === 'Link' ? itemAt(itemAt(contentOf(node), 2), 0) : null;
    if (typeof target === 'string' && target.startsWith('#')) linked.add(target.slice(1));
    for (const child of Object.values(node)) collectLinks(child, linked);
  }
}

function plain(node: Json, linked: ReadonlySet<string>): Json {
  if (Array.isArray(node)) return node.flatMap((child) => (Array.isArray(child) ? [plain(child, linked)] : withoutWrapper(child, linked)));
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, plain(value, linked)]));
}

/** @returns the nodes that stand in the place of the node */
function withoutWrapper(node: Json, linked: ReadonlySet<string>): Json[] {
  const [tag, content] = [typeOf(node), contentOf(node)];
  if (tag !== 'Div' && tag !== 'Span') {
    const kept = plain(node, linked);
    const isEmpty = tag === 'Para' && (contentOf(kept) as Json[]).length === 0;
    return isEmpty ? [] : [kept];
  }
  const id = itemAt(itemAt(content, 0), 0);
  const name = typeof id === 'string' && linked.has(id) ? id : '';
  const within = plain(itemAt(content, 1), linked) as Json[];
  if (tag === 'Div') return unwrapped(name, within);
  return name === '' ? within : [{ t: 'Span', c: [[name, [], []], []] }, ...within];
}
