/** Tables in Pandoc's tree. */
import { contentOf, itemAt, type Json, typeOf } from '../pandoc-tree/tree.ts';

/** In the order of the document. A table around others is one if it has data itself: many pages are laid out by tables. */
export function tableNodes(node: Json): readonly Json[] {
  const found: Json[] = [];
  const visit = (each: Json): void => {
    if (typeof each !== 'object' || each === null) return;
    const at = found.length;
    const isTable = typeOf(each) === 'Table';
    // Before those inside, and without a look at what is in it: most have none inside.
    if (isTable) found.push(each);
    for (const inside of Object.values(each) as Json[]) visit(inside);
    if (isTable && found.length > at + 1 && !hasData(each)) found.splice(at, 1);
  };
  visit(node);
  return found;
}

/** Whether two rows at least have two cells with text outside of the tables inside. */
function hasData(table: Json): boolean {
  const content = contentOf(table);
  const rows = [
    ...listOf(itemAt(itemAt(content, 3), 1)),
    ...listOf(itemAt(content, 4)).flatMap((body) => [...listOf(itemAt(body, 2)), ...listOf(itemAt(body, 3))]),
    ...listOf(itemAt(itemAt(content, 5), 1)),
  ];
  return rows.filter((row) => listOf(itemAt(row, 1)).filter((cell) => hasText(itemAt(cell, 4))).length > 1).length > 1;
}

const listOf = (json: Json): readonly Json[] => (Array.isArray(json) ? json : []);

function hasText(node: Json): boolean {
  const type = typeOf(node);
  if (type === 'Str' || type === 'Code' || type === 'Math' || type === 'CodeBlock') return true;
  return type !== 'Table' && typeof node === 'object' && node !== null && (Object.values(node) as Json[]).some(hasText);
}
