/** FontForge: fonts whose outlines are rewritten, bitmap fonts, and the sources of typefaces. */
import { type Engine, everyPair } from '../../engine.ts';
import { TTF } from '../../known-good.ts';
import { COLLECTIONS, explainFont, FONT_BINARIES, INSPECT_FONT, planFont, SFNT } from '../../planning/font.ts';

/** Type 1, bare CFF, SVG fonts and UFO: outlines and metrics, and no tables. */
const DRAWN = ['pfa', 'pfb', 'cff', 'svgf', 'ufoz'];
const OUTLINED = [...SFNT, ...COLLECTIONS, ...DRAWN];
const BITMAPS = ['bdf', 'otb'];

const HINTING = 'hinting';
const LAYOUT = 'layout features';

const { fontforge, tmpfile, draw, sfnt, compress, decompress, tar, copy } = FONT_BINARIES;

export const engine: Engine = {
  id: 'fontforge',
  name: 'FontForge',
  role: 'font',
  toolchains: ['assets'],
  binaries: { fontforge, tmpfile, draw, sfnt, compress, decompress, tar, copy },
  conversions: [
    ...everyPair(['ttf', 'otf'], ['ttf', 'otf'], { rank: 70, loses: [HINTING] }),
    ...everyPair(DRAWN, SFNT, { rank: 70, loses: [HINTING] }),
    ...everyPair(OUTLINED, ['ufoz'], { rank: 70, loses: [HINTING] }),
    ...everyPair(OUTLINED, ['pfa', 'pfb', 'svgf'], { rank: 65, loses: [HINTING, LAYOUT] }),
    ...everyPair(BITMAPS, ['bdf', 'otb'], { rank: 80 }),
    ...everyPair(OUTLINED, ['bdf'], { rank: 50, loses: ['outlines', LAYOUT] }),
  ],
  trials: [{ file: TTF, target: 'ufoz' }],
  options: () => [],
  inspect: INSPECT_FONT,
  plan: planFont,
  explain: explainFont,
  limits: { memoryBytes: 2 * 1024 ** 3 },
};
