/** Converts a still, the pages of a TIFF, or all frames of an animation. */
import { dirname, extname, join } from 'node:path';
import { colours, edit } from './edit.ts';
import { boundPixels, look, type Metadata, MOST_PAGES, open, type Sharp, sharp } from './libvips.ts';
import { bound, type ImageRequest, outside, Refusal } from './request.ts';
import { TARGETS, type Target } from './targets.ts';

/** Frames of an animation that are edited one by one are all in memory. */
const MOST_PIXELS_APART = 200_000_000;

interface Warning {
  readonly code: string;
  readonly message: string;
}

/** @throws Refusal, or what libvips throws */
export async function convert(request: ImageRequest): Promise<{ warnings: Warning[] }> {
  const found = await look(request);
  const target = TARGETS[request.target];
  if (target === undefined) throw new Refusal('internal', `no encoder for ${request.target}`);
  const frames = found.pages ?? 1;
  if (request.source === 'tiff') {
    return { warnings: await eachPage(request, target, frames) };
  }
  if ((frames > 1 && target.animated) || coarsens(request, target)) {
    await animation(request, target, found);
    return { warnings: [] };
  }
  await (await still(open(request), found, request, target)).toFile(request.output);
  const cut = frames > 1 && (request.source === 'gif' || request.source === 'webp');
  const message = `The animation has ${frames} frames; ${request.target.toUpperCase()} holds one, so the first is delivered.`;
  return { warnings: cut ? [{ code: 'animation_first_frame', message }] : [] };
}

const coarsens = ({ compress = false, quality }: ImageRequest, { coarsen }: Target): boolean =>
  compress && quality < 100 && coarsen !== undefined;

/** A TIFF has pages, not frames: each requested one becomes a file, in the requested order. */
async function eachPage(request: ImageRequest, target: Target, count: number): Promise<Warning[]> {
  const ranges = request.pages ?? [[1, count] as const];
  const wanted = [
    ...new Set(
      ranges.flatMap(([from, to]) => Array.from({ length: Math.max(0, Math.min(to, count) - from + 1) }, (_, offset) => from - 1 + offset)),
    ),
  ];
  if (wanted.length === 0)
    throw outside({
      option: 'pages',
      received: ranges
        .map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`))
        .join(',')
        .slice(0, 100),
      allowed: `pages from 1 to ${count}`,
      says: `The file has ${count === 1 ? 'one page' : `${count} pages`}; the first page asked for is ${Math.min(...ranges.map(([from]) => from))}.`,
    });
  for (const [place, page] of wanted.entries()) {
    const found = await open(request, { page }).metadata();
    boundPixels(found);
    const name = `page-${String(place + 1).padStart(4, '0')}${extname(request.output)}`;
    const path = wanted.length === 1 ? request.output : join(dirname(request.output), name);
    await (await still(open(request, { page }), found, request, target)).toFile(path);
  }
  const message = `The document has ${count} pages; pages after the last were left out.`;
  // `all` arrives as one range up to the bound.
  const beyond = ranges.some(([from, to]) => to > count && !(from === 1 && to === MOST_PAGES));
  return beyond ? [{ code: 'pages_beyond_end', message }] : [];
}

/** Converts all frames, with their delays and the loop count. */
async function animation(request: ImageRequest, target: Target, found: Metadata): Promise<void> {
  const { delay, loop, pages = 1, width, pageHeight: height = found.height } = found;
  const timing = { ...(delay && { delay }), ...(loop !== undefined && { loop }) };
  const all = open(request, { animated: true });
  // libvips stores the frames as one tall picture: it mirrors, crops and resizes frame by frame, but rotates and blurs the whole.
  const apart =
    (request.rotate !== undefined && request.rotate !== 'flip-h') ||
    request.blur !== undefined ||
    request.watermark !== undefined ||
    request.fit !== undefined ||
    coarsens(request, target);
  if (!apart) {
    const edited = await edit(colours(all, found, request, target), { width, height, alpha: found.hasAlpha }, request, target);
    await target.encode(edited, request, timing).toFile(request.output);
    return;
  }
  bound('pixels of all frames', MOST_PIXELS_APART, width * height * pages);
  const flat = await all.toColourspace('srgb').ensureAlpha().raw().toBuffer();
  const edited: Buffer[] = [];
  let size = { width, height };
  for (let page = 0; page < pages; page++) {
    const frame = sharp(flat.subarray(page * width * height * 4, (page + 1) * width * height * 4), { raw: { width, height, channels: 4 } });
    const from = { width, height, alpha: true };
    const done = (await edit(frame, from, request, target)).toColourspace('srgb').ensureAlpha();
    const { data, info } = await done.raw().toBuffer({ resolveWithObject: true });
    if (coarsens(request, target)) target.coarsen?.(data, request.quality);
    edited.push(data);
    size = info;
    bound('pixels of all frames', MOST_PIXELS_APART, size.width * size.height * pages);
  }
  const raw = { width: size.width, height: size.height * pages, channels: 4 as const, pageHeight: size.height };
  const joined = sharp(Buffer.concat(edited), { raw, limitInputPixels: false });
  await target.encode(request.grayscale ? joined.grayscale() : joined, request, timing).toFile(request.output);
}

async function still(picture: Sharp, found: Metadata, request: ImageRequest, target: Target): Promise<Sharp> {
  const lies = found.orientation !== undefined && found.orientation >= 5;
  const height = found.pageHeight ?? found.height;
  const upright = lies ? { width: height, height: found.width } : { width: found.width, height };
  const coloured = colours(picture.autoOrient(), found, request, target);
  return target.encode(await edit(coloured, { ...upright, alpha: found.hasAlpha }, request, target), request, {});
}
