/** Colours that leave the lightness of a picture as it is, to the bit. */

/** Weights of red, green and blue in luma (ITU-R BT.601), as programs make a picture grey by. */
const [RED, GREEN, BLUE] = [0.299, 0.587, 0.114];

/** CIE L*a*b* of D65 (CIE 15, 8.2.1): its bend, and the slope below it. */
const [BEND, SLOPE] = [216 / 24_389, 24_389 / 27];
/** White of D65, and from XYZ to linear sRGB (IEC 61966-2-1). */
const [WHITE_X, WHITE_Z] = [0.950_47, 1.088_83];

const linearOf = (value: number): number => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const codedOf = (value: number): number => (value <= 0.003_130_8 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055);
const lifted = (t: number): number => (t ** 3 > BEND ? t ** 3 : (116 * t - 16) / SLOPE);

export type Colour = readonly [red: number, green: number, blue: number];

/** @param grey sRGB value, 0 to 1 @param a of CIE L*a*b* @param b of the same @returns sRGB values, which may be out of range */
export function colourOf(grey: number, a: number, b: number): Colour {
  const y = linearOf(grey);
  const height = y > BEND ? Math.cbrt(y) : (SLOPE * y + 16) / 116;
  const [x, z] = [WHITE_X * lifted(height + a / 500), WHITE_Z * lifted(height - b / 200)];
  return [
    codedOf(Math.max(0, 3.240_454_2 * x - 1.537_138_5 * y - 0.498_531_4 * z)),
    codedOf(Math.max(0, -0.969_266 * x + 1.876_010_8 * y + 0.041_556 * z)),
    codedOf(Math.max(0, 0.055_643_4 * x - 0.204_025_9 * y + 1.057_225_2 * z)),
  ];
}

const lumaIn = ([red, green, blue]: Colour): number => RED * red + GREEN * green + BLUE * blue;

/** Steps of each channel by which rounding is put right: together they reach every luma. */
const STEPS: readonly Colour[] = [-1, 0, 1].flatMap((red) =>
  [-1, 0, 1].flatMap((green) => [-1, 0, 1].map((blue): Colour => [red, green, blue])),
);

/**
 * The colour whose luma is the grey, in whole numbers: paler where the colour itself would be out of range.
 * @param grey whole number up to `maxval` @param colour of about that lightness, from 0 to 1 @returns whole numbers up to `maxval`
 */
export function withLuma(grey: number, colour: Colour, maxval: number): Colour {
  const scaled = colour.map((value) => value * maxval) as unknown as Colour;
  const shift = grey - lumaIn(scaled);
  // What is added to the grey has no luma.
  const chroma = scaled.map((value) => value + shift - grey);
  const room = chroma.map((value) => (value > 0 ? (maxval - grey) / value : value < 0 ? -grey / value : 1));
  const strength = Math.min(1, ...room);
  const rounded = chroma.map((value) => Math.round(grey + value * strength)) as unknown as Colour;
  if (Math.round(lumaIn(rounded)) === grey) return rounded;
  let [best, least]: [Colour, number] = [[grey, grey, grey], Number.POSITIVE_INFINITY];
  for (const step of STEPS) {
    const tried = rounded.map((value, channel) => value + (step[channel] as number)) as unknown as Colour;
    const size = Math.abs(step[0]) + Math.abs(step[1]) + Math.abs(step[2]);
    if (size < least && tried.every((value) => value >= 0 && value <= maxval) && Math.round(lumaIn(tried)) === grey)
      [best, least] = [tried, size];
  }
  return best;
}
