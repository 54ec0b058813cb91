/**
 * The operations between decoding and encoding, in the order in which they lose least and cost least: pixels are decoded smaller where the
 * decoder can do that, colours are converted before they are mixed, and alpha is multiplied in before pixels are averaged.
 */
import type { PixelSize } from './request.ts';
import type { Image, ImageHeader, Properties, Session, Talk } from './session.ts';
import type { Overlay } from './watermark.ts';

type Angle = 0 | 90 | 180 | 270;

export interface Pipeline {
  /** Turn it upright, as EXIF says. */
  readonly upright: boolean;
  /** The space to work in; undefined: the picture's own, as far as it is not CMYK. */
  readonly work: 'srgb' | undefined;
  /** How it comes out. */
  readonly space: 'srgb' | 'rgb16' | 'b-w' | 'grey16';
  readonly grayscale: boolean;
  /** Red, green and blue below transparent pixels, 0 to 255. */
  readonly flatten: readonly number[] | undefined;
  /** Convert to sRGB by its profile at the end too, since 16 bits were worked on in Display P3. */
  readonly profile: boolean;
  readonly turn: Angle;
  /** Before it is cropped. */
  readonly turnFirst: boolean;
  readonly flip: boolean;
  readonly flop: boolean;
  readonly crop: (PixelSize & { readonly left: number; readonly top: number }) | undefined;
  readonly resize: (PixelSize & { readonly fit: 'fill' | 'cover' | 'contain'; readonly bars: readonly number[] }) | undefined;
  /** Standard deviation, px. */
  readonly blur: number | undefined;
  readonly overlay: Overlay | undefined;
  readonly dropAlpha: boolean;
  readonly addAlpha: boolean;
}

export const UNCHANGED: Pipeline = {
  upright: false,
  work: undefined,
  space: 'srgb',
  grayscale: false,
  flatten: undefined,
  profile: false,
  turn: 0,
  turnFirst: false,
  flip: false,
  flop: false,
  crop: undefined,
  resize: undefined,
  blur: undefined,
  overlay: undefined,
  dropAlpha: false,
  addAlpha: false,
};

export interface OpenedPicture {
  readonly image: Image;
  readonly header: ImageHeader;
  /** Frames that are worked on together. */
  readonly frames: number;
  /** Decodes it again, smaller. */
  readonly reload?: Reload | undefined;
}

interface Reload {
  /** By whole numbers while decoding (JPEG), or to any size (WebP). */
  readonly by: 'shrink' | 'scale';
  readonly open: (properties: Properties) => Image;
}

/** A picture on its way. `sequential` and the alpha channel are followed; the rest is looked up where it matters. */
interface Picture {
  image: Image;
  header: ImageHeader;
  pageHeight: number;
}

/** @returns the picture, and the height of its frames */
export function* runPipeline(session: Session, opened: OpenedPicture, plan: Pipeline): Talk<{ image: Image; pageHeight: number }> {
  const { frames } = opened;
  const picture: Picture = { image: opened.image, header: opened.header, pageHeight: opened.header.pageHeight };
  const run = (operation: string, properties: Properties = {}): void => {
    picture.image = session.run(operation, { in: picture.image, ...properties });
  };
  const look = function* (): Talk<void> {
    picture.header = yield* session.look(picture.image);
  };
  const know = (known: Partial<ImageHeader>): void => {
    picture.header = { ...picture.header, ...known };
  };
  const inMemory = (): void => {
    if (!picture.header.sequential) return;
    picture.image = session.memory(picture.image);
    know({ sequential: false });
  };
  const rotate = (angle: Angle): void => {
    if (angle === 0) return;
    const { width, height } = picture.header;
    run('rot', { angle: `d${angle}` });
    if (angle !== 180) know({ width: height, height: width });
  };
  const mirror = (direction: 'horizontal' | 'vertical'): void => run('flip', { direction });
  const convert = (space: string): void => {
    run('colourspace', { space, 'source-space': picture.header.space });
    know({ space });
  };

  if (plan.work !== undefined && picture.header.space !== plan.work) {
    convert(plan.work);
    yield* look();
  }

  // Before it is cropped: turns.
  let { angle, flop: mirrored } = plan.upright ? orientationOf(picture.header) : { angle: 0 as Angle, flop: false };
  let { turn, flip, flop } = plan;
  const turnsFirst = plan.turnFirst && (turn !== 0 || flip || flop);
  const uprightFirst = (turnsFirst || plan.crop !== undefined) && (angle !== 0 || mirrored);
  if (uprightFirst) {
    if (angle !== 0) inMemory();
    rotate(angle);
    if (mirrored) mirror('horizontal');
    [angle, mirrored] = [0, false];
  }
  if (turnsFirst) {
    inMemory();
    if (flip) mirror('vertical');
    if (flop) mirror('horizontal');
    rotate(turn);
    [turn, flip, flop] = [0, false, false];
  }
  if (plan.crop !== undefined) {
    if (frames > 1) cropFrames(session, picture, plan.crop, frames, inMemory);
    else picture.image = cut(session, picture.image, plan.crop);
    know({ width: plan.crop.width, height: frames > 1 ? picture.pageHeight * frames : plan.crop.height });
  }

  // Decoded smaller, if nothing before needs all pixels.
  const sideways = angle === 90 || angle === 270;
  const wanted = plan.resize && (sideways ? { ...plan.resize, width: plan.resize.height, height: plan.resize.width } : plan.resize);
  if (frames === 1) picture.pageHeight = picture.header.height;
  if (wanted !== undefined && plan.crop === undefined && plan.work === undefined && !uprightFirst && !turnsFirst) {
    const smaller = reloaded(opened.reload, shrinkFor(picture, wanted));
    if (smaller !== undefined) {
      picture.image = smaller;
      yield* look();
    }
    picture.pageHeight = picture.header.pageHeight;
  }
  if (plan.upright && picture.header.stated.orientation !== undefined)
    picture.image = session.meta(picture.image, { orientation: undefined, 'exif-ifd0-Orientation': undefined });
  if (picture.header.stated.gainMap) picture.image = session.meta(picture.image, { gainmap: undefined, 'gainmap-data': undefined });

  let { across, down } = wanted === undefined ? { across: 1, down: 1 } : shrinkFor(picture, wanted);
  const frameHeight = roundHalfEven(picture.pageHeight / down);
  // Frames must end where rows of pixels end.
  if (picture.header.height > picture.pageHeight) down = picture.header.height / (frameHeight * frames);

  // Colours: to sRGB by the profile, or to a wider space where there are 16 bits.
  const processing = picture.header.space === 'rgb16' ? 'p3' : 'srgb';
  const byProfile = { embedded: true, depth: isDeep(picture.header) ? 16 : 8, intent: 'perceptual' };
  if (picture.header.stated.profile && picture.header.space !== 'labs' && picture.header.space !== 'grey16') {
    const converted = yield* session.attempt('icc_transform', { in: picture.image, 'output-profile': processing, ...byProfile });
    if (converted !== undefined) {
      picture.image = converted;
      yield* look();
    }
  } else if (picture.header.space === 'cmyk') {
    run('icc_transform', { 'output-profile': processing, 'input-profile': 'cmyk', intent: 'perceptual' });
    yield* look();
  }
  if (plan.flatten !== undefined && picture.header.alpha) {
    const scale = isDeep(picture.header) ? 256 : 1;
    run('flatten', { background: plan.flatten.map((value) => value * scale) });
    yield* look();
  }
  if (plan.grayscale) {
    run('colourspace', { space: 'b-w' });
    yield* look();
  }
  if (plan.resize?.fit === 'contain' && !PLAIN_SPACES.has(picture.header.space)) {
    convert('srgb');
    yield* look();
  }
  if (plan.overlay !== undefined) addAlpha();

  const resizes = across !== 1 || down !== 1;
  const { format } = picture.header;
  const multiplied = picture.header.alpha && (resizes || plan.blur !== undefined);
  if (multiplied) {
    run('premultiply');
    run('cast', { format });
  }
  if (resizes) {
    run('resize', { scale: 1 / across, vscale: 1 / down, kernel: 'lanczos3' });
    // Rounding is libvips' own.
    if (wanted?.fit !== 'fill') yield* look();
  }
  if (angle !== 0 || flip || turn !== 0) inMemory();
  rotate(angle);
  if (flip) mirror('vertical');
  if (flop !== mirrored) mirror('horizontal');
  rotate(turn);
  if (plan.resize !== undefined && plan.resize.fit !== 'fill') fill(plan.resize);
  if (plan.blur !== undefined) {
    inMemory();
    run('gaussblur', { sigma: plan.blur, precision: 'integer', 'min-ampl': 0.05 });
  }
  if (multiplied) {
    run('unpremultiply');
    run('cast', { format });
  }
  if (plan.overlay !== undefined) {
    const { image, left: x, top: y } = plan.overlay;
    const laid = session.run('composite2', {
      base: picture.image,
      overlay: image,
      mode: 'over',
      x,
      y,
      'compositing-space': plan.work ?? 'srgb',
    });
    picture.image = session.meta(laid, { 'gif-palette': undefined });
    yield* look();
  }
  if (plan.dropAlpha && picture.header.alpha && picture.header.bands > 1) {
    run('extract_band', { band: 0, n: picture.header.bands - 1 });
    know({ bands: picture.header.bands - 1, alpha: false });
  }
  if (plan.addAlpha) addAlpha();
  if (isDeep(picture.header)) run('cast', { format: 'ushort' });
  if (picture.header.space !== plan.space) convert(plan.space);
  if (plan.profile) {
    const ends = { 'input-profile': processing, 'output-profile': 'srgb' };
    const depth = isDeep({ space: plan.space }) ? 16 : 8;
    const converted = yield* session.attempt('icc_transform', { in: picture.image, ...ends, embedded: true, depth, intent: 'perceptual' });
    picture.image = converted ?? picture.image;
  }
  return { image: picture.image, pageHeight: frames > 1 ? frameHeight : picture.header.height };

  function addAlpha(): void {
    if (picture.header.alpha) return;
    run('addalpha');
    know({ alpha: true, bands: picture.header.bands + 1 });
  }

  /** Cuts off what is beyond the sides, or fills up to them. */
  function fill({ width, height, fit, bars }: NonNullable<Pipeline['resize']>): void {
    const now = { width: picture.header.width, height: frames > 1 ? frameHeight : picture.header.height };
    if (now.width === width && now.height === height) return;
    if (fit === 'cover') {
      const area = { width: Math.min(width, now.width), height: Math.min(height, now.height) };
      const [left, top] = [Math.trunc((now.width - area.width + 1) / 2), Math.trunc((now.height - area.height + 1) / 2)];
      picture.image = cut(session, picture.image, { left, top, ...area });
      return;
    }
    const left = Math.trunc((width - now.width) / 2);
    const top = Math.trunc((height - now.height) / 2);
    run('embed', { x: left, y: top, width, height, extend: 'background', background: barsFor(picture.header, bars) });
  }
}

/** EXIF 2.32, tag 0x0112: how it is turned, and mirrored afterwards. */
function orientationOf({ stated: { orientation } }: ImageHeader): { angle: Angle; flop: boolean } {
  const angles: readonly Angle[] = [0, 0, 0, 180, 180, 90, 90, 270, 270];
  return { angle: angles[orientation ?? 0] ?? 0, flop: [2, 4, 5, 7].includes(orientation ?? 0) };
}

/** In which the colour of bars is known without converting it. */
const PLAIN_SPACES: ReadonlySet<string> = new Set(['srgb', 'rgb16', 'b-w', 'grey16']);

const isDeep = ({ space }: Pick<ImageHeader, 'space'>): boolean => space === 'rgb16' || space === 'grey16';

export type Area = NonNullable<Pipeline['crop']>;

export const cut = (session: Session, image: Image, { left, top, width, height }: Area): Image =>
  session.run('extract_area', { input: image, left, top, width, height });

/** Frame by frame: libvips has them as one tall picture. */
function cropFrames(session: Session, picture: Picture, area: Area, frames: number, inMemory: () => void): void {
  const { left, top, width, height } = area;
  if (top === 0 && height === picture.pageHeight) {
    picture.image = cut(session, picture.image, { left, top: 0, width, height: picture.header.height });
    return;
  }
  inMemory();
  const from = picture.image;
  const each = Array.from({ length: frames }, (_, frame) => cut(session, from, { ...area, top: picture.pageHeight * frame + top }));
  picture.image = session.run('arrayjoin', { in: each, across: 1 });
  picture.pageHeight = height;
}

/** How much smaller each side becomes. */
function shrinkFor(
  { header, pageHeight }: Picture,
  { width, height, fit }: NonNullable<Pipeline['resize']>,
): { across: number; down: number } {
  let [across, down] = [header.width / width, pageHeight / height];
  if (fit === 'cover') across = down = Math.min(across, down);
  if (fit === 'contain') across = down = Math.max(across, down);
  // No side becomes less than a pixel.
  return { across: Math.min(across, header.width), down: Math.min(down, pageHeight) };
}

/** JPEG can be decoded at a half, a fourth or an eighth, WebP at any size. */
function reloaded(reload: Reload | undefined, { across, down }: { across: number; down: number }): Image | undefined {
  const shrink = Math.min(across, down);
  if (reload?.by === 'scale') return shrink > 1 ? reload.open({ scale: 1 / shrink }) : undefined;
  if (reload === undefined || shrink < 2) return undefined;
  const least = shrink >= 8 ? 8 : shrink >= 4 ? 4 : 2;
  // libjpeg rounds sides up: at exactly that factor a row or column of the edge would be stretched over the picture.
  const factor = Math.trunc(shrink) === least ? least / 2 : least;
  return factor > 1 ? reload.open({ shrink: factor }) : undefined;
}

/** rint(3), as libvips rounds sides. */
function roundHalfEven(value: number): number {
  const rounded = Math.round(value);
  return Math.abs(value % 1) === 0.5 && rounded % 2 === 1 ? rounded - 1 : rounded;
}

/** A colour with as many bands as the picture. @param rgba 0 to 255 */
function barsFor({ bands, alpha, ...header }: ImageHeader, [red = 0, green = 0, blue = 0, opacity = 255]: readonly number[]): number[] {
  const scale = isDeep(header) ? 256 : 1;
  // Luminance of sRGB (ITU-R BT.709).
  const colour = bands > 2 ? [red, green, blue] : [0.2126 * red + 0.7152 * green + 0.0722 * blue];
  const extra = alpha ? Array.from({ length: Math.max(1, bands - 3) }, () => opacity) : [];
  return [...colour, ...(bands > 2 ? extra : extra.slice(0, 1))].map((value) => value * scale);
}
