/**
 * Reads JPEG-LS (ITU-T T.87) by CharLS, which `@cornerstonejs/codec-charls` has compiled to WebAssembly: a damaged file reaches no memory but
 * that of the decoder.
 */
import { FileRefused } from '../../data/values/value.ts';
import type { Raster } from '../formats/png.ts';

/** Markers (ITU-T T.87, table C.1; ITU-T T.81, table B.1). */
const [FRAME, SCAN, END] = [0xf7, 0xda, 0xd9];
/** As CharLS numbers the orders of components: the first has one plane after the other. */
const BY_PLANE = 0;

/** What the package exports, which has no types. Errors of CharLS are thrown as numbers. */
interface CharLs {
  readonly JpegLSDecoder: new () => Decoder;
  getExceptionMessage(error: number): string;
}

interface Decoder {
  /** @returns the decoder's own memory */
  getEncodedBuffer(length: number): Uint8Array;
  decode(): void;
  getFrameInfo(): { readonly bitsPerSample: number; readonly componentCount: number };
  getInterleaveMode(): number;
  getDecodedBuffer(): Uint8ClampedArray;
}

/** @throws FileRefused for what is no JPEG-LS, or one that is not read here */
export function frameOf(bytes: Buffer): Pick<Raster, 'width' | 'height'> {
  for (let at = 2; at + 4 <= bytes.length; ) {
    const marker = bytes[at + 1] as number;
    // Any number of 0xff may stand before a marker.
    if (marker === 0xff) {
      at++;
      continue;
    }
    if (bytes[at] !== 0xff || marker === SCAN || marker === END) break;
    const length = bytes.readUInt16BE(at + 2);
    if (marker === FRAME) return readFrame(bytes.subarray(at + 4, at + 2 + length));
    at += 2 + Math.max(2, length);
  }
  throw new FileRefused('corrupt_input');
}

function readFrame(content: Buffer): Pick<Raster, 'width' | 'height'> {
  const count = content[5] ?? 0;
  if (count === 0 || content.length < 6 + 3 * count) throw new FileRefused('corrupt_input');
  const [height, width] = [content.readUInt16BE(1), content.readUInt16BE(3)];
  if (height === 0 || width === 0)
    throw new FileRefused('unsupported_variant', 'The size of this JPEG-LS picture does not stand in its header.');
  if (count > 4) throw new FileRefused('unsupported_variant', 'JPEG-LS pictures of more than four components are not converted.');
  if (Array.from({ length: count }, (_, place) => content[7 + 3 * place]).some((sampling) => sampling !== 0x11))
    throw new FileRefused('unsupported_variant', 'JPEG-LS pictures whose components differ in size are not converted.');
  return { width, height };
}

/** @throws FileRefused */
export async function decodeJpegLs(bytes: Buffer): Promise<Raster> {
  const { width, height } = frameOf(bytes);
  // @ts-expect-error it has no types. Only this format waits for it.
  const { default: load }: { default: () => Promise<CharLs> } = await import('@cornerstonejs/codec-charls/decodewasmjs');
  const charls = await load();
  const decoder = new charls.JpegLSDecoder();
  try {
    decoder.getEncodedBuffer(bytes.length).set(bytes);
    decoder.decode();
  } catch (error) {
    const isUnsupported = typeof error === 'number' && charls.getExceptionMessage(error).includes('not supported');
    throw isUnsupported
      ? new FileRefused('unsupported_variant', 'This JPEG-LS picture is of a kind that is not converted.')
      : new FileRefused('corrupt_input');
  }
  const { bitsPerSample, componentCount } = decoder.getFrameInfo();
  // The decoder gives its memory as an array that clamps what is written to it.
  const { buffer, byteOffset, length } = decoder.getDecodedBuffer();
  const samples = bitsPerSample > 8 ? new Uint16Array(buffer, byteOffset, length / 2) : new Uint8Array(buffer, byteOffset, length);
  scale(samples, bitsPerSample);
  const isPlanar = decoder.getInterleaveMode() === BY_PLANE && componentCount > 1;
  return {
    width,
    height,
    channels: componentCount as Raster['channels'],
    samples: isPlanar ? interleaved(samples, componentCount) : samples,
  };
}

/** To all bits of 8 or 16. */
function scale(samples: Uint8Array | Uint16Array, bits: number): void {
  const [most, full] = [2 ** bits - 1, 2 ** (8 * samples.BYTES_PER_ELEMENT) - 1];
  if (most === full) return;
  for (let at = 0; at < samples.length; at++) samples[at] = Math.round(((samples[at] as number) * full) / most);
}

function interleaved(planes: Uint8Array | Uint16Array, count: number): Uint8Array | Uint16Array {
  const samples = planes.BYTES_PER_ELEMENT === 1 ? new Uint8Array(planes.length) : new Uint16Array(planes.length);
  const size = planes.length / count;
  for (let pixel = 0, to = 0; pixel < size; pixel++)
    for (let plane = 0; plane < count; plane++) samples[to++] = planes[plane * size + pixel] as number;
  return samples;
}
