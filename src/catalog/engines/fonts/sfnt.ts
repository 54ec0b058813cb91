/** TrueType and OpenType fonts from one container to another: every table stays as it is, where the target takes the outlines. */
import { type Engine, everyPair } from '../../engine.ts';
import { TTF, WOFF2 } from '../../known-good.ts';
import { COLLECTIONS, explainFont, FONT_BINARIES, INSPECT_FONT, planFont, SFNT } from '../../planning/font.ts';

const { sfnt, compress, decompress, copy, fontforge, tmpfile, draw } = FONT_BINARIES;
const OUTLINES = ['ttf', 'otf'];

export const engine: Engine = {
  id: 'sfnt',
  name: 'sfnt',
  role: 'font',
  toolchains: ['assets'],
  // Adobe's outlines in a web font that is to be a TTF are redrawn by FontForge.
  binaries: { sfnt, compress, decompress, copy, fontforge, tmpfile, draw },
  conversions: everyPair([...SFNT, ...COLLECTIONS], SFNT, { rank: 90 }).filter(
    ({ source, target }) => !OUTLINES.includes(source) || !OUTLINES.includes(target),
  ),
  trials: [
    { file: TTF, target: 'woff2' },
    { file: TTF, target: 'woff' },
    { file: WOFF2, target: 'otf' },
    { file: WOFF2, target: 'ttf' },
  ],
  options: () => [],
  inspect: INSPECT_FONT,
  plan: planFont,
  explain: explainFont,
  limits: { memoryBytes: 2 * 1024 ** 3 },
};
