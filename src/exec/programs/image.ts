/**
 * libvips in a process of its own: one line of JSON on stdin asks for one conversion, one line of JSON on stdout answers.
 *
 *   image.ts             serves requests until stdin ends; says {"ready":true} first
 *   image.ts --once      answers one request and exits: 0 done, 1 failed
 *   image.ts --version   prints "sharp 0.35.5 libvips 8.18.7"
 */
import { dirname, extname, join } from 'node:path';
import { createInterface } from 'node:readline';
import sharp, { type Metadata, type Sharp, type SharpOptions } from 'sharp';

/** Paths are absolute. Sides and offsets in px, after orientation by EXIF and rotation. */
export interface ImageRequest {
  readonly input: string;
  /** What the input is, found by our own sniffing: no other decoder is tried. */
  readonly source: string;
  /** Path of the result. A source of several pages gives `page-001`, `page-002` … beside it instead. */
  readonly output: string;
  readonly target: string;
  readonly rotate?: '90' | '180' | '270' | 'flip-h' | 'flip-v' | undefined;
  readonly crop?: { readonly x: number; readonly y: number; readonly w?: number | undefined; readonly h?: number | undefined } | undefined;
  readonly resize?: { readonly w?: number | undefined; readonly h?: number | undefined } | undefined;
  /** 1 to 100. */
  readonly quality: number;
  /** `#rrggbb`, under flattened alpha. */
  readonly background: string;
  readonly strip: boolean;
  /** Pages of a TIFF, from 1 on; all unless said otherwise. */
  readonly pages?: readonly (readonly [number, number])[] | undefined;
}

/** Reasons as clients know them. */
export interface ImageRefusal {
  readonly ok: false;
  readonly reason: 'corrupt_input' | 'input_limit' | 'output_limit' | 'memory' | 'internal';
  readonly words: string;
  /** What was exceeded, for a client to read. */
  readonly details?: { readonly limit: string; readonly max: number; readonly received: number } | undefined;
}

const MOST_PIXELS = 100_000_000;
const MOST_FRAMES = 1000;
const MOST_PAGES = 2000;
/** The longest derived side, px: what WebP holds, and enough for the others. */
const LONGEST_DERIVED = 16_383;
/** Frames of an animation that have to be turned one by one lie in memory together. */
const MOST_TURNED_PIXELS = 200_000_000;

/** The decoder of each source (libvips class names), and what sharp calls what it found. */
const LOADERS: Readonly<Record<string, { readonly loader: string; readonly found: string }>> = {
  png: { loader: 'VipsForeignLoadPng', found: 'png' },
  jpg: { loader: 'VipsForeignLoadJpeg', found: 'jpeg' },
  webp: { loader: 'VipsForeignLoadWebp', found: 'webp' },
  gif: { loader: 'VipsForeignLoadNsgif', found: 'gif' },
  tiff: { loader: 'VipsForeignLoadTiff', found: 'tiff' },
  avif: { loader: 'VipsForeignLoadHeif', found: 'heif' },
};

interface Target {
  readonly encode: (picture: Sharp, request: ImageRequest, animation: { delay?: number[]; loop?: number }) => Sharp;
  /** px. JPEG and GIF have 16 bits for a side, WebP 14 (RFC 9649), libaom takes 16 bits. */
  readonly longest: number;
  readonly alpha: boolean;
  readonly sixteenBit: boolean;
  readonly animated: boolean;
}

const TARGETS: Readonly<Record<string, Target>> = {
  png: { encode: (picture) => picture.png(), longest: 1_000_000, alpha: true, sixteenBit: true, animated: false },
  jpg: { encode: (picture, { quality }) => picture.jpeg({ quality }), longest: 65_535, alpha: false, sixteenBit: false, animated: false },
  webp: {
    encode: (picture, { quality }, animation) => picture.webp({ quality, effort: 3, ...animation }),
    longest: 16_383,
    alpha: true,
    sixteenBit: false,
    animated: true,
  },
  gif: {
    encode: (picture, _, animation) => picture.gif({ effort: 5, ...animation }),
    longest: 65_535,
    alpha: true,
    sixteenBit: false,
    animated: true,
  },
  // sharp's own default is JPEG inside TIFF, which loses.
  tiff: {
    encode: (picture) => picture.tiff({ compression: 'lzw', predictor: 'horizontal' }),
    longest: 1_000_000,
    alpha: true,
    sixteenBit: true,
    animated: false,
  },
  avif: {
    encode: (picture, { quality }) => picture.avif({ quality, effort: 2 }),
    longest: 65_535,
    alpha: true,
    sixteenBit: false,
    animated: false,
  },
};

class Refusal extends Error {
  readonly answer: ImageRefusal;
  constructor(reason: ImageRefusal['reason'], words: string, details?: ImageRefusal['details']) {
    super(words);
    this.answer = { ok: false, reason, words, details };
  }
}

const bound = (limit: string, max: number, received: number): void => {
  if (received > max) throw new Refusal('input_limit', `${limit} ${received}, at most ${max}`, { limit, max, received });
};

/** Carries out one request. @throws Refusal, or what libvips throws */
async function convert(request: ImageRequest): Promise<{ warnings: { code: string; message: string }[] }> {
  const found = await look(request);
  const target = TARGETS[request.target];
  if (target === undefined) throw new Refusal('internal', `no encoder for ${request.target}`);
  const frames = found.pages ?? 1;
  if (request.source === 'tiff') {
    return { warnings: await eachPage(request, target, frames) };
  }
  if (frames > 1 && target.animated) {
    await animation(request, target, found);
    return { warnings: [] };
  }
  await still(open(request), found, request, target).toFile(request.output);
  const cut = frames > 1 && (request.source === 'gif' || request.source === 'webp');
  const message = `The animation has ${frames} frames; ${request.target.toUpperCase()} holds one, so the first is delivered.`;
  return { warnings: cut ? [{ code: 'animation_first_frame', message }] : [] };
}

/** Reads the header with the one decoder that the source's name allows, and holds it to the bounds: nothing is decoded before. */
async function look(request: ImageRequest): Promise<Metadata> {
  const known = LOADERS[request.source];
  if (known === undefined) throw new Refusal('internal', `no decoder for ${request.source}`);
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: [known.loader] });
  const found = await open(request).metadata();
  if (found.format !== known.found || (request.source === 'avif' && found.compression !== 'av1'))
    throw new Refusal('corrupt_input', `named ${request.source}, found ${found.format}`);
  bound('pixels', MOST_PIXELS, found.width * (found.pageHeight ?? found.height));
  if (request.source === 'tiff') bound('pages', MOST_PAGES, found.pages ?? 1);
  else bound('frames', MOST_FRAMES, found.pages ?? 1);
  return found;
}

/** The pixel bound is ours, by frame: that of sharp counts the frames of an animation together. */
function open({ input }: ImageRequest, options: SharpOptions = {}): Sharp {
  return sharp(input, { failOn: 'error', limitInputPixels: false, sequentialRead: true, ...options });
}

/** A TIFF holds pages, not frames: each wanted one becomes a file, in the order asked for. */
async function eachPage(request: ImageRequest, target: Target, count: number): Promise<{ code: string; message: string }[]> {
  const ranges = request.pages ?? [[1, count] as const];
  const wanted = [
    ...new Set(
      ranges.flatMap(([from, to]) => Array.from({ length: Math.max(0, Math.min(to, count) - from + 1) }, (_, offset) => from - 1 + offset)),
    ),
  ];
  if (wanted.length === 0) bound('pages', count, ranges[0]?.[0] ?? 0);
  for (const [place, page] of wanted.entries()) {
    const found = await open(request, { page }).metadata();
    bound('pixels', MOST_PIXELS, found.width * found.height);
    const name = `page-${String(place + 1).padStart(4, '0')}${extname(request.output)}`;
    const path = wanted.length === 1 ? request.output : join(dirname(request.output), name);
    await still(open(request, { page }), found, request, target).toFile(path);
  }
  const message = `The document has ${count} pages; pages after the last were left out.`;
  // `all` comes as one range up to the bound.
  const beyond = ranges.some(([from, to]) => to > count && !(from === 1 && to === MOST_PAGES));
  return beyond ? [{ code: 'pages_beyond_end', message }] : [];
}

/** All frames, with their delays and the count of loops. */
async function animation(request: ImageRequest, target: Target, found: Metadata): Promise<void> {
  const { delay, loop, pages = 1, width, pageHeight: height = found.height } = found;
  const timing = { ...(delay && { delay }), ...(loop !== undefined && { loop }) };
  const all = open(request, { animated: true });
  if (request.rotate === undefined || request.rotate === 'flip-h') {
    await target
      .encode(edit(colours(all, found, request, target), { width, height }, request, target), request, timing)
      .toFile(request.output);
    return;
  }
  // libvips keeps the frames in one tall picture, which it cannot turn frame by frame.
  bound('pixels of all frames', MOST_TURNED_PIXELS, width * height * pages);
  const flat = await all.toColourspace('srgb').ensureAlpha().raw().toBuffer();
  const turned: Buffer[] = [];
  let size = { width, height };
  for (let page = 0; page < pages; page++) {
    const frame = sharp(flat.subarray(page * width * height * 4, (page + 1) * width * height * 4), { raw: { width, height, channels: 4 } });
    const { data, info } = await edit(frame, { width, height }, request, target).raw().toBuffer({ resolveWithObject: true });
    turned.push(data);
    size = info;
  }
  const raw = { width: size.width, height: size.height * pages, channels: 4 as const, pageHeight: size.height };
  await target.encode(sharp(Buffer.concat(turned), { raw, limitInputPixels: false }), request, timing).toFile(request.output);
}

function still(picture: Sharp, found: Metadata, request: ImageRequest, target: Target): Sharp {
  const lies = found.orientation !== undefined && found.orientation >= 5;
  const height = found.pageHeight ?? found.height;
  const upright = lies ? { width: height, height: found.width } : { width: found.width, height };
  return target.encode(edit(colours(picture.autoOrient(), found, request, target), upright, request, target), request, {});
}

/** To sRGB (a grey picture stays grey), with or without what the file says about itself. */
function colours(picture: Sharp, found: Metadata, request: ImageRequest, target: Target): Sharp {
  const deep = target.sixteenBit && found.depth === 'ushort';
  const flattens = !target.alpha && found.hasAlpha;
  const { background } = request;
  const tinted = flattens && (background.slice(1, 3) !== background.slice(3, 5) || background.slice(3, 5) !== background.slice(5, 7));
  const grey = !tinted && (found.space === 'b-w' || found.space === 'grey16');
  // A grey picture would make its background grey too.
  let result = (tinted ? picture.pipelineColourspace('srgb') : picture).toColourspace(
    grey ? (deep ? 'grey16' : 'b-w') : deep ? 'rgb16' : 'srgb',
  );
  if (flattens) result = result.flatten({ background });
  // Without an output profile sharp leaves 16-bit pictures in Display P3.
  if (found.icc !== undefined && !grey) result = result.withIccProfile('srgb', { attach: !request.strip });
  return request.strip ? result : result.keepExif().keepXmp();
}

/** Rotate, crop, resize. @param from px, upright */
function edit(picture: Sharp, from: Size, request: ImageRequest, target: Target): Sharp {
  const { rotate } = request;
  const turns = rotate === '90' || rotate === '270';
  const turned = turns ? { width: from.height, height: from.width } : from;
  const cropped = cropOf(turned, request.crop);
  const size = sizeOf(cropped, request.resize);
  bound(`side of ${request.target}`, target.longest, Math.max(size.width, size.height));
  let result = picture;
  // sharp mirrors after it crops, and crops after it turns when asked in this order.
  if (turns && request.crop !== undefined) result = result.rotate(Number(rotate));
  if (rotate === '180' || rotate === 'flip-v') result = result.flip();
  if (rotate === '180' || rotate === 'flip-h') result = result.flop();
  if (request.crop !== undefined) {
    const left = rotate === '180' || rotate === 'flip-h' ? turned.width - cropped.left - cropped.width : cropped.left;
    const top = rotate === '180' || rotate === 'flip-v' ? turned.height - cropped.top - cropped.height : cropped.top;
    result = result.extract({ left, top, width: cropped.width, height: cropped.height });
  }
  // Resized before it is turned, a picture need not be decoded at full size.
  const last = turns && request.crop === undefined;
  if (request.resize !== undefined) result = result.resize({ ...(last ? { width: size.height, height: size.width } : size), fit: 'fill' });
  return last ? result.rotate(Number(rotate)) : result;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

function cropOf(from: Size, crop: ImageRequest['crop']): Size & { left: number; top: number } {
  const { x: left = 0, y: top = 0, w: width = from.width - left, h: height = from.height - top } = crop ?? {};
  // Where even the corner lies outside, one pixel is what was asked for at least.
  bound('img_crop_x + img_crop_w', from.width, left + Math.max(1, width));
  bound('img_crop_y + img_crop_h', from.height, top + Math.max(1, height));
  return { left, top, width, height };
}

/** One side keeps the ratio, both are exact. */
function sizeOf(from: Size, resize: ImageRequest['resize']): Size {
  const width = resize?.w ?? (resize?.h === undefined ? from.width : Math.round((from.width * resize.h) / from.height));
  const height = resize?.h ?? (resize?.w === undefined ? from.height : Math.round((from.height * resize.w) / from.width));
  for (const side of resize === undefined ? [] : [width, height]) {
    if (side < 1)
      throw new Refusal('input_limit', 'the derived side is below 1 px', { limit: 'derived side', max: LONGEST_DERIVED, received: side });
    bound('derived side', LONGEST_DERIVED, side);
  }
  return { width, height };
}

/** What libvips says when it runs out of something; anything else that it says is about the picture. */
function refusalOf(error: unknown): ImageRefusal {
  if (error instanceof Refusal) return error.answer;
  const words = error instanceof Error ? error.message.slice(0, 2000) : String(error);
  if (/out of memory|unable to allocate|bad_alloc|allocation failed/i.test(words)) return { ok: false, reason: 'memory', words };
  if (/no space left|file too large|disk quota/i.test(words)) return { ok: false, reason: 'output_limit', words };
  return { ok: false, reason: 'corrupt_input', words };
}

async function answer(line: string): Promise<{ ok: boolean }> {
  try {
    return { ok: true, ...(await convert(JSON.parse(line) as ImageRequest)) };
  } catch (error) {
    return refusalOf(error);
  }
}

const say = (words: object): boolean => process.stdout.write(`${JSON.stringify(words)}\n`);

async function main(mode: string | undefined): Promise<void> {
  if (mode === '--version') {
    process.stdout.write(`sharp ${sharp.versions.sharp} libvips ${sharp.versions.vips}\n`);
    return;
  }
  // One job at a time in each process, and a process for each core: what libvips would gain by threads and its cache it would lose by them.
  sharp.cache(false);
  sharp.concurrency(1);
  if (mode !== '--once') say({ ready: true });
  for await (const line of createInterface({ input: process.stdin })) {
    const told = await answer(line);
    say(told);
    if (mode !== '--once') continue;
    process.exitCode = told.ok ? 0 : 1;
    return;
  }
}

await main(process.argv[2]);
