/**
 * Classical image processing on one picture: enlarges, enhances, restores, takes a plain backdrop away, or fills a hole.
 *
 *   retouch.ts upscale INPUT.pam OUTPUT.pam SCALE
 *   retouch.ts enhance INPUT.pam OUTPUT.pam
 *   retouch.ts restore INPUT.pam OUTPUT.pam
 *   retouch.ts cut INPUT.pam OUTPUT.pam
 *   retouch.ts over INPUT.pam OUTPUT.pam COLOUR|BACKGROUND.pam
 *   retouch.ts fill INPUT.pam OUTPUT.pam MASK.pam
 *   retouch.ts fill INPUT.pam OUTPUT.pam X Y WIDTH HEIGHT
 *
 * A mask is white where the hole is, and a colour is `#rrggbb`. Prints `progress 0.5` and the like, and what clients have to know as one line of
 * JSON, as residents answer: warnings, or, with status 2, that a mask covers nothing or too much, or that there is no plain backdrop.
 */
import { backgroundOf, before, cutOut } from './matte/compose.ts';
import { doubtOf } from './matte/doubt.ts';
import { isGrey, type Picture, readPam, writePam } from './planes/picture.ts';
import { beforeBackdrop } from './retouch/backdrop.ts';
import { denoised, sharpened } from './retouch/detail.ts';
import { fillSmoothly, fillWithPatches, reachedBy } from './retouch/fill.ts';
import { holeIn } from './retouch/hole.ts';
import { balanced, levelled, withLocalContrast } from './retouch/light.ts';
import { scratchesOf } from './retouch/scratches.ts';
import { upscale } from './retouch/upscale.ts';

/** Printed with `--version`: the results differ between versions. */
const VERSION = '1.0';
/** Pixels of a hole, and those that a patch over it reaches: a thousand take a fifth of a second. */
const MAX_HOLE = 500_000;

const progress = (fraction: number): void => void process.stdout.write(`progress ${fraction.toFixed(3)}\n`);

const warn = (code: string, message: string): void =>
  void process.stdout.write(`${JSON.stringify({ ok: true, warnings: [{ code, message }] })}\n`);
const UNCOLOURED = 'The photo is black and white: it was enhanced, not coloured; colorize-photo colours it.';

/** How far non-local means look, px: half a second a megapixel, and two. */
const [NEAR, FAR] = [2, 5];

/** The progress of a part of the work. */
const within =
  (from: number, to: number) =>
  (fraction: number): void =>
    progress(from + fraction * (to - from));

/** Tells how much of the work is done with a step of it. */
function done<T>(fraction: number, result: T): T {
  progress(fraction);
  return result;
}

function enhance(picture: Picture): Picture {
  const { picture: clean, noise } = done(0.5, denoised(picture, NEAR, within(0, 0.5)));
  const even = done(0.6, balanced(clean));
  const ranged = done(0.7, levelled(even));
  const contrasted = done(0.85, withLocalContrast(ranged, 2, 0.35));
  return done(1, sharpened(contrasted, 0.6, noise));
}

function restore(picture: Picture): Picture {
  const { mask, count } = done(0.2, scratchesOf(picture));
  const whole = done(0.3, count === 0 || count > mask.length / 4 ? picture : fillSmoothly(picture, mask));
  const { picture: clean, noise } = done(0.8, denoised(whole, FAR, within(0.3, 0.8)));
  const even = done(0.85, balanced(clean));
  const ranged = done(0.9, levelled(even));
  return done(1, sharpened(ranged, 0.4, noise));
}

function fill(picture: Picture, hole: readonly string[]): Picture | undefined {
  const { width, height } = picture;
  const mask = holeIn(hole, width, height);
  // A mask of single pixels is as much work as one without gaps between them.
  const count = reachedBy(mask, width, height);
  const max = Math.min(MAX_HOLE, Math.floor((width * height) / 2));
  if (count > 0 && count <= max) return fillWithPatches(picture, mask, progress);
  const details = { limit: 'pixels to remove', ...(count === 0 ? { min: 1 } : { max }), received: count };
  process.stdout.write(`${JSON.stringify({ ok: false, reason: 'input_limit', details })}\n`);
  return undefined;
}

/** @returns the picture without its backdrop, or undefined where that is not plain */
function cut(picture: Picture): Picture | undefined {
  const found = done(0.6, beforeBackdrop(picture));
  if (found === undefined) {
    const says = 'The background is not plain, so that its colour does not tell it from the subject: a model does, such as u2netp.';
    process.stdout.write(`${JSON.stringify({ ok: false, reason: 'model_not_installed', says })}\n`);
    return undefined;
  }
  const told = doubtOf(found);
  if (told !== undefined) warn(told.code, told.message);
  return cutOut(picture, found.mask);
}

/** @param behind a colour, or the path of a picture */
function over(picture: Picture, behind: string): Picture | undefined {
  const subject = cut(picture);
  return subject && before(subject, backgroundOf(behind, picture));
}

const OPERATIONS: Readonly<Record<string, (picture: Picture, more: readonly string[]) => Picture | undefined>> = {
  upscale: (picture, [scale]) => upscale(picture, Number(scale), progress),
  enhance,
  restore,
  cut,
  over: (picture, [behind = '']) => over(picture, behind),
  fill,
};

const [operation = '', input = '', output = '', ...rest] = process.argv.slice(2);
if (operation === '--version') process.stdout.write(`retouch ${VERSION}\n`);
else {
  const picture = readPam(input);
  const result = OPERATIONS[operation]?.(picture, rest);
  if (result === undefined) process.exitCode = 2;
  else {
    writePam(output, result);
    if (operation === 'enhance' && isGrey(picture)) warn('not_colourised', UNCOLOURED);
  }
}
