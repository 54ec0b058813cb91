/** Reads a picture's header with the one decoder that its format allows, and enforces the bounds before anything is decoded. */
import { MAX_FRAMES, MAX_PAGES, MAX_PIXELS } from '../../../bounds.ts';
import type { OpenedPicture } from './pipeline.ts';
import { boundPicture, type ImageRequest, PictureRefusal } from './request.ts';
import type { Image, ImageHeader, Properties, Session, Talk } from './session.ts';

/** CMYK with alpha. More would be worked on band by band, and mean nothing to a target. */
const MOST_BANDS = 5;

/** The decoder of each source, by libvips' names; which can decode smaller, and which has pages or frames. */
const LOADERS: Readonly<Record<string, { readonly loader: string; readonly smaller?: 'shrink' | 'scale'; readonly paged?: true }>> = {
  png: { loader: 'pngload' },
  apng: { loader: 'pngload' },
  jpg: { loader: 'jpegload', smaller: 'shrink' },
  webp: { loader: 'webpload', smaller: 'scale', paged: true },
  gif: { loader: 'gifload', paged: true },
  tiff: { loader: 'tiffload', paged: true },
  avif: { loader: 'heifload', paged: true },
};

/**
 * Samples of a TIFF that libvips would cut to their range: signed ones have their middle at 0 (TIFF 6.0, section 19), and 32 bits become 16. Colours as
 * floats go from 0 to 1; libvips would take them for linear light, ImageMagick and GIMP for what the profile says, or sRGB.
 */
const SAMPLES: Readonly<Record<string, { a: number; b: number; format: string; colour: string; grey: string }>> = {
  char: { a: 1, b: 128, format: 'uchar', colour: 'srgb', grey: 'b-w' },
  short: { a: 1, b: 32_768, format: 'ushort', colour: 'rgb16', grey: 'grey16' },
  int: { a: 1 / 65_537, b: 32_767.5, format: 'ushort', colour: 'rgb16', grey: 'grey16' },
  uint: { a: 1 / 65_537, b: 0, format: 'ushort', colour: 'rgb16', grey: 'grey16' },
  float: { a: 65_535, b: 0, format: 'ushort', colour: 'rgb16', grey: 'grey16' },
};

const MEASURED: ReadonlySet<string> = new Set(['float', 'double']);

export type OpenedFirst = Omit<OpenedPicture, 'frames'>;

/** @throws PictureRefusal */
export function* look(session: Session, request: ImageRequest): Talk<OpenedFirst> {
  const found = yield* openAgain(session, request, {});
  const { header } = found;
  boundPixels(header);
  if (request.source === 'tiff') boundPicture('pages', MAX_PAGES, header.stated.pages ?? 1);
  else boundPicture('frames', MAX_FRAMES, header.stated.pages ?? 1);
  const { primary = 0, pages = 1 } = header.stated;
  // Several items: not the first, but the one that is meant to be shown.
  return request.source === 'avif' && pages > 1 && primary > 0 ? yield* openAgain(session, request, { page: primary }) : found;
}

/** @param which page or frames; the first without it @throws PictureRefusal */
export function* openAgain(
  session: Session,
  { source, input, cut = false, colours, orientation, gamma }: ImageRequest,
  which: { page?: number; n?: number },
): Talk<OpenedFirst> {
  const known = LOADERS[source];
  if (known === undefined) throw new PictureRefusal('internal', `no decoder for ${source}`);
  const { loader, smaller, paged } = known;
  const open = (properties: Properties) =>
    session.run(loader, { filename: input, access: 'sequential', 'fail-on': cut ? 'none' : 'error', ...(paged && which), ...properties });
  let image = open({});
  let header = yield* session.look(image);
  if (orientation !== undefined) {
    image = session.meta(image, { orientation });
    header = yield* session.look(image);
  }
  if (gamma !== undefined) {
    image = brightened(session, image, header, gamma);
    header = yield* session.look(image);
  }
  if (colours !== undefined && header.bands > colours) {
    image = session.run('extract_band', { in: image, band: 0, n: colours });
    header = yield* session.look(image);
  }
  // Lab has signed samples by its nature.
  const measured = header.bands === 1 && MEASURED.has(header.format);
  const samples = source === 'tiff' && !measured && !header.space.startsWith('lab') ? SAMPLES[header.format] : undefined;
  if (samples !== undefined) {
    const { a, b, format } = samples;
    const space = header.bands > 2 ? samples.colour : samples.grey;
    const plain = session.run('cast', { in: session.run('linear', { in: image, a: [a], b: [b] }), format });
    image = session.run('copy', { in: plain, interpretation: space });
    header = yield* session.look(image);
  }
  // Grey measurements have any range, of which a cast to 8 bits would leave black or white: the darkest becomes black, the lightest white.
  if (source === 'tiff' && measured) {
    boundPixels(header);
    const scaled = session.run('scale', { in: session.memory(image) });
    image = session.run('copy', { in: scaled, interpretation: 'b-w' });
    header = yield* session.look(image);
  }
  if (header.bands > MOST_BANDS) throw new PictureRefusal('unsupported_variant', `${header.bands} bands, at most ${MOST_BANDS}`);
  return { image, header, ...(smaller && { reload: { by: smaller, open } }) };
}

/** As sRGB has it, but for opacity, which is no light. The power of sRGB is near 2.2 (PNG 3, 11.3.2.2). */
function brightened(session: Session, image: Image, { alpha, bands }: ImageHeader, gamma: number): Image {
  const exponent = 2.2 * gamma;
  if (!alpha) return session.run('gamma', { in: image, exponent });
  const colours = session.run('gamma', { in: session.run('extract_band', { in: image, band: 0, n: bands - 1 }), exponent });
  return session.run('bandjoin', { in: [colours, session.run('extract_band', { in: image, band: bands - 1 })] });
}

/** @throws PictureRefusal for a frame or page beyond the bound */
export const boundPixels = ({ width, height, stated }: ImageHeader): void =>
  boundPicture('pixels', MAX_PIXELS, width * (stated.pageHeight ?? height));
