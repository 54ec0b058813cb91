/** A part of a word-processor's document with text (ECMA-376, part 1, 17.2), so that Pandoc reads what it would skip, and skips what is hidden. */
import { beyond } from '../../data/values/value.ts';
import { FormFields } from './fields.ts';

export interface Story {
  readonly xml: string;
  /** Runs of hidden text, which is gone. */
  readonly hidden: number;
  readonly charts: number;
}

interface Table {
  readonly buffer: string[];
  /** Where its grid belongs. */
  at: number;
  hasGrid: boolean;
  cells: number;
  columns: number;
}

const TAG = /<[^<>]*>/g;
const NAME = /^<\/?([\w:]+)/;
const VALUE = /\sw:val="([^"]*)"/;
/** Elements in each other, and text boxes: beyond what any program writes. */
const [MOST_LEVELS, MOST_BOX_LEVELS] = [1000, 20];
const [MOST_TAGS, MOST_BOXES] = [8_000_000, 200_000];
const MOST_COLUMNS = 63;

/** @throws FileRefused where it has more than any program writes */
export function preparedStory(xml: string): Story {
  const buffers: string[][] = [[]];
  const out = (): string[] => buffers.at(-1) ?? [];
  /** Text boxes of each open paragraph: they come after it. */
  const paragraphs: string[][] = [[]];
  const runs: { readonly start: number; readonly boxes: number; isHidden: boolean }[] = [];
  /** Elements that are open. */
  const names: string[] = [];
  const tables: Table[] = [];
  /** The choices between two forms of the same drawing that are open, and whether the first form had a text box. */
  const choices: { hasBox: boolean; isFallback: boolean }[] = [];
  const forms = new FormFields();
  let [hidden, charts, done, tags, boxes] = [0, 0, 0, 0, 0];

  const boxEnds = (): void => {
    const box = buffers.length > 1 ? (buffers.pop() ?? []).join('') : '';
    const choice = choices.at(-1);
    if (choice?.isFallback === true && choice.hasBox) return;
    if (choice !== undefined) choice.hasBox = true;
    paragraphs.at(-1)?.push(box);
  };
  const tableEnds = (): void => {
    const { buffer, at, hasGrid, columns } = tables.pop() ?? { buffer: [], at: 0, hasGrid: true, columns: 0 };
    if (!hasGrid) buffer[at] = `<w:tblGrid>${'<w:gridCol w:w="2000"/>'.repeat(Math.min(MOST_COLUMNS, columns))}</w:tblGrid>`;
  };

  for (const { 0: tag, index } of xml.matchAll(TAG)) {
    if (index > done) out().push(xml.slice(done, index));
    done = index + tag.length;
    const name = NAME.exec(tag)?.[1];
    const [isEnd, isEmpty] = [tag.startsWith('</'), tag.endsWith('/>')];
    const table = tables.at(-1);
    if (++tags > MOST_TAGS) throw beyond('tags of a text', MOST_TAGS);
    if (isEnd) names.pop();
    else if (!isEmpty && name !== undefined && names.push(name) > MOST_LEVELS) throw beyond('levels', MOST_LEVELS);
    if (name === 'w:txbxContent' && !isEmpty) {
      if (isEnd) boxEnds();
      else if (++boxes > MOST_BOXES) throw beyond('text boxes', MOST_BOXES);
      else if (buffers.push([]) > MOST_BOX_LEVELS) throw beyond('text boxes in each other', MOST_BOX_LEVELS);
      continue;
    }
    if (name === 'w:tblGrid' && isEmpty) continue;
    if (name === 'w:r' && !isEnd && !isEmpty) runs.push({ start: out().length, boxes: paragraphs.at(-1)?.length ?? 0, isHidden: false });
    if (name !== undefined && !isEnd) forms.open(name, tag, names.at(isEmpty ? -1 : -2));
    // Pandoc counts the columns that have a width.
    out().push(name === 'w:gridCol' && !isEnd && !tag.includes(' w:w="') ? tag.replace('w:gridCol', 'w:gridCol w:w="2000"') : tag);
    switch (name) {
      case 'mc:AlternateContent':
        if (isEnd) choices.pop();
        else if (!isEmpty) choices.push({ hasBox: false, isFallback: false });
        break;
      case 'mc:Fallback': {
        const choice = choices.at(-1);
        if (choice !== undefined) choice.isFallback = !isEnd && !isEmpty;
        break;
      }
      case 'w:p':
        if (isEnd && paragraphs.length > 1) for (const box of paragraphs.pop() ?? []) out().push(box);
        else if (!isEnd && !isEmpty) paragraphs.push([]);
        break;
      case 'w:r': {
        const run = isEnd ? runs.pop() : undefined;
        const shown = isEnd ? forms.take() : '';
        if (run?.isHidden !== true) {
          if (shown !== '') out().push(`<w:r><w:t>${shown}</w:t></w:r>`);
          break;
        }
        shorten(out(), run.start);
        shorten(paragraphs.at(-1) ?? [], run.boxes);
        hidden++;
        break;
      }
      case 'w:vanish': {
        const run = runs.at(-1);
        // Not the mark of a paragraph in a box of the run, and not what the run was before a tracked change.
        const [around, inside] = names.slice(isEmpty ? -2 : -3);
        if (run !== undefined && !isEnd && around === 'w:r' && inside === 'w:rPr')
          run.isHidden = !/^(?:0|false|off)$/.test(VALUE.exec(tag)?.[1] ?? '');
        break;
      }
      case 'c:chart':
        charts++;
        break;
      case 'w:tbl':
        if (isEnd) tableEnds();
        else if (!isEmpty) tables.push({ buffer: out(), at: out().push('') - 1, hasGrid: false, cells: 0, columns: 0 });
        break;
      case 'w:tblPr':
        if (table !== undefined && (isEnd || isEmpty)) table.at = out().push('') - 1;
        break;
      case 'w:tblGrid':
        if (table !== undefined) table.hasGrid = true;
        break;
      case 'w:tc':
        if (table !== undefined && !isEnd) table.cells++;
        break;
      case 'w:gridSpan':
        if (table !== undefined) table.cells += Math.min(MOST_COLUMNS, Math.max(0, Number(VALUE.exec(tag)?.[1] ?? 1) - 1 || 0));
        break;
      case 'w:tr':
        if (table === undefined || isEmpty) break;
        if (isEnd) table.columns = Math.max(table.columns, table.cells);
        table.cells = 0;
        break;
      default:
    }
  }
  return { xml: [...buffers.flat(), xml.slice(done)].join(''), hidden, charts };
}

function shorten(list: unknown[], length: number): void {
  list.length = Math.min(list.length, length);
}
