/**
 * Writes the frames that libvips has decoded as an animated PNG. They are in its own format: a header, rows of samples, and what else is known of them
 * as XML (github.com/libvips/libvips, iofuncs/vips.c).
 *
 *   frames.ts FRAMES.v OUTPUT.png
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { FileRefused } from '../data/values/value.ts';
import { answering } from '../process/answer.ts';
import { type Animation, type TimedFrame, writeAnimation } from './formats/png.ts';

const HEADER = 64;
/** Bytes of the XML: a line for each field, and a number for each frame. */
const MOST_WORDS = 1 << 20;
/** Samples of 8 bits. */
const UCHAR = 0;

/** The frames, which libvips has below each other. @throws FileRefused `unsupported_variant` for other samples than red, green, blue and opacity of 8 bits */
function decodedFrames(path: string): Animation {
  const file = openSync(path, 'r');
  const read = (offset: number, length: number): Buffer => {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(file, bytes, 0, length, offset));
  };
  const header = read(0, HEADER);
  const [width, height, bands, format] = [4, 8, 12, 20].map((at) => header.readInt32LE(at)) as [number, number, number, number];
  if ((bands !== 3 && bands !== 4) || format !== UCHAR) throw new FileRefused('unsupported_variant');
  const end = HEADER + width * height * bands;
  const words = read(end, Math.min(MOST_WORDS, Math.max(0, fstatSync(file).size - end))).toString('utf8');
  const frameHeight = Number(/name="page-height">(\d+)</.exec(words)?.[1] ?? height);
  const delays = (/name="delay">([\d ]*)</.exec(words)?.[1] ?? '').split(' ').filter(Boolean).map(Number);
  const count = Math.floor(height / frameHeight);
  const size = width * frameHeight * bands;
  return {
    ...{ width, height: frameHeight, channels: bands, count },
    frames: (function* (): Generator<TimedFrame> {
      for (let place = 0; place < count; place++) {
        yield { samples: read(HEADER + place * size, size), ms: delays[place] ?? 0 };
      }
      closeSync(file);
    })(),
  };
}

const [input = '', output = ''] = process.argv.slice(2);

await answering(async () => {
  await writeAnimation(output, decodedFrames(input));
  return [];
});
