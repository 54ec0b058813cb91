/**
 * Writes the frames that libvips has decoded as an animated PNG.
 *
 *   frames.ts FRAMES.v OUTPUT.png
 */
import { decodedFrames } from './frames/vips.ts';
import { writeAnimation } from './raster/png.ts';
import { answering } from './values/answer.ts';

const [input = '', output = ''] = process.argv.slice(2);

await answering(async () => {
  await writeAnimation(output, decodedFrames(input));
  return [];
});
