/** What a font has that its result should have too, and which formats can contain it. */
import type { Options } from '../options/options.ts';
import type { FontContents } from '../planning/contents/others/font.ts';
import { counted } from './counted.ts';
import type { FidelityProperty } from './fidelity.ts';

type FontProperty = FidelityProperty<FontContents, Options>;

const there = (name: string, has: (facts: FontContents) => boolean): FontProperty => ({
  name,
  show: (facts) => (has(facts) ? 'present' : undefined),
  fits: () => true,
});

export const fontProperties: readonly FontProperty[] = [
  counted({ name: 'glyphs', count: ({ glyphs }) => glyphs, fits: () => true, promised: () => true }),
  { name: 'axes', show: ({ axes }) => (axes.length === 0 ? undefined : axes.join(', ')), fits: () => true },
  { name: 'font_family', show: ({ family }) => family || undefined, fits: () => true },
  { name: 'font_style', show: ({ style }) => style || undefined, fits: () => true },
  there('kerning', ({ layout }) => layout),
  there('colour_glyphs', ({ colours }) => colours),
];

/** Has all that a font may have. */
export const RICH_FONT: FontContents = { glyphs: 1, axes: ['wght 100 to 900'], family: 'A', style: 'B', layout: true, colours: true };
