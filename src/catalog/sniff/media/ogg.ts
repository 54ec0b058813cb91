/** Ogg, by the codecs whose first packets open the file (RFC 3533). */
import { has, u8 } from '../../looks/bytes.ts';
import type { Detected, Sample } from '../../looks/sample.ts';
import { asFormat, UNKNOWN } from '../verdict.ts';

const BEGIN_OF_STREAM = 2;
const MOST_STREAMS = 64;

/** In order of weight: one video stream makes a video. */
const CODECS: readonly (readonly [string, string])[] = [
  ['\x80theora', 'ogv'],
  ['BBCD\0', 'ogv'],
  ['OVP80', 'ogv'],
  ['\x01video\0', 'ogv'],
  ['OpusHead', 'opus'],
  ['Speex   ', 'spx'],
  ['\x01vorbis', 'ogg'],
  ['\x7fFLAC', 'ogg'],
  ['fLaC', 'ogg'],
];

export function ogg({ head }: Sample): Detected | undefined {
  if (!has(head, 0, 'OggS\0')) return undefined;
  const packets = firstPackets(head);
  const codec = CODECS.find(([signature]) => packets.some((at) => has(head, at, signature)));
  return codec === undefined ? UNKNOWN : asFormat(codec[1]);
}

/** Offsets of each stream's first packet: all first packets precede all others. */
function firstPackets(head: Uint8Array): readonly number[] {
  const found: number[] = [];
  for (let at = 0; has(head, at, 'OggS') && (u8(head, at + 5) & BEGIN_OF_STREAM) !== 0 && found.length < MOST_STREAMS; ) {
    const segments = u8(head, at + 26);
    const body = at + 27 + segments;
    found.push(body);
    let length = 0;
    for (let i = 0; i < segments; i++) length += u8(head, at + 27 + i);
    at = body + length;
  }
  return found;
}
