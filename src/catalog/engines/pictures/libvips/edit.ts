/** What a request asks of a picture whose size is known: colours, then rotate, crop, resize, blur and watermark. Pure. */
import { MAX_SIDE } from '../../../bounds.ts';
import { cropMisfit } from '../../../options/edits.ts';
import type { Pipeline } from './pipeline.ts';
import { boundPicture, type ImageRequest, outside, PictureRefusal, type PixelSize } from './request.ts';
import type { ImageHeader } from './session.ts';
import type { PictureTarget } from './targets.ts';

const isGrey = (colour: string): boolean => colour.slice(1, 3) === colour.slice(3, 5) && colour.slice(3, 5) === colour.slice(5, 7);

/** @returns red, green and blue, 0 to 255 */
export const rgbOf = (colour: string): [number, number, number] =>
  [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)) as [number, number, number];

/** Converts to sRGB (a grey picture stays grey), and keeps or strips metadata. */
export function colours(
  found: ImageHeader,
  request: ImageRequest,
  target: PictureTarget,
): Pick<Pipeline, 'work' | 'space' | 'grayscale' | 'flatten' | 'profile'> & {
  readonly keep: string;
  readonly deep: boolean;
} {
  // Compositing works in 8 bits, and palettes have no more.
  const shallow = request.watermark !== undefined || (request.compress === true && request.quality < 100);
  const deep = target.sixteenBit && found.format === 'ushort' && !shallow;
  const flattens = !target.alpha && found.alpha;
  const { background, watermark, grayscale = false, strip } = request;
  const tinted = (flattens && !isGrey(background)) || (watermark !== undefined && !isGrey(watermark.color));
  const grey = grayscale || (!tinted && (found.space === 'b-w' || found.space === 'grey16'));
  // Without an output profile, 16-bit pictures would stay in Display P3.
  const profile = found.stated.profile && !grey;
  return {
    // A grey picture would make its background grey too.
    work: tinted && !grayscale ? 'srgb' : undefined,
    space: grey ? (deep ? 'grey16' : 'b-w') : deep ? 'rgb16' : 'srgb',
    grayscale,
    flatten: flattens ? rgbOf(background) : undefined,
    profile,
    deep,
    // libvips 8.18 cuts IPTC in a TIFF off.
    keep: strip
      ? 'none'
      : `exif${request.wordless === true ? '' : ':xmp'}${profile ? ':icc' : ''}${request.target === 'tiff' ? '' : ':iptc'}`,
  };
}

interface From extends PixelSize {
  readonly alpha: boolean;
}

type Edits = Pick<Pipeline, 'turnFirst' | 'turn' | 'flip' | 'flop' | 'crop' | 'resize' | 'blur' | 'dropAlpha'> & {
  /** As the picture comes out. */
  readonly size: PixelSize;
};

/** Rotate, crop, resize, blur; room for the watermark. @param from px, upright @throws PictureRefusal */
export function edit(from: From, request: ImageRequest, target: PictureTarget): Edits {
  const { rotate } = request;
  const turns = rotate === '90' || rotate === '270';
  const turned = turns ? { width: from.height, height: from.width } : from;
  const cropped = cropOf(turned, request.crop);
  const size = sizeOf(cropped, request.resize);
  boundPicture(`side of ${request.target}`, target.longest, Math.max(size.width, size.height));
  // Resized before it is turned, a picture need not be decoded at full size.
  const last = turns && request.crop === undefined;
  const flip = rotate === '180' || rotate === 'flip-v';
  const flop = rotate === '180' || rotate === 'flip-h';
  const transparent = from.alpha && target.alpha;
  return {
    turn: turns ? (rotate === '90' ? 90 : 270) : 0,
    turnFirst: turns && !last,
    flip,
    flop,
    // Mirrored after it was cropped.
    crop: request.crop && {
      ...cropped,
      left: flop ? turned.width - cropped.left - cropped.width : cropped.left,
      top: flip ? turned.height - cropped.top - cropped.height : cropped.top,
    },
    resize: request.resize && {
      ...(last ? { width: size.height, height: size.width } : size),
      fit: request.fit ?? 'fill',
      bars: transparent ? [0, 0, 0, 0] : [...rgbOf(request.background), 255],
    },
    blur: request.blur,
    // Compositing adds an alpha channel.
    dropAlpha: request.watermark !== undefined && !transparent,
    size,
  };
}
function cropOf(from: PixelSize, crop: ImageRequest['crop']): PixelSize & { left: number; top: number } {
  const { x: left = 0, y: top = 0, w: width = from.width - left, h: height = from.height - top } = crop ?? {};
  const wrong = cropMisfit('x', from.width, left, crop?.w) ?? cropMisfit('y', from.height, top, crop?.h);
  if (wrong !== undefined) throw outside(wrong);
  return { left, top, width, height };
}

/** One side keeps the ratio, both are exact. */
function sizeOf(from: PixelSize, resize: ImageRequest['resize']): PixelSize {
  const width = resize?.w ?? (resize?.h === undefined ? from.width : Math.round((from.width * resize.h) / from.height));
  const height = resize?.h ?? (resize?.w === undefined ? from.height : Math.round((from.height * resize.w) / from.width));
  for (const side of resize === undefined ? [] : [width, height]) {
    const says = `The picture has ${from.width} x ${from.height} pixels; in this size its other side would be ${side} pixels`;
    if (side < 1)
      throw new PictureRefusal('input_limit', 'the derived side is below 1 px', {
        details: { limit: 'derived side', min: 1, received: side },
        says: `${says}, and the minimum is 1.`,
      });
    boundPicture('derived side', MAX_SIDE, side, `${says}, and the maximum is ${MAX_SIDE}.`);
  }
  return { width, height };
}
