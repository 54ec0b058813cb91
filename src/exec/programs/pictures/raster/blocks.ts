/** Blocks of 4 × 4 pixels with two colours and steps between them: BC1 to BC5 (Direct3D 10, "Block Compression"). Pixels have four bytes. */

/** Writes the 16 pixels of the block at an offset. */
export type BlockDecoder<Pixels> = (bytes: Uint8Array, at: number, pixels: Pixels) => void;

const PIXELS = 16;

/** @param opaque whether the order of the two colours means nothing, as in BC2 and BC3 */
function colours(bytes: Uint8Array, at: number, pixels: Uint8Array, opaque: boolean): void {
  const [first, second] = [word(bytes, at), word(bytes, at + 2)];
  const palette = new Uint8Array(16).fill(255);
  for (const [place, colour] of [first, second].entries()) {
    const [red, green, blue] = [(colour >> 11) / 31, ((colour >> 5) & 63) / 63, (colour & 31) / 31];
    palette.set([Math.round(red * 255), Math.round(green * 255), Math.round(blue * 255)], place * 4);
  }
  const thirds = opaque || first > second;
  for (let channel = 0; channel < 3; channel++) {
    const [one, two] = [palette[channel] as number, palette[4 + channel] as number];
    palette[8 + channel] = thirds ? Math.round((2 * one + two) / 3) : (one + two) >> 1;
    palette[12 + channel] = thirds ? Math.round((one + 2 * two) / 3) : 0;
  }
  if (!thirds) palette[15] = 0;
  for (let pixel = 0; pixel < PIXELS; pixel++) {
    const from = (((bytes[at + 4 + (pixel >> 2)] as number) >> (2 * (pixel & 3))) & 3) * 4;
    for (let channel = 0; channel < 4; channel++) pixels[pixel * 4 + channel] = palette[from + channel] as number;
  }
}

/** One channel of eight levels, or of six with the lowest and the highest beside them. @param signed from -127 to 127, shown with 0 in the middle */
function levels(bytes: Uint8Array, at: number, pixels: Uint8Array, channel: number, signed = false): void {
  const [low, high] = signed ? [-127, 127] : [0, 255];
  const [one, two] = [at, at + 1].map((place) => {
    const value = bytes[place] as number;
    return signed ? Math.max(-127, (value << 24) >> 24) : value;
  }) as [number, number];
  const between = one > two ? 7 : 5;
  const found = Array.from({ length: 8 }, (_, place) => {
    if (place < 2) return place === 0 ? one : two;
    if (place > between) return place === 6 ? low : high;
    return ((between + 1 - place) * one + (place - 1) * two) / between;
  }).map((value) => Math.round(((value - low) * 255) / (high - low)));
  for (let half = 0; half < 2; half++) {
    const from = at + 2 + 3 * half;
    const packed = word(bytes, from) | ((bytes[from + 2] as number) << 16);
    for (let pixel = 0; pixel < 8; pixel++) pixels[(8 * half + pixel) * 4 + channel] = found[(packed >> (3 * pixel)) & 7] as number;
  }
}

const word = (bytes: Uint8Array, at: number): number => (bytes[at] as number) | ((bytes[at + 1] as number) << 8);

export const bc1: BlockDecoder<Uint8Array> = (bytes, at, pixels) => colours(bytes, at, pixels, false);

/** Opacity in 16 steps. */
export const bc2: BlockDecoder<Uint8Array> = (bytes, at, pixels) => {
  colours(bytes, at + 8, pixels, true);
  for (let pixel = 0; pixel < PIXELS; pixel++)
    pixels[pixel * 4 + 3] = (((bytes[at + (pixel >> 1)] as number) >> (4 * (pixel & 1))) & 15) * 17;
};

export const bc3: BlockDecoder<Uint8Array> = (bytes, at, pixels) => {
  colours(bytes, at + 8, pixels, true);
  levels(bytes, at, pixels, 3);
};

/** Shown as grey. */
export const bc4 =
  (signed: boolean): BlockDecoder<Uint8Array> =>
  (bytes, at, pixels) => {
    levels(bytes, at, pixels, 0, signed);
    for (let pixel = 0; pixel < PIXELS; pixel++) {
      pixels[pixel * 4 + 1] = pixels[pixel * 4 + 2] = pixels[pixel * 4] as number;
      pixels[pixel * 4 + 3] = 255;
    }
  };

/** Red and green. */
export const bc5 =
  (signed: boolean): BlockDecoder<Uint8Array> =>
  (bytes, at, pixels) => {
    levels(bytes, at, pixels, 0, signed);
    levels(bytes, at + 8, pixels, 1, signed);
    for (let pixel = 0; pixel < PIXELS; pixel++) {
      pixels[pixel * 4 + 2] = 0;
      pixels[pixel * 4 + 3] = 255;
    }
  };
