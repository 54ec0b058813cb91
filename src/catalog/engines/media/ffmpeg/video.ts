/** Converts video: copies each stream that the target can contain and no option changes, and encodes the others. */
import { belowLimit, conversionFailed, inputLimit } from '../../../../errors.ts';
import { MAX_SIDE } from '../../../bounds.ts';
import type { Plan, Task } from '../../../engine.ts';
import { invalid, type OptionName, type Options } from '../../../options/options.ts';
import { type Burnt, burnt, overlaid } from './burn.ts';
import {
  asFilm,
  copiesAlpha,
  decoded,
  decoderArguments,
  FRAME_OPTIONS,
  flattened,
  hasAlpha,
  isToneMapped,
  isTransparent,
  keepsAlpha,
  onWhite,
} from './colours.ts';
import { command, dropped, tags } from './command.ts';
import { TEXT_SUBTITLES, UNTIMED, VIDEO, type VideoContainer } from './containers.ts';
import {
  AUDIO_ENCODERS,
  type AudioEncoder,
  type AudioSettings,
  asEncoded,
  atLeast,
  CODEC_NAMES,
  encodeAudio,
  encoderOfPicture,
  LEAST_SIDES,
  rateOf,
  VIDEO_ENCODERS,
  type VideoEncoderId,
} from './encoders.ts';
import { atLoudness, LEVEL_OPTIONS } from './loudness.ts';
import { soundTrack } from './sound.ts';
import { type AudioStream, type MediaFacts, mediaOf, shownSize, uprightAspect, type VideoStream } from './streams.ts';
import { timeline } from './timeline.ts';

const DEFAULT_CRF = 23;
/** Highest frame rate of a recording; a time base of microseconds would otherwise become a million frames per second. */
const MAX_FPS = 120;

export const VIDEO_OPTIONS = [
  'video_codec',
  'video_crf',
  'video_width',
  'video_height',
  'video_fps',
  ...FRAME_OPTIONS,
  'burn_subtitles',
  'fit',
] as const satisfies readonly OptionName[];
/** Options that no copy follows. */
const ENCODED = ['video_crf', 'video_width', 'video_height', 'video_fps', 'burn_subtitles'] as const;
const SOUND_OPTIONS = ['audio_bitrate', 'audio_rate', 'audio_channels', ...LEVEL_OPTIONS] as const satisfies readonly OptionName[];

/** @returns the options that change the audio of this target: `audio_rate` is missing if its codec has a single rate */
export function soundOptionsOf(target: string): readonly OptionName[] {
  const row: AudioEncoder | undefined = VIDEO[target] && AUDIO_ENCODERS[VIDEO[target].sound];
  if (VIDEO[target]?.silent) return [];
  return [...SOUND_OPTIONS.filter((name) => name !== 'audio_rate' || row?.rates?.length !== 1), 'audio_track'];
}

/** What a tool changes about a conversion. */
export interface Treatment {
  readonly container?: VideoContainer | undefined;
  /** Arguments of the video encoder, in place of those for a quality. */
  readonly encoder?: ((id: VideoEncoderId) => readonly string[]) | undefined;
}

/**
 * @throws Failure `no_stream` without video
 * @throws Failure `INVALID_OPTION` for a codec that the container does not support
 * @throws Failure `input_limit` for a side that the codec does not support
 */
export function planVideo(task: Task, { container = VIDEO[task.target], encoder }: Treatment = {}): Plan {
  const { target, options, facts } = task;
  const { audio, video } = mediaOf(facts);
  const [picture] = video;
  if (container === undefined || picture === undefined) throw conversionFailed('no_stream');
  refuseCodec(target, options);
  const track = options.audio_track === undefined ? undefined : soundTrack(mediaOf(facts), options);
  const sounds = container.silent ? [] : track !== undefined ? [track] : container.many ? audio : audio.slice(0, 1);
  const planned = (levels: readonly (readonly string[])[]) => planStreams(task, { container, encoder }, picture, sounds, levels);
  if (options.loudness === undefined || sounds.length === 0) return planned([]);
  const heard = sounds.map((stream) => {
    const settings = soundSettings(container, stream, options);
    const { index } = stream;
    return { index, rate: rateOf(container.sound, stream, settings), filters: asEncoded(container.sound, stream, settings) };
  });
  return atLoudness(task, timeline(task), heard, planned);
}

/** @param levels filters of each sound that bring it to a loudness */
function planStreams(
  task: Task,
  { container, encoder }: Treatment & { readonly container: VideoContainer },
  picture: VideoStream,
  sounds: readonly AudioStream[],
  levels: readonly (readonly string[])[],
): Plan {
  const { target, options, output, facts } = task;
  const media = mediaOf(facts);
  const time = timeline(task);
  const copies = !time.cut && keepsPicture(task, container, picture);
  const burns = burnt(task, time, picture);
  // Further video streams are kept only if the first is copied: encoding them too would be costly and unexpected.
  const others = container.many && copies ? media.video.slice(1).filter((stream) => keepsPicture(task, container, stream)) : [];
  const soft = media.subtitles.filter(({ index }) => index !== burns?.track.index);
  const subtitles = subtitlesFor({ subtitles: soft }, container);
  const unasked = options.audio_track === undefined ? 0 : media.audio.length - sounds.length;
  const kept = 1 + others.length + sounds.length + unasked + subtitles.count + (burns === undefined ? 0 : 1);
  const all = media.video.length + media.audio.length + media.subtitles.length + media.covers.length + media.others;
  const clear = copies || alphaKept(target, container, picture, options);
  return {
    warnings: [...time.warnings, ...dropped(all - kept), ...(clear ? [] : flattened(picture, task.source))],
    steps: [
      ...(burns?.steps ?? []),
      command({
        task,
        timeline: time,
        decode: copies ? [] : decoderArguments(picture),
        encode: [
          ...['-map', isOverlaid(burns) ? '[burnt]' : `0:${picture.index}`],
          ...others.flatMap(({ index }) => ['-map', `0:${index}`]),
          ...sounds.flatMap(({ index }) => ['-map', `0:${index}`]),
          ...subtitles.args,
          ...tags(task.source, picture.index, options.strip_metadata),
          ...(copies
            ? ['-c:v', 'copy', ...marks(target, picture.codec)]
            : encodePicture(target, container, picture, options, encoder, burns)),
          ...sounds.flatMap((stream, place) =>
            !time.cut && keepsSound(container, stream, options)
              ? [`-c:a:${place}`, 'copy']
              : encodeSound(container, stream, options, place, levels[place]),
          ),
          ...container.muxer,
        ],
        to: `${output}/out.${target}`,
      }),
    ],
  };
}

/** @throws Failure `INVALID_OPTION` for a codec that the container does not support */
export function refuseCodec(target: string, { video_codec: codec }: Options): void {
  const { encoders } = VIDEO[target] ?? {};
  if (codec === undefined || encoders === undefined || encoders.includes(codec)) return;
  throw invalid('video_codec', codec, `for ${target} one of ${encoders.join(', ')}`);
}

function keepsPicture({ source, target, options }: Task, container: VideoContainer, stream: VideoStream): boolean {
  return (
    container.video.includes(stream.codec) &&
    ENCODED.every((name) => options[name] === undefined) &&
    (options.video_codec === undefined || CODEC_NAMES[options.video_codec as VideoEncoderId] === stream.codec) &&
    options.deinterlace !== 'on' &&
    !isToneMapped(stream, options, target, encoderOfPicture(stream.codec) ?? 'h264') &&
    copiesAlpha(stream, target) &&
    (!stream.rotated || container.rotation === true) &&
    !UNTIMED.has(source) &&
    // AVI stores no presentation timestamps: reordered frames need decoding.
    !(source === 'avi' && stream.reordered)
  );
}

const keepsSound = (container: VideoContainer, stream: AudioStream, options: Options): boolean =>
  container.audio.includes(stream.codec) &&
  stream.channels <= (container.maxChannels ?? Number.POSITIVE_INFINITY) &&
  SOUND_OPTIONS.every((name) => options[name] === undefined);

export function encodePicture(
  target: string,
  container: VideoContainer,
  stream: VideoStream,
  options: Options,
  encoder: Treatment['encoder'] = (codec) => VIDEO_ENCODERS[codec](options.video_crf ?? DEFAULT_CRF),
  burns?: Burnt,
): readonly string[] {
  const id = encoderFor(container, options);
  const fps = options.video_fps ?? (stream.fps > MAX_FPS ? MAX_FPS : undefined);
  // Else the last frame of an animation would be over at once.
  const held = stream.shown === undefined ? [] : [`fps=${Math.min(MAX_FPS, stream.shown.rate)}`];
  const rate = container.rates === undefined ? fps : atLeast(container.rates, (fps ?? stream.fps) - 0.01);
  refuseSides(id, sidesOf(stream, options));
  const given = rate === undefined ? undefined : Number(rate.toFixed(5));
  // A filter, because `-r` would show the last frame too long, by seconds at low rates. MPEG has no low rates, and needs `-r`.
  const resampled = given === undefined || container.rates !== undefined ? held : [`fps=${given}`];
  const asMaster = isMaster(target, stream, options);
  const clear = alphaKept(target, container, stream, options) ? [] : onWhite(stream);
  const read = [...decoded(stream, options), ...resampled, ...clear];
  const shaped = [shape(id, stream, options), ...(asMaster ? [] : asFilm(stream, options, target, id)), ...(burns?.text ?? [])];
  return [
    ...(isOverlaid(burns) ? ['-filter_complex', overlaid(stream, burns, read, shaped)] : ['-vf', [...read, ...shaped].join(',')]),
    ...(given === undefined || container.rates === undefined ? [] : ['-r', `${given}`]),
    ...(asMaster ? MASTER : [...encoder(id), ...(keepsAlpha(stream, target, id) ? CLEAR : OPAQUE)]),
    ...(id === container.encoders[0] && !asMaster ? (container.encode ?? []) : []),
    ...(asMaster ? [] : marks(target, CODEC_NAMES[id])),
  ];
}

/** Its words are pictures: two streams of the source make the film. */
const isOverlaid = (burns: Burnt | undefined): burns is Burnt => burns !== undefined && burns.text.length === 0;

const encoderFor = (container: VideoContainer, { video_codec: codec }: Options): VideoEncoderId =>
  (codec as VideoEncoderId | undefined) ?? container.encoders[0] ?? 'h264';

const OPAQUE = ['-pix_fmt', 'yuv420p'] as const;
/** libvpx refuses frames that are made of later ones, where there is opacity. */
const CLEAR = ['-pix_fmt', 'yuva420p', '-auto-alt-ref', '0'] as const;
/** Transparency in QuickTime is ProRes 4444, which editors read. */
const MASTER = ['-c:v', 'prores_ks', '-profile:v', '4', '-pix_fmt', 'yuva444p10le', '-alpha_bits', '16'] as const;
const isMaster = (target: string, stream: VideoStream, { video_codec: codec }: Options): boolean =>
  target === 'mov' && codec === undefined && isTransparent(stream);

const alphaKept = (target: string, container: VideoContainer, stream: VideoStream, options: Options): boolean =>
  !hasAlpha(stream) || isMaster(target, stream, options) || keepsAlpha(stream, target, encoderFor(container, options));

/** Apple's players need this tag for H.265 in these containers. */
const marks = (target: string, codec: string): readonly string[] =>
  codec === 'hevc' && ['mp4', 'm4v', 'mov'].includes(target) ? ['-tag:v', 'hvc1'] : [];

const even = (side: number): number => side - (side % 2);

/** px. For a rotated video with one given side, the derived side is not known here. */
function sidesOf(stream: VideoStream, { video_width: wide, video_height: high }: Options): readonly number[] {
  if (wide !== undefined && high !== undefined) return [even(wide), even(high)];
  if (wide === undefined && high === undefined) return [even(stream.width), even(stream.height)];
  if (stream.rotated) return [];
  const { width, height } = shownSize(stream);
  return [even(wide ?? Math.round(((high ?? 0) * width) / height)), even(high ?? Math.round(((wide ?? 0) * height) / width))];
}

function refuseSides(codec: VideoEncoderId, sides: readonly number[]): void {
  const [least, side] = [LEAST_SIDES[codec] ?? 2, Math.min(...sides)];
  if (side < least)
    throw belowLimit(
      `least side of ${codec} in pixels`,
      least,
      side,
      `The video would have ${sides.join(' × ')} pixels; each side needs at least ${least} with ${codec}.`,
    );
  for (const long of sides) if (long > MAX_SIDE) throw inputLimit('side in pixels', MAX_SIDE, long);
}

/** Codecs whose pictures of 4:2:0 may have odd sides. */
const ODD: ReadonlySet<VideoEncoderId> = new Set(['vp8', 'vp9']);

/** Display aspect ratios that MPEG-2 can state, besides square pixels (ISO 13818-2, table 6-3). */
const MPEG_RATIOS = [4 / 3, 16 / 9, 2.21] as const;

/**
 * The filters that give the frames their size. DVD, DV and other pixels that are not square stay as they are, and the file states their ratio;
 * a requested size is in square pixels. Sides are even where the codec wants that, since 4:2:0 halves them; with one given side the ratio is kept.
 */
function shape(id: VideoEncoderId, stream: VideoStream, { video_width: width, video_height: height, fit = 'fill' }: Options): string {
  const aspect = uprightAspect(stream);
  const square = aspect === 1 ? '' : `scale=round(iw*${aspect}):ih,`;
  if (width !== undefined && height !== undefined)
    return `${fit === 'fill' ? '' : square}${fitted(fit, even(width), even(height))},setsar=1`;
  const shown = shownSize(stream);
  const stated = id !== 'mpeg2' || MPEG_RATIOS.some((ratio) => Math.abs(shown.width / shown.height - ratio) < 0.01);
  if (width === undefined && height === undefined) {
    const wide = aspect === 1 || stated ? 'iw' : `iw*${aspect}`;
    const [across, down] = ODD.has(id) ? [`trunc(${wide})`, 'ih'] : [`trunc(${wide}/2)*2`, 'trunc(ih/2)*2'];
    return `scale=${across}:${down},setsar=${stated ? `${aspect}${aspect === 1 ? '' : ':max=255'}` : 1}`;
  }
  return `${square}scale=${width === undefined ? -2 : even(width)}:${height === undefined ? -2 : even(height)},setsar=1`;
}

/** Stretched, cut to fill both sides, or whole with black bars. The frame's own sides are of square pixels. */
export function fitted(fit: NonNullable<Options['fit']>, width: number, height: number): string {
  const sides = `scale=${width}:${height}`;
  if (fit === 'fill') return sides;
  if (fit === 'cover') return `${sides}:force_original_aspect_ratio=increase,crop=${width}:${height}`;
  return `${sides}:force_original_aspect_ratio=decrease:force_divisible_by=2,pad=${width}:${height}:-1:-1:black`;
}

const soundSettings = (container: VideoContainer, stream: AudioStream, options: Options): AudioSettings => ({
  bitrate: options.audio_bitrate,
  rate: options.audio_rate,
  channels: Math.min(options.audio_channels ?? stream.channels, container.maxChannels ?? 8),
});

export function encodeSound(
  container: VideoContainer,
  stream: AudioStream,
  options: Options,
  place: number,
  level?: readonly string[],
): readonly string[] {
  const settings = { ...soundSettings(container, stream, options), level };
  // Each option names its stream, since others may be copied.
  return encodeAudio(container.sound, stream, settings).map((argument) =>
    /^-(c:a|b:a|q:a)$/.test(argument)
      ? `${argument}:${place}`
      : argument === '-af'
        ? `-filter:a:${place}`
        : /^-(ar|ac|sample_fmt)$/.test(argument)
          ? `${argument}:a:${place}`
          : argument,
  );
}

/** Subtitles that the target can contain, or that can be converted to its text format. */
function subtitlesFor({ subtitles }: Pick<MediaFacts, 'subtitles'>, { subtitles: row }: VideoContainer) {
  const args: string[] = [];
  let count = 0;
  if (row !== undefined)
    for (const { index, codec } of subtitles) {
      const holds = row.holds.includes(codec);
      if (!holds && !TEXT_SUBTITLES.has(codec)) continue;
      args.push('-map', `0:${index}`, `-c:s:${count}`, holds ? 'copy' : row.encoder);
      count++;
    }
  return { args, count };
}
