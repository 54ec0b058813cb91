/** How large a drawing is, read from the tag that opens it. */

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
  const bare = head.replace(/<!--[\s\S]*?-->/g, '');
  const [, attributes] = /<(?:\w+:)?svg((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*\/?>/.exec(bare) ?? [];
  if (attributes === undefined) return undefined;
  const value = (name: string): string => {
    const [, double, single] = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(attributes) ?? [];
    return double ?? single ?? '';
  };
  const [, , viewWidth, viewHeight] = value('viewBox')
    .trim()
    .split(/[\s,]+/)
    .map(Number);
  const [width, height] = [length(value('width'), viewWidth), length(value('height'), viewHeight)];
  return width === undefined || height === undefined ? undefined : { width, height };
}

/** @param whole what a percentage is of, and what stands for a missing length */
function length(text: string, whole: number | undefined): number | undefined {
  const [, number, unit = ''] = /^\s*\+?(\d*\.?\d+(?:e[+-]?\d+)?)\s*(%|[a-z]*)\s*$/i.exec(text) ?? [];
  const pixels =
    number === undefined || unit === '%'
      ? ((whole ?? Number.NaN) * Number(number ?? 100)) / 100
      : Number(number) * (UNITS[unit.toLowerCase()] ?? Number.NaN);
  return pixels > 0 ? pixels : undefined;
}
