/**
 * Classical image processing on one picture: enlarges, enhances, restores, or fills a hole.
 *
 *   retouch.ts upscale INPUT.pam OUTPUT.pam SCALE
 *   retouch.ts enhance INPUT.pam OUTPUT.pam
 *   retouch.ts restore INPUT.pam OUTPUT.pam
 *   retouch.ts fill INPUT.pam OUTPUT.pam MASK.pam
 *   retouch.ts fill INPUT.pam OUTPUT.pam X Y WIDTH HEIGHT
 *
 * A mask is white where the hole is. Prints `progress 0.5` and the like; an unsuitable mask is one line of JSON, as residents answer, and status 2.
 */
import { denoised, sharpened } from './retouch/detail.ts';
import { fillSmoothly, fillWithPatches } from './retouch/fill.ts';
import { balanced, levelled, withLocalContrast } from './retouch/light.ts';
import { lumaOf, type Picture, readPam, writePam } from './retouch/picture.ts';
import { scratchesOf } from './retouch/scratches.ts';
import { upscale } from './retouch/upscale.ts';

/** Of what is printed with `--version`: the results differ between versions. */
const VERSION = '1.0';
/** Pixels of a hole: patches for more take minutes. */
const MAX_HOLE = 2_000_000;

const progress = (fraction: number): void => void process.stdout.write(`progress ${fraction.toFixed(3)}\n`);

/** How far non-local means look, px: half a second a megapixel, and two. */
const [NEAR, FAR] = [2, 5];

function enhance(picture: Picture): Picture {
  const { picture: clean, noise } = denoised(picture, NEAR, progress);
  return sharpened(withLocalContrast(levelled(balanced(clean)), 2, 0.35), 0.6, noise);
}

function restore(picture: Picture): Picture {
  const { mask, count } = scratchesOf(picture);
  const whole = count === 0 || count > mask.length / 4 ? picture : fillSmoothly(picture, mask);
  const { picture: clean, noise } = denoised(whole, FAR, progress);
  return sharpened(levelled(balanced(clean)), 0.4, noise);
}

function fill(picture: Picture, hole: readonly string[]): Picture | undefined {
  const { width, height } = picture;
  const mask = hole.length === 1 ? maskIn(hole[0] ?? '', width, height) : boxIn(hole.map(Number), width, height);
  if (mask === undefined) return undefined;
  const count = mask.reduce((sum, each) => sum + each, 0);
  if (count === 0 || count > (width * height) / 2) return refuse('the mask', count, 'some of the picture, and at most half of it');
  if (count > MAX_HOLE) {
    const words = { ok: false, reason: 'input_limit', details: { limit: 'pixels to remove', max: MAX_HOLE, received: count } };
    process.stdout.write(`${JSON.stringify(words)}\n`);
    return undefined;
  }
  return fillWithPatches(picture, mask, progress);
}

function maskIn(path: string, width: number, height: number): Uint8Array | undefined {
  const mask = readPam(path);
  if (mask.width !== width || mask.height !== height)
    return refuse('mask', `${mask.width} × ${mask.height} px`, `a picture of the same size as the photo, ${width} × ${height} px`);
  return Uint8Array.from(lumaOf(mask).data, (value, i) => (value * (mask.alpha?.data[i] ?? 1) > 0.5 ? 1 : 0));
}

function boxIn([x = 0, y = 0, w = 0, h = 0]: readonly number[], width: number, height: number): Uint8Array | undefined {
  if (x + w > width || y + h > height) return refuse('x, y, w, h', `${x}, ${y}, ${w}, ${h}`, `a rectangle within ${width} × ${height} px`);
  const mask = new Uint8Array(width * height);
  for (let row = y; row < y + h; row++) mask.fill(1, row * width + x, row * width + x + w);
  return mask;
}

function refuse(option: string, received: string | number, allowed: string): undefined {
  const misfit = { option, received: `${received}`, allowed, says: `The field ${option} is ${received}; expected ${allowed}.` };
  process.stdout.write(`${JSON.stringify({ ok: false, reason: 'invalid_option', misfit })}\n`);
}

const [operation, input = '', output = '', ...rest] = process.argv.slice(2);
if (operation === '--version') process.stdout.write(`retouch ${VERSION}\n`);
else {
  const picture = readPam(input);
  const result =
    operation === 'upscale'
      ? upscale(picture, Number(rest[0]), progress)
      : operation === 'enhance'
        ? enhance(picture)
        : operation === 'restore'
          ? restore(picture)
          : fill(picture, rest);
  if (result === undefined) process.exitCode = 2;
  else writePam(output, result);
}
