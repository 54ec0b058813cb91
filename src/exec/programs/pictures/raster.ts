/**
 * Reads pictures that no program of the image has a reader for.
 *
 *   raster.ts inspect INPUT.(dds|jls|xcf|fits|psd|psb|cal)
 *   raster.ts decode INPUT.(dds|jls|xcf|fits|psd|psb) OUTPUT.png
 *   raster.ts unwrap INPUT.cal OUTPUT.tiff
 *
 * `inspect` prints a line of JSON: `{"width", "height"}`, px; of a Photoshop file also what `photoshopFacts` says. Where a picture is refused, the answer says why.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { MAX_PIXELS } from '../../../catalog/bounds.ts';
import { beyond } from '../data/values/value.ts';
import { answering } from '../process/answer.ts';
import { type Raster, withoutIdleAlpha, writePng } from './formats/png.ts';
import { calsHeader, tiffOfCals } from './raster/cals.ts';
import { decodeDds, surfaceOf } from './raster/dds.ts';
import { decodeFits, pictureIn } from './raster/fits.ts';
import { decodeJpegLs, frameOf } from './raster/jpeg-ls.ts';
import { decodePhotoshop, photoshopFacts, photoshopHead } from './raster/psd.ts';
import { canvasOf, decodeXcf } from './raster/xcf.ts';

interface Reader {
  readonly size: (bytes: Buffer) => { readonly width: number; readonly height: number };
  readonly decode?: (bytes: Buffer) => Raster | Promise<Raster>;
  /** To a TIFF. */
  readonly unwrap?: (bytes: Buffer) => Buffer;
  /** For the inspection; unset: its size. */
  readonly facts?: (bytes: Buffer) => object;
}

const PHOTOSHOP: Reader = { size: photoshopHead, decode: decodePhotoshop, facts: photoshopFacts };

const READERS: Readonly<Record<string, Reader>> = {
  dds: { size: surfaceOf, decode: decodeDds },
  jls: { size: frameOf, decode: decodeJpegLs },
  xcf: { size: canvasOf, decode: decodeXcf },
  fits: { size: pictureIn, decode: decodeFits },
  psd: PHOTOSHOP,
  psb: PHOTOSHOP,
  cal: { size: calsHeader, unwrap: tiffOfCals },
};

const [verb = '', input = '', output = ''] = process.argv.slice(2);

await answering(async () => {
  const bytes = readFileSync(input);
  const reader = READERS[input.slice(input.lastIndexOf('.') + 1)];
  if (reader === undefined) throw new Error(`no reader for ${input}`);
  const { width, height } = reader.size(bytes);
  if (width * height > MAX_PIXELS) throw beyond('pixels', MAX_PIXELS, width * height);
  if (verb === 'inspect') {
    process.stdout.write(`${JSON.stringify(reader.facts?.(bytes) ?? { width, height })}\n`);
    return [];
  }
  if (reader.unwrap !== undefined) {
    writeFileSync(output, reader.unwrap(bytes));
    return [];
  }
  const raster = await reader.decode?.(bytes);
  if (raster === undefined) throw new Error(`nothing decodes ${input}`);
  await writePng(output, withoutIdleAlpha(raster));
  return raster.warnings ?? [];
});
