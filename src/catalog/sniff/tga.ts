/** Truevision TGA, which has no signature: newer files have a footer, older ones only a header that must match the file's size. */
import { has, u8, u16le } from '../looks/bytes.ts';
import type { Detected, Sample } from '../looks/sample.ts';
import { asFormat, tie } from './verdict.ts';

const HEADER_BYTES = 18;
const FOOTER_BYTES = 26;
/** Most bytes after the pixels: footer, developer and extension areas (TGA 2.0 specification). */
const SLACK_BYTES = 4096;

export function tga({ head, tail, size }: Sample): Detected | undefined {
  const header = headerOf(head);
  if (header === undefined) return undefined;
  if (has(tail, tail.length - FOOTER_BYTES + 8, 'TRUEVISION-XFILE.\0')) return asFormat('tga');
  return (header.packed ? packetsFit(head, header, size) : sizeFits(header, size)) ? tie('tga', 'tga') : undefined;
}

interface Header {
  /** Bytes before the first pixel. */
  readonly pixelsAt: number;
  readonly pixels: number;
  readonly bytesPerPixel: number;
  readonly packed: boolean;
}

function headerOf(head: Uint8Array): Header | undefined {
  if (head.length < HEADER_BYTES) return undefined;
  const [idLength, mapped, type] = [u8(head, 0), u8(head, 1), u8(head, 2)];
  const [mapDepth, depth, descriptor] = [u8(head, 7), u8(head, 16), u8(head, 17)];
  const mapLength = u16le(head, 5);
  const pixels = u16le(head, 12) * u16le(head, 14);
  const isMapped = type === 1 || type === 9;
  const depths = isMapped || type === 3 || type === 11 ? [8, 16] : [15, 16, 24, 32];
  if (![1, 2, 3, 9, 10, 11].includes(type) || mapped > 1 || (isMapped && mapped === 0) || pixels === 0) return undefined;
  if (!depths.includes(depth) || descriptor > 0x3f || (mapped === 1 ? ![15, 16, 24, 32].includes(mapDepth) : mapLength !== 0))
    return undefined;
  const mapBytes = mapped * mapLength * Math.ceil(mapDepth / 8);
  return { pixelsAt: HEADER_BYTES + idLength + mapBytes, pixels, bytesPerPixel: Math.ceil(depth / 8), packed: type >= 9 };
}

function sizeFits({ pixelsAt, pixels, bytesPerPixel }: Header, size: number): boolean {
  const spare = size - pixelsAt - pixels * bytesPerPixel;
  return spare >= 0 && spare <= SLACK_BYTES;
}

/** Walks the run-length packets: their pixels must add up, unless the head ends first. */
function packetsFit(head: Uint8Array, { pixelsAt, pixels, bytesPerPixel }: Header, size: number): boolean {
  let at = pixelsAt;
  let seen = 0;
  while (seen < pixels) {
    if (at >= head.length) return head.length < size;
    const packet = u8(head, at);
    const count = (packet & 0x7f) + 1;
    seen += count;
    at += 1 + bytesPerPixel * (packet >= 0x80 ? 1 : count);
  }
  return seen === pixels && at <= size && size - at <= SLACK_BYTES;
}
