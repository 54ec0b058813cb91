/** The only importer of sharp. Reads a picture's header with the one decoder that its format allows, and enforces the bounds. */
import sharp, { type Metadata, type Sharp, type SharpOptions } from 'sharp';
import { bound, type ImageRequest, Refusal } from './request.ts';

const MOST_PIXELS = 100_000_000;
const MOST_FRAMES = 1000;
export const MOST_PAGES = 2000;

/** The decoder of each source (libvips class names), and sharp's name for its format. */
const LOADERS: Readonly<Record<string, { readonly loader: string; readonly found: string }>> = {
  png: { loader: 'VipsForeignLoadPng', found: 'png' },
  jpg: { loader: 'VipsForeignLoadJpeg', found: 'jpeg' },
  webp: { loader: 'VipsForeignLoadWebp', found: 'webp' },
  gif: { loader: 'VipsForeignLoadNsgif', found: 'gif' },
  tiff: { loader: 'VipsForeignLoadTiff', found: 'tiff' },
  avif: { loader: 'VipsForeignLoadHeif', found: 'heif' },
};

/** Reads the header with the one decoder that the source format allows, and enforces the bounds before anything is decoded. */
export async function look(request: ImageRequest): Promise<Metadata> {
  const known = LOADERS[request.source];
  if (known === undefined) throw new Refusal('internal', `no decoder for ${request.source}`);
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: [known.loader] });
  const found = await open(request).metadata();
  if (found.format !== known.found || (request.source === 'avif' && found.compression !== 'av1'))
    throw new Refusal('corrupt_input', `named ${request.source}, found ${found.format}`);
  boundPixels(found);
  if (request.source === 'tiff') bound('pages', MOST_PAGES, found.pages ?? 1);
  else bound('frames', MOST_FRAMES, found.pages ?? 1);
  return found;
}

/** @throws Refusal for a frame or page beyond the bound */
export const boundPixels = ({ width, height, pageHeight = height }: Metadata): void => bound('pixels', MOST_PIXELS, width * pageHeight);

/** Without sharp's own pixel limit, which counts all frames of an animation together: ours is per frame. */
export function open({ input }: ImageRequest, options: SharpOptions = {}): Sharp {
  return sharp(input, { failOn: 'error', limitInputPixels: false, sequentialRead: true, ...options });
}

export { type Metadata, type Sharp, sharp };
