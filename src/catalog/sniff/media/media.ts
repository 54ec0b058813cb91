/** Audio and video, by container; codecs matter only where the format depends on them. */
import { find, has, u8 } from '../../looks/bytes.ts';
import { isText } from '../../looks/charset.ts';
import type { Detected, Sample, Sniffer } from '../../looks/sample.ts';
import { asFormat, UNKNOWN } from '../verdict.ts';
import { frames } from './frames.ts';
import { isobmff } from './isobmff.ts';
import { matroska } from './matroska.ts';
import { ogg } from './ogg.ts';

/** Containers; streams of frames, which have the shortest signatures, last. */
const SNIFFERS: readonly Sniffer[] = [riff, isobmff, matroska, ogg, asf, mpegProgram, mpegTransport, frames];

export function media(sample: Sample): Detected | undefined {
  for (const sniffer of SNIFFERS) {
    const found = sniffer(sample);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** WebP, WAV and AVI have rows with their signatures; any other RIFF is unknown. */
function riff({ head }: Sample): Detected | undefined {
  return ['RIFF', 'RIFX', 'RF64', 'BW64'].some((signature) => has(head, 0, signature)) ? UNKNOWN : undefined;
}

/** GUIDs as they lie in the file (ASF specification 1.20, 10.1 and 10.4). */
const ASF_HEADER = '\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\0\xaa\0\x62\xce\x6c';
const ASF_VIDEO = '\xc0\xef\x19\xbc\x4d\x5b\xcf\x11\xa8\xfd\0\x80\x5f\x5c\x44\x2b';
const ASF_AUDIO = '\x40\x9e\x69\xf8\x4d\x5b\xcf\x11\xa8\xfd\0\x80\x5f\x5c\x44\x2b';

function asf({ head }: Sample): Detected | undefined {
  if (!has(head, 0, ASF_HEADER)) return undefined;
  return asFormat(find(head, ASF_AUDIO) >= 0 && find(head, ASF_VIDEO) < 0 ? 'wma' : 'wmv');
}

/** A program stream's pack header (ISO 13818-1). */
function mpegProgram({ head }: Sample): Detected | undefined {
  return has(head, 0, '\0\0\x01\xba') && ((u8(head, 4) & 0xc4) === 0x44 || (u8(head, 4) & 0xf1) === 0x21) ? asFormat('mpg') : undefined;
}

/** A sync byte every 188 bytes; Blu-ray and AVCHD put four bytes before each packet. */
function mpegTransport(sample: Sample): Detected | undefined {
  const { head, size } = sample;
  if (!has(head, 0, 'G') && !has(head, 4, 'G')) return undefined;
  const shapes: readonly (readonly [number, number, string])[] = [
    [0, 188, 'ts'],
    [4, 192, 'm2ts'],
  ];
  // A few packets could match by chance, but no text has packet headers.
  if (isText(sample)) return undefined;
  const fits = shapes.find(([first, step]) => {
    const packets = Math.min(5, Math.floor(size / step));
    return packets >= 2 && Array.from({ length: packets }, (_, i) => u8(head, first + i * step)).every((byte) => byte === 0x47);
  });
  return fits && asFormat(fits[2]);
}
