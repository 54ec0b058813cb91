/** What the picture tools have in common: what they take, and what they give back. */
import { formats } from '../formats.ts';

/** Every picture that some engine reads. */
export const PICTURES: readonly string[] = [...formats.values()].filter(({ family }) => family === 'image').map(({ id }) => id);

/** Formats that are written as well as read; others come out as PNG. */
const WRITTEN = new Set(['png', 'jpg', 'webp', 'gif', 'tiff', 'avif', 'heic', 'jxl', 'jp2', 'bmp', 'ico', 'tga', 'ppm', 'pgm', 'pbm']);

export const sameFormat = (source: string): string => (WRITTEN.has(source) ? source : 'png');
