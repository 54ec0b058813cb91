/** How large a drawing is, read from the tag that opens it. */
import { attributesOf, rootOf } from '../../sniff/xml.ts';

/** CSS pixels of each absolute unit (CSS Values 3, 5.2); em and ex as for the default font size of 12 pt. */
const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  px: 1,
  in: 96,
  cm: 96 / 2.54,
  mm: 96 / 25.4,
  pt: 96 / 72,
  pc: 16,
  em: 16,
  ex: 8,
};

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** @param head the first bytes of the drawing @returns CSS pixels; undefined where the tag does not say */
export function sizeOf(head: string): Size | undefined {
  const root = rootOf(head);
  if (root?.name !== 'svg') return undefined;
  const attributes = attributesOf(root);
  const value = (name: string): string => (attributes.get(name) ?? '').trim();
  const [, , viewWidth, viewHeight] = value('viewBox')
    .split(/[\s,]+/, 4)
    .map(Number);
  const [width, height] = [length(value('width'), viewWidth), length(value('height'), viewHeight)];
  return width === undefined || height === undefined ? undefined : { width, height };
}

/** CSS pixels: far beyond what is drawn, and still a number when two of them are multiplied. */
const LARGEST = 1e12;

/** @param whole what a percentage is of, and what stands for a missing length */
function length(text: string, whole: number | undefined): number | undefined {
  const [, number, unit = ''] = /^\+?((?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?)\s*(%|[a-z]*)$/i.exec(text) ?? [];
  const pixels =
    number === undefined || unit === '%'
      ? ((whole ?? Number.NaN) * Number(number ?? 100)) / 100
      : Number(number) * (UNITS[unit.toLowerCase()] ?? Number.NaN);
  return pixels > 0 ? Math.min(pixels, LARGEST) : undefined;
}
