/** Reads the size of an SVG from its root tag. */
import { attributesOf, rootOf } from '../../../looks/xml.ts';

/** CSS pixels of each absolute unit (CSS Values 3, 5.2); em and ex for the default font size of 12 pt. */
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

export interface SvgSize {
  readonly width: number;
  readonly height: number;
}

/** @param head the first bytes of the drawing @returns CSS pixels; undefined if the tag has no size */
export function sizeOf(head: string): SvgSize | undefined {
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

/** CSS pixels: far beyond any drawing, and the product of two is still finite. */
const LARGEST = 1e12;

/** @param whole the length that a percentage refers to, and the default */
function length(text: string, whole: number | undefined): number | undefined {
  const [, number, unit = ''] = /^\+?((?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?)\s*(%|[a-z]*)$/i.exec(text) ?? [];
  const pixels =
    number === undefined || unit === '%'
      ? ((whole ?? Number.NaN) * Number(number ?? 100)) / 100
      : Number(number) * (UNITS[unit.toLowerCase()] ?? Number.NaN);
  return pixels > 0 ? Math.min(pixels, LARGEST) : undefined;
}
