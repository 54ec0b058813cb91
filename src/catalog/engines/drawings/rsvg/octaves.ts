/** How much noise an SVG asks for: each octave of a `feTurbulence` is drawn for every pixel (Filter Effects 1, 9.21). */

const OCTAVES = /numOctaves\s{0,16}=\s{0,16}["']([^"'<]{0,64})/g;

/**
 * @param text of the drawing, read as latin1 or UTF-8: of UTF-16, whichever of its bytes comes first, one half is zeros
 * @returns the most octaves of any; entities are not expanded, except those of characters
 */
export function octavesIn(text: string): number {
  let most = 0;
  for (const [, value = ''] of text.replaceAll('\0', '').matchAll(OCTAVES)) most = Math.max(most, numberIn(value));
  return most;
}

/** 0 for what is no number. */
function numberIn(value: string): number {
  const plain = value.replace(/&#(?:x([\da-f]{1,6})|(\d{1,7}));/gi, (_, hex?: string, decimal?: string) =>
    String.fromCodePoint(Math.min(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16), 0x10_ffff)),
  );
  const number = Number(plain);
  return Number.isFinite(number) ? number : 0;
}
