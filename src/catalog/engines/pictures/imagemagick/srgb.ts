/** The sRGB colour profile as an argument for ImageMagick, which has none built in, to convert pictures with other profiles. */

/** Numbers of ICC profiles: 16 bits before and 16 after the point (ICC.1:2022, 4.6). */
const fixed = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [place, value] of values.entries()) bytes.writeInt32BE(Math.round(value * 65_536), place * 4);
  return bytes;
};
const words = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [place, value] of values.entries()) bytes.writeUInt32BE(value, place * 4);
  return bytes;
};
const tag = (type: string, ...content: readonly Buffer[]): Buffer => Buffer.concat([Buffer.from(`${type}\0\0\0\0`), ...content]);

/** The illuminant of every profile's connection space (ICC.1:2022, 7.2.16). */
const D50 = [0.9642, 1, 0.8249] as const;
const name = Buffer.from('sRGB', 'utf16le').swap16();
/** One record in American English (ICC.1:2022, 10.15). */
const text = tag('mluc', words(1, 12), Buffer.from('enUS'), words(name.length, 28), name);
/** The curve of IEC 61966-2-1 (ICC.1:2022, 10.18, function type 3). */
const curve = tag('para', words(3 << 16), fixed(2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045));

/** The primaries of IEC 61966-2-1, adapted to D50 by Bradford's matrix. */
const TAGS: readonly (readonly [signature: string, content: Buffer])[] = [
  ['desc', text],
  ['cprt', text],
  ['wtpt', tag('XYZ ', fixed(...D50))],
  ['rXYZ', tag('XYZ ', fixed(0.43607, 0.22249, 0.01392))],
  ['gXYZ', tag('XYZ ', fixed(0.38515, 0.71687, 0.09708))],
  ['bXYZ', tag('XYZ ', fixed(0.14307, 0.06061, 0.7141))],
  ['rTRC', curve],
  ['gTRC', curve],
  ['bTRC', curve],
];

/** A matrix/TRC display profile (ICC.1:2022, 8.4.3); the header fields follow 7.2. */
function profile(): Buffer {
  const header = Buffer.alloc(128);
  header.writeUInt32BE(0x0420_0000, 8);
  header.write('mntrRGB XYZ ', 12, 'latin1');
  header.write('acsp', 36, 'latin1');
  fixed(...D50).copy(header, 68);
  const padded = TAGS.map(
    ([signature, content]) => [signature, content.length, Buffer.concat([content], (content.length + 3) & ~3)] as const,
  );
  let offset = header.length + 4 + TAGS.length * 12;
  const rows: Buffer[] = [];
  for (const [signature, length, { length: taken }] of padded) {
    rows.push(Buffer.from(signature), words(offset, length));
    offset += taken;
  }
  header.writeUInt32BE(offset, 0);
  return Buffer.concat([header, words(TAGS.length), ...rows, ...padded.map(([, , content]) => content)]);
}

export const SRGB_BASE64 = profile().toString('base64');

/** Converts from the embedded profile to sRGB, and removes the profile: readers take untagged pixels for sRGB, also in formats without profiles. */
export const TO_SRGB: readonly string[] = ['-profile', `inline:data:image/icc;base64,${SRGB_BASE64}`, '+profile', 'icc'];
