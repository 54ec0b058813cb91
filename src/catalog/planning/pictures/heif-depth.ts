/** How deep the pictures of a HEIC or AVIF are, which the program that inspects them does not tell. (ISO 14496-12, 4.2 and 8.11; ISO 23008-12, 6.5.6) */
import { latin1, u32be } from '../../looks/bytes.ts';
import type { Pieces } from '../pieces.ts';

/** Bytes of a file: its content, from its first byte to the one behind its last. */
export interface HeifBox {
  readonly type: string;
  readonly at: number;
  readonly end: number;
}

const MOST_CHANNELS = 16;

export function* boxesIn(file: Pieces, from: number, end: number): Generator<HeifBox> {
  for (let at = from; at + 8 <= end; ) {
    const head = file.read(at, 16);
    const stated = u32be(head, 0);
    const isLong = stated === 1;
    const length = isLong ? u32be(head, 8) * 2 ** 32 + u32be(head, 12) : stated === 0 ? end - at : stated;
    if (!(length >= 8)) return;
    yield { type: latin1(head, 4, 4), at: at + (isLong ? 16 : 8), end: Math.min(end, at + length) };
    at += length;
  }
}

/** @returns the most bits of a channel that any of its pictures has; undefined where it says nothing */
export function depthOfHeif(file: Pieces): number | undefined {
  const meta = boxesIn(file, 0, file.size).find(({ type }) => type === 'meta');
  // Version and flags come before its boxes.
  const described = meta && boxesIn(file, meta.at + 4, meta.end).find(({ type }) => type === 'iprp');
  const properties = described && boxesIn(file, described.at, described.end).find(({ type }) => type === 'ipco');
  if (properties === undefined) return undefined;
  let depth = 0;
  for (const { type, at, end } of boxesIn(file, properties.at, properties.end)) {
    if (type !== 'pixi') continue;
    const [count = 0, ...bits] = file.read(at + 4, Math.min(end - at - 4, MOST_CHANNELS + 1));
    depth = Math.max(depth, ...bits.slice(0, count));
  }
  return depth === 0 ? undefined : depth;
}
