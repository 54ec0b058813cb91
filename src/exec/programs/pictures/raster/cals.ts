/** CALS raster, type 1: a header of text around what a fax of group 4 sends. (MIL-PRF-28002C, 3.2.1 and appendix A) */

import { FileRefused } from '../../data/values/value.ts';
import { layout, type TagField, words } from '../formats/directory.ts';

const HEADER = 2048;
const RECORD = 128;
/** A place in every TIFF (TIFF 6.0, section 2). */
const HEAD = 8;
const SHORT = 3;
const LONG = 4;
const RATIONAL = 5;
/** Compression by ITU-T T.6 (TIFF 6.0, section 11), and zero for white. */
const [GROUP_4, WHITE_IS_ZERO, INCHES] = [4, 0, 2];
/**
 * How the picture lies, as TIFF numbers it (section 8, Orientation), by the direction of the pixels of a line, and that of the lines from there: degrees,
 * counterclockwise (ISO 8613-7, "pel path" and "line progression").
 */
const ORIENTATIONS: Readonly<Record<string, number>> = {
  '0,270': 1,
  '0,90': 4,
  '90,270': 8,
  '90,90': 7,
  '180,270': 3,
  '180,90': 2,
  '270,270': 6,
  '270,90': 5,
};

interface Header {
  readonly width: number;
  readonly height: number;
  readonly orientation: number;
  /** Pixels per inch; 0 where it is not told. */
  readonly density: number;
}

/** @throws FileRefused */
export function calsHeader(bytes: Buffer): Header {
  const fields = new Map<string, string>();
  for (let at = 0; at + RECORD <= Math.min(bytes.length, HEADER); at += RECORD) {
    const record = bytes.toString('latin1', at, at + RECORD);
    const colon = record.indexOf(':');
    if (colon > 0) fields.set(record.slice(0, colon).trim().toLowerCase(), record.slice(colon + 1).trim());
  }
  const numbers = (name: string) => (fields.get(name) ?? '').split(',').map((each) => Number.parseInt(each, 10) || 0);
  const [type] = numbers('rtype');
  if (type !== 1) throw new FileRefused('unsupported_variant', `CALS raster of type ${String(type)} is not supported, only type 1.`);
  const [width = 0, height = 0] = numbers('rpelcnt');
  if (width < 1 || height < 1 || bytes.length <= HEADER) throw new FileRefused('corrupt_input');
  const [density = 0] = numbers('rdensty');
  return { width, height, orientation: ORIENTATIONS[numbers('rorient').join()] ?? 1, density };
}

/** The same picture in a TIFF. @throws FileRefused */
export function tiffOfCals(bytes: Buffer): Buffer {
  const { width, height, orientation, density } = calsHeader(bytes);
  const fax = bytes.subarray(HEADER);
  const number = (tag: number, type: typeof SHORT | typeof LONG, value: number): TagField => ({
    ...{ tag, type, count: 1 },
    value: type === SHORT ? words('II', [value], []) : words('II', [], [value]),
  });
  const placed = layout(HEAD + fax.length + (fax.length % 2), 'II');
  const perInch = words('II', [], [density, 1]);
  const fields: readonly TagField[] = [
    number(256, LONG, width),
    number(257, LONG, height),
    number(258, SHORT, 1),
    number(259, SHORT, GROUP_4),
    number(262, SHORT, WHITE_IS_ZERO),
    number(273, LONG, HEAD),
    number(274, SHORT, orientation),
    number(277, SHORT, 1),
    number(278, LONG, height),
    number(279, LONG, fax.length),
    ...(density === 0
      ? []
      : [
          { tag: 282, type: RATIONAL, count: 1, value: perInch },
          { tag: 283, type: RATIONAL, count: 1, value: perInch },
          number(296, SHORT, INCHES),
        ]),
  ];
  const directory = placed.directory(fields.map(placed.entryOf));
  return Buffer.concat([Buffer.from('II*\0', 'latin1'), words('II', [], [directory]), fax, Buffer.alloc(fax.length % 2), placed.bytes()]);
}
