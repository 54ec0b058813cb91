/** Counts the cells of an OpenDocument sheet (part 3, 9.1): empty ones are repeated to the end of the sheet, and count only before one that is not. */
import { attributeIn, type Tag } from '../tags.ts';
import type { TableFacts } from './facts.ts';

export interface SheetCounter {
  onTag(tag: Tag): void;
  /** Whether the text at this place shows, and is no number or date, which programs show as they please. */
  isText(): boolean;
  /** @returns undefined where there is no sheet */
  facts(): TableFacts | undefined;
}

const MOST_REPEATED = 1_048_576;
const TRUTH = /^of:=(?:TRUE|FALSE)\(\)$/;
const repeated = (tag: Tag, name: string): number => Math.min(Number(attributeIn(tag, name) ?? 1) || 1, MOST_REPEATED);

/** @param hidden names of styles of tables that do not show */
export function sheetCounter(hidden: ReadonlySet<string>): SheetCounter {
  let [sheets, hiddenSheets, rows, columns] = [0, 0, 0, 0];
  let [numbers, dates, truths, formulas, mergedCells] = [0, 0, 0, 0, 0];
  let [row, lastRow, column, rowTimes, rowColumns, nested] = [0, 0, 0, 1, 0, 0];
  let [isSheet, isHidden, isValue] = [false, false, false];

  const cell = (tag: Tag): void => {
    const times = repeated(tag, 'table:number-columns-repeated');
    const type = attributeIn(tag, 'office:value-type');
    column += times;
    isValue = tag.kind === 'open' && type !== undefined && type !== 'string';
    if (type === undefined && attributeIn(tag, 'table:formula') === undefined) return;
    const all = times * rowTimes;
    rowColumns = column;
    // LibreOffice writes those of workbooks as formulas with a number.
    const isTruth = type === 'boolean' || TRUTH.test(attributeIn(tag, 'table:formula') ?? '');
    if (isTruth) truths += all;
    else if (type === 'float' || type === 'currency' || type === 'percentage') numbers += all;
    else if (type === 'date' || type === 'time') dates += all;
    if (attributeIn(tag, 'table:formula') !== undefined) formulas += all;
  };
  const endRow = (): void => {
    row += rowTimes;
    if (rowColumns > 0) lastRow = row;
    columns = Math.max(columns, rowColumns);
  };
  return {
    onTag(tag) {
      const { name, kind } = tag;
      if (name === 'table:table') {
        nested += kind === 'open' ? 1 : kind === 'close' ? -1 : 0;
        if (kind === 'open' && nested === 1) {
          sheets++;
          isHidden = hidden.has(attributeIn(tag, 'table:style-name') ?? '');
          if (isHidden) hiddenSheets++;
          [row, lastRow] = [0, 0];
        } else if (kind === 'close' && nested === 0) {
          if (!isHidden) rows += lastRow;
          isHidden = false;
        }
      } else if (name === 'table:table-row') {
        if (kind !== 'close') [column, rowColumns, rowTimes] = [0, 0, repeated(tag, 'table:number-rows-repeated')];
        if (kind !== 'open') endRow();
      } else if (name === 'table:table-cell' && kind !== 'close') {
        cell(tag);
        if (Number(attributeIn(tag, 'table:number-columns-spanned')) > 1 || Number(attributeIn(tag, 'table:number-rows-spanned')) > 1)
          mergedCells++;
      } else if (name === 'table:table-cell') isValue = false;
      else if (name === 'table:covered-table-cell' && kind !== 'close') column += repeated(tag, 'table:number-columns-repeated');
      else if (name === 'office:spreadsheet' && kind === 'open') isSheet = true;
    },
    isText: () => !isSheet || !(isHidden || isValue),
    facts: () => (isSheet ? { sheets, hiddenSheets, rows, columns, numbers, dates, truths, formulas, mergedCells } : undefined),
  };
}
