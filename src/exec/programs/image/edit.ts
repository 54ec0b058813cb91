/** Edits between decoding and encoding: colours, then rotate, crop, resize, blur and watermark. */
import type { Metadata, Sharp } from './libvips.ts';
import { bound, type ImageRequest, outside, Refusal, type Size } from './request.ts';
import type { Target } from './targets.ts';
import { drawWatermark } from './watermark.ts';

/** The longest derived side, px: the limit of WebP, and enough for the others. */
const LONGEST_DERIVED = 16_383;

const isGrey = (colour: string): boolean => colour.slice(1, 3) === colour.slice(3, 5) && colour.slice(3, 5) === colour.slice(5, 7);

/** Converts to sRGB (a grey picture stays grey), and keeps or strips metadata. */
export function colours(picture: Sharp, found: Metadata, request: ImageRequest, target: Target): Sharp {
  // Compositing works in 8 bits, and palettes have no more.
  const shallow = request.watermark !== undefined || (request.compress && request.quality < 100);
  const deep = target.sixteenBit && found.depth === 'ushort' && !shallow;
  const flattens = !target.alpha && found.hasAlpha;
  const { background, watermark, grayscale = false } = request;
  const tinted = (flattens && !isGrey(background)) || (watermark !== undefined && !isGrey(watermark.color));
  const grey = grayscale || (!tinted && (found.space === 'b-w' || found.space === 'grey16'));
  // A grey picture would make its background grey too.
  let result = (tinted && !grayscale ? picture.pipelineColourspace('srgb') : picture).toColourspace(
    grey ? (deep ? 'grey16' : 'b-w') : deep ? 'rgb16' : 'srgb',
  );
  if (grayscale) result = result.grayscale();
  if (flattens) result = result.flatten({ background });
  // Without an output profile sharp leaves 16-bit pictures in Display P3.
  if (found.icc !== undefined && !grey) result = result.withIccProfile('srgb', { attach: !request.strip });
  return request.strip ? result : result.keepExif().keepXmp();
}

interface From extends Size {
  readonly alpha: boolean;
}

/** Rotate, crop, resize, blur, watermark. @param from px, upright */
export async function edit(picture: Sharp, from: From, request: ImageRequest, target: Target): Promise<Sharp> {
  const { rotate } = request;
  const turns = rotate === '90' || rotate === '270';
  const turned = turns ? { width: from.height, height: from.width } : from;
  const cropped = cropOf(turned, request.crop);
  const size = sizeOf(cropped, request.resize);
  bound(`side of ${request.target}`, target.longest, Math.max(size.width, size.height));
  let result = picture;
  // Called in this order, sharp rotates, then crops, then mirrors.
  if (turns && request.crop !== undefined) result = result.rotate(Number(rotate));
  if (rotate === '180' || rotate === 'flip-v') result = result.flip();
  if (rotate === '180' || rotate === 'flip-h') result = result.flop();
  if (request.crop !== undefined) {
    const left = rotate === '180' || rotate === 'flip-h' ? turned.width - cropped.left - cropped.width : cropped.left;
    const top = rotate === '180' || rotate === 'flip-v' ? turned.height - cropped.top - cropped.height : cropped.top;
    result = result.extract({ left, top, width: cropped.width, height: cropped.height });
  }
  // Resized before it is turned, a picture need not be decoded at full size.
  const last = turns && request.crop === undefined;
  if (request.resize !== undefined) {
    const bars = from.alpha && target.alpha ? { r: 0, g: 0, b: 0, alpha: 0 } : request.background;
    const sides = last ? { width: size.height, height: size.width } : size;
    result = result.resize({ ...sides, fit: request.fit ?? 'fill', background: bars });
  }
  if (last) result = result.rotate(Number(rotate));
  if (request.blur !== undefined) result = result.blur({ sigma: request.blur, minAmplitude: 0.05 });
  if (request.watermark === undefined) return result;
  result = await drawWatermark(result, size, request.watermark);
  // Compositing adds an alpha channel.
  return from.alpha && target.alpha ? result : result.removeAlpha();
}

function cropOf(from: Size, crop: ImageRequest['crop']): Size & { left: number; top: number } {
  const { x: left = 0, y: top = 0, w: width = from.width - left, h: height = from.height - top } = crop ?? {};
  refuseOutside('x', from.width, left, crop?.w);
  refuseOutside('y', from.height, top, crop?.h);
  return { left, top, width, height };
}

/** As `edits.ts` of ImageMagick: the same mistake gets the same answer. @param length undefined: to the picture's end */
function refuseOutside(axis: 'x' | 'y', has: number, from: number, length: number | undefined): void {
  const lines = axis === 'x' ? 'columns' : 'rows';
  const line = lines.slice(0, -1);
  if (from >= has)
    throw outside({
      option: `img_crop_${axis}`,
      received: `${from}`,
      allowed: `0 to ${has - 1} px for this picture`,
      says: `The picture has ${has} ${lines}; the crop begins after ${line} ${from}.`,
    });
  if (length !== undefined && from + length > has)
    throw outside({
      option: axis === 'x' ? 'img_crop_w' : 'img_crop_h',
      received: `${length}`,
      allowed: `1 to ${has - from} px from there on in this picture`,
      says: `The picture has ${has} ${lines}; the crop ends at ${line} ${from + length}.`,
    });
}

/** One side keeps the ratio, both are exact. */
function sizeOf(from: Size, resize: ImageRequest['resize']): Size {
  const width = resize?.w ?? (resize?.h === undefined ? from.width : Math.round((from.width * resize.h) / from.height));
  const height = resize?.h ?? (resize?.w === undefined ? from.height : Math.round((from.height * resize.w) / from.width));
  for (const side of resize === undefined ? [] : [width, height]) {
    const says = `The picture has ${from.width} x ${from.height} pixels; in this size its other side would be ${side} pixels`;
    if (side < 1)
      throw new Refusal('input_limit', 'the derived side is below 1 px', {
        details: { limit: 'derived side', min: 1, received: side },
        says: `${says}, and the least is 1.`,
      });
    bound('derived side', LONGEST_DERIVED, side, `${says}, and the most is ${LONGEST_DERIVED}.`);
  }
  return { width, height };
}
