/**
 * A cover picture as a comment of Ogg, in a file that FFmpeg reads tags from.
 *
 *   cover.ts PICTURE.jpg|PICTURE.png OUTPUT.txt
 *
 * The comment is a picture block of FLAC in base64 (RFC 9639, 8.8; wiki.xiph.org/VorbisComment).
 */
import { readFileSync, writeFileSync } from 'node:fs';

/** "Cover (front)" (RFC 9639, table 13). */
const FRONT = 3;

const [input = '', output = ''] = process.argv.slice(2);
const picture = readFileSync(input);
const mime = Buffer.from(input.endsWith('.png') ? 'image/png' : 'image/jpeg');
const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
// No description; sides and colours may be 0, as the picture says them itself.
const sizes = [0, 0, 0, 0, 0].map(number);
const block = Buffer.concat([number(FRONT), number(mime.length), mime, ...sizes, number(picture.length), picture]);
// In such a file `=` begins a value, and is escaped in one.
writeFileSync(output, `;FFMETADATA1\nMETADATA_BLOCK_PICTURE=${block.toString('base64').replaceAll('=', '\\=')}\n`);
