/** Blocks of printed and scanned pages, by the places and sizes of their words. */
import { type Box, boxAround } from '../../pdf/layout/boxes.ts';
import { joined, layoutOf, type PagePart } from '../../pdf/layout/parts.ts';
import { type Line, type PageSize, spaced } from '../../pdf/layout/words.ts';
import type { Block, ListItem, Place } from './model.ts';

/** The upper and the lower share of a page in which headers and footers stand. */
const EDGE = 0.09;
/** What stands there is one where it is on so many pages, and on a share of them. */
const [LEAST_PAGES, LEAST_SHARE] = [3, 0.4];
/** Decimals of a place, points. */
const ROUNDED = 10;

export function printedBlocks(lines: readonly Line[], pages: readonly PageSize[]): readonly Block[] {
  const edges = edgesOf(lines, pages);
  const parts = layoutOf(lines.filter((line) => !edges.has(line)));
  const text = blocksOf(parts);
  const kept = [...edges].map(([line, type]): Block => ({ type, text: spaced(line.words), ...aboutOf([line]) }));
  const pageOf = ({ boxes }: Block): number => boxes?.[0]?.page ?? 0;
  // By page: headers first, footers last.
  const places = { header: 0, footer: 2 };
  const order = (block: Block): number => (block.type === 'header' || block.type === 'footer' ? places[block.type] : 1);
  return [...text, ...kept]
    .map((block, at) => ({ block, at }))
    .toSorted((one, other) => pageOf(one.block) - pageOf(other.block) || order(one.block) - order(other.block) || one.at - other.at)
    .map(({ block }) => block);
}

/** Lines at the edges of pages that are the same on several but for numbers. */
function edgesOf(lines: readonly Line[], pages: readonly PageSize[]): ReadonlyMap<Line, 'header' | 'footer'> {
  const heights = new Map(pages.map(({ number, height }) => [number, height]));
  const found = new Map<string, Line[]>();
  for (const line of lines) {
    const height = heights.get(line.page) ?? 0;
    const edge = line.bottom < EDGE * height ? 'header' : line.top > (1 - EDGE) * height ? 'footer' : undefined;
    if (edge === undefined) continue;
    const text = spaced(line.words);
    if (!isLabel(text)) continue;
    const key = `${edge} ${text.replaceAll(/\d+/g, '#')}`;
    const same = found.get(key) ?? [];
    same.push(line);
    found.set(key, same);
  }
  const edges = new Map<Line, 'header' | 'footer'>();
  for (const [key, same] of found) {
    const on = new Set(same.map(({ page }) => page)).size;
    if (on < Math.max(LEAST_PAGES, LEAST_SHARE * pages.length)) continue;
    for (const line of same) edges.set(line, key.startsWith('header') ? 'header' : 'footer');
  }
  return edges;
}

/** Words, or the number of a page and perhaps of pages: a row of numbers belongs to a table. */
const isLabel = (text: string): boolean => /\p{L}/u.test(text) || (text.match(/\d+/g) ?? []).length <= 2;

function blocksOf(parts: readonly PagePart[]): readonly Block[] {
  const blocks: Block[] = [];
  let list: { readonly items: ListItem[]; readonly places: Line[] } | undefined;
  const endList = (): void => {
    if (list !== undefined) blocks.push({ type: 'list', items: list.items, ...aboutOf(list.places) });
    list = undefined;
  };
  for (const part of parts) {
    if (part.kind === 'item') {
      list ??= { items: [], places: [] };
      list.items.push({ level: part.depth + 1, ...(part.number === undefined ? {} : { number: part.number }), text: joined(part.lines) });
      list.places.push(...part.places);
      continue;
    }
    endList();
    if (part.kind === 'table') {
      const { rows, page, box, isSeen } = part.table;
      const cells = rows.map((row, at) => row.map((text) => (at === 0 ? { text, header: true as const } : { text })));
      blocks.push({ type: 'table', rows: cells, boxes: [placeOf(page, box)], origin: isSeen ? 'ocr' : 'layout' });
    } else if (part.kind === 'heading')
      blocks.push({ type: 'heading', level: part.level, text: joined(part.lines), ...aboutOf(part.places) });
    else blocks.push({ type: 'paragraph', text: joined(part.lines), ...aboutOf(part.places) });
  }
  endList();
  return blocks;
}

function aboutOf(lines: readonly Line[]): Pick<Block, 'boxes' | 'origin' | 'confidence'> {
  const groups = Map.groupBy(lines, ({ block }) => block);
  const boxes = [...groups.values()].map((group) => placeOf(group[0]?.page ?? 1, boxAround(group)));
  const seen = lines.filter(({ isSeen }) => isSeen);
  if (seen.length === 0) return { boxes, origin: 'layout' };
  const words = seen.reduce((sum, line) => sum + line.words.length, 0);
  const sure = seen.reduce((sum, line) => sum + line.confidence * line.words.length, 0);
  return { boxes, origin: 'ocr', confidence: Math.round((100 * sure) / words) / 100 };
}

function placeOf(page: number, { left, top, right, bottom }: Box): Place {
  const round = (points: number): number => Math.round(points * ROUNDED) / ROUNDED;
  return { page, left: round(left), top: round(top), right: round(right), bottom: round(bottom) };
}
