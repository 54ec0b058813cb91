/** Pictures in memory, and the PAM files that ImageMagick exchanges with us (netpbm, "pam"): planes of numbers from 0 to 1. */
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

export interface Plane {
  readonly width: number;
  readonly height: number;
  readonly data: Float32Array;
}

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** One of grey, or red, green and blue; sRGB values. */
  readonly colours: readonly Plane[];
  readonly alpha: Plane | undefined;
  /** 255 or 65535. */
  readonly maxval: number;
}

/** Four planes of 100 megapixels: the catalog refuses more. */
const MAX_SAMPLES = 400_000_000;
/** ImageMagick's is some hundred bytes. */
const LONGEST_HEADER = 1000;

export const plane = (width: number, height: number, data = new Float32Array(width * height)): Plane => ({ width, height, data });

/** @throws Error for what ImageMagick does not write */
export function readPam(path: string): Picture {
  const bytes = readFileSync(path);
  const end = bytes.subarray(0, LONGEST_HEADER).indexOf('ENDHDR\n');
  const header = new Map(
    bytes
      .toString('latin1', 0, Math.max(0, end))
      .split('\n')
      .map((line) => line.split(' ', 2) as [string, string]),
  );
  const [width, height, depth, maxval] = ['WIDTH', 'HEIGHT', 'DEPTH', 'MAXVAL'].map((name) => Number(header.get(name)));
  if (!width || !height || !depth || !maxval || depth > 4) throw new Error('expected a PAM file of 1 to 4 channels');
  const wide = maxval > 255 ? 2 : 1;
  const body = bytes.subarray(end + 7);
  const pixels = width * height;
  if (pixels * depth > MAX_SAMPLES || body.length < pixels * depth * wide) throw new Error('expected as many samples as the header says');
  const planes = Array.from({ length: depth }, (_, channel) => {
    const data = new Float32Array(pixels);
    for (let i = 0, at = channel * wide; i < pixels; i++, at += depth * wide)
      data[i] = (wide === 2 ? ((body[at] as number) << 8) | (body[at + 1] as number) : (body[at] as number)) / maxval;
    return plane(width, height, data);
  });
  const colours = planes.slice(0, depth < 3 ? 1 : 3);
  return { width, height, colours, alpha: planes[colours.length], maxval };
}

/** Rows in one write. */
const ROWS = 64;

/** @param path of a new file, whose folder is made where it is not there */
export function writePam(path: string, { width, height, colours, alpha, maxval }: Picture): void {
  const planes = alpha === undefined ? colours : [...colours, alpha];
  const type = `${colours.length === 1 ? 'GRAYSCALE' : 'RGB'}${alpha === undefined ? '' : '_ALPHA'}`;
  const wide = maxval > 255 ? 2 : 1;
  mkdirSync(dirname(path), { recursive: true });
  const file = openSync(path, 'wx');
  // One call may write less than it is given: these go on.
  writeFileSync(file, `P7\nWIDTH ${width}\nHEIGHT ${height}\nDEPTH ${planes.length}\nMAXVAL ${maxval}\nTUPLTYPE ${type}\nENDHDR\n`);
  for (let top = 0; top < height; top += ROWS) {
    const [from, to] = [top * width, Math.min(height, top + ROWS) * width];
    const bytes = Buffer.allocUnsafe((to - from) * planes.length * wide);
    for (const [channel, { data }] of planes.entries())
      for (let i = from, at = channel * wide; i < to; i++, at += planes.length * wide) {
        const value = Math.round(clamp(data[i] as number) * maxval);
        if (wide === 2) bytes.writeUInt16BE(value, at);
        else bytes[at] = value;
      }
    writeFileSync(file, bytes);
  }
  closeSync(file);
}

export const clamp = (value: number): number => Math.max(0, Math.min(1, value));

/** How far channels of grey may be apart, of 1: JPEG rounds, and scanners tint a little. */
const TINT = 8 / 255;
/** Share of pixels that may have a colour all the same, such as those of a speck. */
const SPECKS = 0.001;

/** Whether a picture is black and white, however it is stored. What is transparent does not count. */
export function isGrey({ colours: [red, green, blue], alpha }: Picture): boolean {
  if (red === undefined || green === undefined || blue === undefined) return true;
  let coloured = 0;
  for (let i = 0; i < red.data.length; i++) {
    const [r, g, b] = [red.data[i] as number, green.data[i] as number, blue.data[i] as number];
    if (Math.max(r, g, b) - Math.min(r, g, b) > TINT && alpha?.data[i] !== 0) coloured++;
  }
  return coloured <= SPECKS * red.data.length;
}

/** Luma of sRGB values (ITU-R BT.601). */
export function lumaOf({ width, height, colours }: Picture): Plane {
  const [red, green, blue] = colours;
  if (red === undefined || green === undefined || blue === undefined) return plane(width, height, red?.data.slice());
  const data = new Float32Array(width * height);
  for (let i = 0; i < data.length; i++)
    data[i] = 0.299 * (red.data[i] as number) + 0.587 * (green.data[i] as number) + 0.114 * (blue.data[i] as number);
  return plane(width, height, data);
}
