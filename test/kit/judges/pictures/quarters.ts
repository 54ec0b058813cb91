/** Whether a picture shows the four colours of the real-life photos where they belong. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { HEIGHT, QUARTERS, WIDTH } from '../../fixtures/pictures/photos.ts';
import { decode, type Picture } from './pixels.ts';

type Colour = readonly [red: number, green: number, blue: number];

/** The colour at a place, as shares of width and height. */
export function colourAt({ width, height, pixels }: Picture, x: number, y: number): Colour {
  const at = (Math.floor(y * height) * width + Math.floor(x * width)) * 4;
  return [pixels[at] ?? 0, pixels[at + 1] ?? 0, pixels[at + 2] ?? 0];
}

export const distance = (a: Colour, b: Colour): number => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);

/** Upper left, upper right, lower left, lower right. */
export const coloursOf = (picture: Picture): readonly Colour[] =>
  [
    [0.25, 0.25],
    [0.75, 0.25],
    [0.25, 0.75],
    [0.75, 0.75],
  ].map(([x = 0, y = 0]) => colourAt(picture, x, y));

/** The first frame. FFmpeg 5.1 fails on many an AVIF, ImageMagick 6 on the transparency of HEIC: libheif decodes both. */
export async function shownBy(path: string, format: string): Promise<Picture> {
  const [picture] = format === 'avif' || format === 'heic' ? await decodeHeif(path) : await decode(path, format);
  if (picture === undefined) throw new Error('nothing was decoded');
  return picture;
}

async function decodeHeif(path: string): Promise<Picture[]> {
  const folder = await mkdtemp(join(tmpdir(), 'judge-'));
  try {
    await promisify(execFile)('/usr/bin/heif-convert', [path, join(folder, 'shown.png')]);
    return await decode(join(folder, 'shown.png'), 'png');
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** @throws unless the colours are there, in the shape of the photo. @param tolerance distance in RGB */
export async function expectQuarters(path: string, format: string, tolerance = 20): Promise<Picture> {
  const picture = await shownBy(path, format);
  const ratio = picture.width / picture.height;
  if (format !== 'ico' && Math.abs(ratio - WIDTH / HEIGHT) > 0.02)
    throw new Error(`${picture.width} × ${picture.height} px is not upright`);
  for (const [place, found] of coloursOf(picture).entries()) {
    const wanted = QUARTERS[place] ?? [0, 0, 0];
    if (distance(found, wanted) > tolerance) throw new Error(`quarter ${place} is ${found}, not ${wanted}`);
  }
  return picture;
}
