/** Converts a still, the pages of a TIFF, or all frames of an animation: what libvips is told, by what it finds. */
import { MAX_PAGES } from '../../../bounds.ts';
import type { Conversation, EngineWarning, ProgramAnswer } from '../../../engine.ts';
import { CUT_JPEG, saysCutJpeg } from '../../../planning/noticed.ts';
import { CARRIER } from '../../../planning/pictures/exif.ts';
import { colours, edit } from './edit.ts';
import { withinMemory } from './memory.ts';
import { boundPixels, look, type OpenedFirst, openAgain } from './open.ts';
import { cut, runPipeline, UNCHANGED } from './pipeline.ts';
import { boundPicture, type ImageRequest, outside, PictureRefusal, pagesAt } from './request.ts';
import { type Image, Session, type Talk } from './session.ts';
import { type PictureTarget, TARGETS } from './targets.ts';
import { drawWatermark } from './watermark.ts';

/** Frames of an animation that are edited one by one are all in memory, and those that are stored as they are all on the disk. */
const MOST_PIXELS_APART = 200_000_000;

/** @param request paths are those that the program is told */
export function* conversationAbout(request: ImageRequest): Conversation {
  try {
    try {
      return { ok: true, warnings: yield* convert(new Session(), request) } satisfies ProgramAnswer;
    } catch (error) {
      if (!(error instanceof PictureRefusal && saysCutJpeg(error.message))) throw error;
      return { ok: true, warnings: [CUT_JPEG, ...(yield* convert(new Session(), { ...request, cut: true }))] } satisfies ProgramAnswer;
    }
  } catch (error) {
    if (error instanceof PictureRefusal) return error.answer;
    throw error;
  }
}

function* convert(session: Session, request: ImageRequest): Talk<EngineWarning[]> {
  const found = yield* look(session, request);
  const target = TARGETS[request.target];
  if (target === undefined) throw new PictureRefusal('internal', `no encoder for ${request.target}`);
  const frames = found.header.stated.pages ?? 1;
  if (request.source === 'tiff') return yield* eachPage(session, request, target, found);
  if ((frames > 1 && target.animated) || stepOf(request, target) !== undefined) {
    yield* animation(session, request, target, frames);
    return [];
  }
  const warnings = yield* still(session, found, request, target, request.output);
  if (request.target === 'tiff' && !request.strip) yield* carry(session, found.image, request);
  const first = request.source === 'apng' || (frames > 1 && (request.source === 'gif' || request.source === 'webp'));
  const message = `The source is an animation${frames > 1 ? ` of ${frames} frames` : ''}: the result is its first frame.`;
  return first ? [...warnings, { code: 'animation_first_frame', message }] : warnings;
}

/** The distance of two levels of colour, where the picture is made easier to compress. */
const stepOf = ({ compress = false, quality }: ImageRequest, { coarsen }: PictureTarget): number | undefined =>
  compress && quality < 100 ? coarsen?.(quality) : undefined;

/** A TIFF has pages, not frames: each requested one becomes a file, in the requested order. */
function* eachPage(session: Session, request: ImageRequest, target: PictureTarget, first: OpenedFirst): Talk<EngineWarning[]> {
  const count = first.header.stated.pages ?? 1;
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
      says: `The file has ${count === 1 ? 'one page' : `${count} pages`}; the first requested page is ${Math.min(...ranges.map(([from]) => from))}.`,
    });
  const paths = pagesAt(request.output, wanted.length);
  const fresh = session.nextPlace;
  const warnings: EngineWarning[] = [];
  for (const [place, page] of wanted.entries()) {
    const found = page === 0 && place === 0 ? first : yield* openAgain(session, request, { page });
    boundPixels(found.header);
    warnings.push(...(yield* still(session, found, request, target, paths[place] ?? request.output)));
    session.forget(fresh);
  }
  const message = `The document has ${count} pages; requested pages after the last one were ignored.`;
  // `all` arrives as one range up to the bound.
  const beyond = ranges.some(([from, to]) => to > count && !(from === 1 && to === MAX_PAGES));
  return beyond ? [...warnings, { code: 'pages_beyond_end', message }] : warnings;
}

/** Converts all frames, with their delays and the loop count. */
function* animation(session: Session, request: ImageRequest, target: PictureTarget, frames: number): Talk<void> {
  const all = yield* openAgain(session, request, { n: -1 });
  const { header } = all;
  const { width } = header;
  const height = header.stated.pageHeight ?? header.height;
  const step = stepOf(request, target);
  const { keep, deep, ...coloured } = colours(header, request, target);
  // libvips stores the frames as one tall picture: it mirrors, crops and resizes frame by frame, but rotates and blurs the whole.
  const apart =
    (request.rotate !== undefined && request.rotate !== 'flip-h') ||
    request.blur !== undefined ||
    request.watermark !== undefined ||
    request.fit !== undefined ||
    step !== undefined;
  if (apart || target.raw) boundPicture('pixels of all frames', MOST_PIXELS_APART, width * height * frames);
  if (!apart) {
    const { size: _, ...edits } = edit({ width, height, alpha: header.alpha }, request, target);
    const done = yield* runPipeline(session, { ...all, frames }, { ...UNCHANGED, ...coloured, ...edits });
    yield* save(session, framed(session, done.image, frames, done.pageHeight), request, target, { keep, deep }, request.output);
    return;
  }
  const flat = yield* runPipeline(session, { ...all, frames }, { ...UNCHANGED, addAlpha: true });
  // Only pixels and time are the frames' own.
  const whole = session.meta(session.memory(flat.image), PIXELS_ALONE);
  const { size, ...edits } = edit({ width, height, alpha: true }, request, target);
  const overlay = request.watermark && (yield* drawWatermark(session, size, request.watermark));
  const levels = step === undefined ? undefined : levelsOf(session, step);
  const frame = yield* session.look(cut(session, whole, { left: 0, top: 0, width, height }));
  const edited: Image[] = [];
  let outHeight = height;
  for (let index = 0; index < frames; index++) {
    const fresh = session.nextPlace;
    const image = cut(session, whole, { left: 0, top: index * height, width, height });
    const done = yield* runPipeline(session, { image, header: frame, frames: 1 }, { ...UNCHANGED, ...edits, overlay, addAlpha: true });
    edited.push(session.settle(levels === undefined ? done.image : session.run('maplut', { in: done.image, lut: levels }), fresh));
    if (index === 0) {
      const out = yield* session.look(edited[0] ?? done.image);
      outHeight = out.height;
      boundPicture('pixels of all frames', MOST_PIXELS_APART, out.width * out.height * frames);
    }
    yield* session.sendIfLong();
  }
  const joined = session.meta(session.run('arrayjoin', { in: edited, across: 1 }), header.stated.timing ? {} : { loop: 1 });
  const grey = request.grayscale
    ? session.run('colourspace', { in: session.run('colourspace', { in: joined, space: 'b-w' }), space: 'srgb' })
    : joined;
  yield* save(session, framed(session, grey, frames, outHeight), request, target, { keep: 'none', deep: false }, request.output);
}

const framed = (session: Session, image: Image, frames: number, height: number): Image =>
  frames > 1 ? session.meta(image, { 'page-height': height, 'n-pages': frames }) : image;

/** A table for three colours and alpha, which stays. */
function levelsOf(session: Session, step: number): Image {
  const all = session.run('identity', { bands: 1 });
  const rounded = session.run('round', { in: session.run('linear', { in: all, a: [1 / step], b: [0] }), round: 'rint' });
  const levels = session.run('cast', {
    in: session.run('round', { in: session.run('linear', { in: rounded, a: [step], b: [0] }), round: 'rint' }),
    format: 'uchar',
  });
  return session.run('bandjoin', { in: [levels, levels, levels, all] });
}

function* still(session: Session, found: OpenedFirst, asked: ImageRequest, target: PictureTarget, path: string): Talk<EngineWarning[]> {
  const { header } = found;
  const lies = (header.stated.orientation ?? 0) >= 5;
  const height = header.stated.pageHeight ?? header.height;
  const upright = lies ? { width: height, height: header.width } : { width: header.width, height };
  const { keep, deep, ...coloured } = colours(header, asked, target);
  const { size, ...edits } = edit({ ...upright, alpha: header.alpha }, asked, target);
  const { request, warnings } = withinMemory(asked, target, { ...size, alpha: header.alpha });
  const overlay = request.watermark && (yield* drawWatermark(session, size, request.watermark));
  const plan = { ...UNCHANGED, upright: true, ...coloured, ...edits, overlay };
  const { image } = yield* runPipeline(session, { ...found, frames: 1 }, plan);
  const { said } = request;
  const whole = said === undefined ? image : session.said(image, session.run('jpegload', { filename: said }));
  // Said of one frame, it would be taken for an animation's.
  yield* save(session, session.meta(whole, { loop: 1 }), request, target, { keep, deep }, path);
  return [...warnings];
}

/** Writes a picture of one pixel beside a TIFF, with what libvips does not write there. A JPEG alone has IPTC, and no room for EXIF of any length. */
function* carry(session: Session, image: Image, { source, output }: ImageRequest): Talk<void> {
  const carrier = session.said(session.run('black', { width: 1, height: 1 }), image);
  const filename = `${output.slice(0, output.lastIndexOf('/'))}/${CARRIER}`;
  yield* session.trySave(source === 'jpg' ? 'jpegsave' : 'pngsave', { in: carrier, filename, keep: 'exif:iptc' });
}

const PIXELS_ALONE = {
  'page-height': undefined,
  'n-pages': undefined,
  'icc-profile-data': undefined,
  'gif-palette': undefined,
  'gif-comment': undefined,
};

interface SaveSettings {
  /** Metadata, as libvips names it. */
  readonly keep: string;
  /** 16 bits a channel. */
  readonly deep: boolean;
}

function* save(
  session: Session,
  image: Image,
  request: ImageRequest,
  target: PictureTarget,
  { keep, deep }: SaveSettings,
  path: string,
): Talk<void> {
  const { saver, properties } = target.encode(request, deep);
  const single = saver === 'heifsave' ? session.meta(image, { 'page-height': undefined, delay: undefined, loop: undefined }) : image;
  session.save(saver, { in: single, filename: path, keep, ...properties });
  yield* session.send();
}
