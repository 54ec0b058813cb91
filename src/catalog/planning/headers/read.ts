/** Reads the header of a picture in any format that has a reader here. */
import type { Pieces } from '../pieces.ts';
import { gifHeader } from './gif.ts';
import { heifHeader } from './heif.ts';
import { jpegHeader } from './jpeg.ts';
import type { PictureHeader } from './picture.ts';
import { pngHeader } from './png.ts';
import { tiffHeader } from './tiff.ts';
import { webpHeader } from './webp.ts';

const READERS: Readonly<Record<string, (file: Pieces) => PictureHeader | undefined>> = {
  jpg: jpegHeader,
  png: pngHeader,
  apng: pngHeader,
  webp: webpHeader,
  gif: gifHeader,
  tiff: tiffHeader,
  avif: heifHeader,
  heic: heifHeader,
};

export const hasPictureHeader = (format: string): boolean => READERS[format] !== undefined;

/** @returns undefined where the format has no reader, or the header is damaged */
export const pictureHeader = (format: string, file: Pieces): PictureHeader | undefined => READERS[format]?.(file);
