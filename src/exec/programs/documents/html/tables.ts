/** Tables of a page in the order, and with the columns, in which Pandoc reads them. */
import { html, type DefaultTreeAdapterTypes as Tree, defaultTreeAdapter as tree } from 'parse5';
import { attributeOf, isElement } from '../mail/harmless.ts';
import { TableColumns } from './columns.ts';

const SECTIONS = ['thead', 'tbody', 'tfoot'];

/** What else is between its rows is a form that was closed at once, a script, or a hidden field. */
export function arrangeTable(table: Tree.Element): void {
  const parts = table.childNodes.filter(isElement);
  const first = (name: string): readonly Tree.Element[] => parts.filter(({ tagName }) => tagName === name).slice(0, 1);
  const [caption, head, foot] = [first('caption'), first('thead'), first('tfoot')];
  const isBody = (part: Tree.Element): boolean => SECTIONS.includes(part.tagName) && part !== head[0] && part !== foot[0];
  const bodies = parts.filter(isBody);
  for (const body of bodies) [body.tagName, body.nodeName] = ['tbody', 'tbody'];
  const sections = [...head, ...bodies, ...foot];
  for (const section of sections) only(section, 'tr');
  const rows = sections.flatMap(({ childNodes }) => childNodes.filter(isElement));
  for (const row of rows) only(row, 'td', 'th');
  const columns = countColumns(sections);
  const groups = parts.filter(({ tagName }) => tagName === 'colgroup');
  // Pandoc does not read their spans.
  const declared = groups.reduce((sum, { childNodes }) => sum + childNodes.filter(isElement).length, 0);
  table.childNodes = [...caption, ...(declared < columns.widest ? [] : groups), ...sections];
}

function only(parent: Tree.Element, ...names: readonly string[]): void {
  parent.childNodes = parent.childNodes.filter((node) => isElement(node) && names.includes(node.tagName));
}

/** Makes the widest row as wide as the table. */
function countColumns(sections: readonly Tree.Element[]): TableColumns {
  const columns = new TableColumns();
  let widest: Tree.Element | undefined;
  for (const section of sections) {
    columns.section();
    for (const row of section.childNodes.filter(isElement)) {
      columns.row();
      const before = columns.ownMost;
      for (const cell of row.childNodes.filter(isElement)) {
        const [wide, high] = [spanOf(cell, 'colspan'), spanOf(cell, 'rowspan')];
        if (wide === 0) cell.attrs = cell.attrs.filter(({ name }) => name !== 'colspan');
        columns.cell(wide, high);
      }
      if (columns.ownMost > before) widest = row;
    }
  }
  const missing = columns.widest - columns.ownMost;
  if (missing > 0 && widest !== undefined)
    tree.appendChild(widest, tree.createElement('td', html.NS.HTML, [{ name: 'colspan', value: String(missing) }]));
  return columns;
}

const spanOf = (element: Tree.Element, name: string): number => Number.parseInt(attributeOf(element, name), 10);
