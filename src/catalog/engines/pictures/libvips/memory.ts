/** Whether the encoder of the result gets along with the memory of the conversion: known from its pixels, before any is decoded. Pure. */
import type { EngineWarning } from '../../../engine.ts';
import { beyondMemory, pixelsWithin } from '../../../planning/encoders.ts';
import { type ImageRequest, PictureRefusal, type PixelSize } from './request.ts';
import type { PictureTarget } from './targets.ts';

/** What the launcher leaves to the server beside the process of a picture, and what that has besides the encoder, bytes. */
const BESIDE = 96 << 20;

const HALVED: EngineWarning = {
  code: 'lossy',
  message: 'The picture is so large that its colours have half its resolution in the result; its brightness has all of it.',
};

/**
 * @param size px, of the picture as it comes out; opacity adds a third to what the encoder takes
 * @returns the request as the memory allows it
 * @throws PictureRefusal `memory`
 */
export function withinMemory(
  request: ImageRequest,
  { memoryOfPixel }: PictureTarget,
  { width, height, alpha = false }: PixelSize & { readonly alpha?: boolean },
): { readonly request: ImageRequest; readonly warnings: readonly EngineWarning[] } {
  const { memoryBytes, target } = request;
  if (memoryOfPixel === undefined || memoryBytes === undefined) return { request, warnings: [] };
  const pixels = width * height;
  const mostOf = (bytes: number): number => pixelsWithin(memoryBytes, alpha ? (bytes * 4) / 3 : bytes, BESIDE);
  if (pixels <= mostOf(memoryOfPixel.whole)) return { request, warnings: [] };
  const max = mostOf(memoryOfPixel.halved);
  if (pixels <= max) return { request: { ...request, halved: true }, warnings: [HALVED] };
  const refused = beyondMemory(target, max, pixels);
  throw new PictureRefusal('memory', refused.says, refused);
}
