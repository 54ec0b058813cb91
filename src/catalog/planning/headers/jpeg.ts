/** The segments of a JPEG before its pixels (ITU-T T.81, B.1; JFIF 1.02; CIPA DC-008). */
import { find, has, latin1, u8, u16be } from '../../looks/bytes.ts';
import { exifSays } from '../pictures/exif-says.ts';
import type { Pieces } from '../pieces.ts';
import { asShown, BARE, type PictureHeader } from './picture.ts';

/** Segments before the pixels; EXIF with a large preview and a profile have some dozens. */
const MOST_SEGMENTS = 500;
/** Bytes that are read of EXIF and XMP: all that is looked for is at their beginning. */
const MOST_READ = 16 * 1024;

/** A gain map is announced by Adobe's or Google's XMP, or by ISO 21496-1. */
const GAIN_MAPS = ['http://ns.adobe.com/hdr-gain-map/1.0/', 'http://ns.google.com/photos/1.0/container/'];

export function jpegHeader(file: Pieces): PictureHeader | undefined {
  let [width, height, depth, channels, orientation] = [0, 0, 8, 3, 1];
  let density: number | undefined;
  const found = { profile: false, exif: false, xmp: false, iptc: false, gainMap: false };
  for (let at = 2, segment = 0; segment < MOST_SEGMENTS; segment++) {
    const head = file.read(at, 4);
    const marker = u8(head, 1);
    if (u8(head, 0) !== 0xff) break;
    // Fill bytes may come before a marker.
    if (marker === 0xff) {
      at++;
      continue;
    }
    if (marker === 0xda || marker === 0xd9) break;
    const length = u16be(head, 2);
    const data = Buffer.from(file.read(at + 4, Math.min(length - 2, MOST_READ)));
    if (isFrame(marker)) {
      [depth, height, width, channels] = [u8(data, 0), u16be(data, 1), u16be(data, 3), u8(data, 5)];
    } else if (marker === 0xe0 && has(data, 0, 'JFIF\0')) density = densityOf(data) ?? density;
    else if (marker === 0xe1 && has(data, 0, 'Exif\0\0')) {
      found.exif = true;
      const said = exifSays(data.subarray(6));
      orientation = said.orientation ?? 1;
      density ??= said.density;
    } else if (marker === 0xe1 && has(data, 0, 'http://ns.adobe.com/xap/1.0/\0')) {
      found.xmp = true;
      found.gainMap ||= GAIN_MAPS.some((name) => find(data, name) >= 0 && latin1(data, 0, data.length).includes('GainMap'));
    } else if (marker === 0xe2 && has(data, 0, 'ICC_PROFILE\0')) found.profile = true;
    else if (marker === 0xe2 && has(data, 0, 'urn:iso:std:iso:ts:21496:-1\0')) found.gainMap = true;
    else if (marker === 0xed && has(data, 0, 'Photoshop 3.0\0')) found.iptc ||= find(data, '8BIM\x04\x04') >= 0;
    at += 2 + length;
  }
  if (width === 0 || height === 0) return undefined;
  const colours = channels === 1 ? 'grey' : channels === 4 ? 'cmyk' : 'rgb';
  return { ...BARE, ...asShown(width, height, orientation), depth, colours, ...found, ...(density !== undefined && { density }) };
}

/** Baseline, extended, progressive and lossless frames; not the tables between them. */
const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

/** JFIF 1.02: unit 1 is dots an inch, 2 dots a centimetre; 0 is a ratio. */
function densityOf(data: Uint8Array): number | undefined {
  const [unit, across] = [u8(data, 7), u16be(data, 8)];
  if (across === 0 || (unit !== 1 && unit !== 2)) return undefined;
  return unit === 1 ? across : Math.round(across * 2.54);
}
