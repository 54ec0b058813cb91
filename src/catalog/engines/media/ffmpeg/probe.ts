/** Inspects a recording with ffprobe before planning, and enforces bounds. */

import { z } from 'zod';
import { conversionFailed, inputLimit } from '../../../../errors.ts';
import { MAX_PIXELS, MAX_SECONDS } from '../../../bounds.ts';
import type { Facts, ProcessStep } from '../../../engine.ts';
import { ANIMATIONS, DEMUXERS, PICTURE_DEMUXERS } from './containers.ts';
import type { AudioStream, Common, MediaFacts, VideoStream } from './streams.ts';

const MAX_STREAMS = 64;
const MAX_CHANNELS = 64;

/** Browsers show a frame of an animation for a tenth of a second where it says a hundredth or less. */
const QUICK = ['-max_fps', '99', '-default_fps', '10'] as const;

/** Restricts reading to this demuxer, even where it would open another for nested streams. */
export function demuxerArguments(source: string): readonly string[] {
  const demuxer = DEMUXERS[source] ?? PICTURE_DEMUXERS[source] ?? source;
  const among = ['-protocol_whitelist', 'file,pipe', '-format_whitelist', demuxer];
  // Among several, FFmpeg's detection chooses one, and refuses the file if it finds anything else.
  return demuxer.includes(',') ? among : [...among, '-f', demuxer, ...(demuxer === 'apng' ? QUICK : [])];
}

const ENTRIES = [
  'format=duration,format_name',
  'stream=index,codec_name,codec_type,pix_fmt,width,height,avg_frame_rate,r_frame_rate,sample_rate,sample_fmt,channels,bits_per_raw_sample,bits_per_sample,has_b_frames,sample_aspect_ratio,bit_rate,duration,color_transfer,color_space,color_primaries,field_order',
  'stream_disposition=attached_pic',
  'stream_side_data=rotation',
  'stream_tags=rotate,DURATION,alpha_mode,title,artist,album',
  'format_tags=title,artist,album',
  'chapter=start_time',
  'chapter_tags=title',
].join(':');

/** Also tells how long each frame of an animation is shown; their number has a bound (`planning/frames.ts`). */
export const probeStep = (input: string, { source }: Source): ProcessStep =>
  ask(input, source, ANIMATIONS.has(source) ? `${ENTRIES}:packet=duration_time` : ENTRIES);

/** Also decodes the first frame, which alone has a photo's orientation. */
export const probePicture = (input: string, { source }: Source): ProcessStep =>
  ask(input, source, `${ENTRIES}:frame_side_data=rotation`, '-read_intervals', '%+#1');

type Source = { readonly source: string };

const ask = (input: string, source: string, entries: string, ...more: readonly string[]): ProcessStep => ({
  run: 'ffprobe',
  args: [
    '-v',
    'error',
    '-hide_banner',
    ...demuxerArguments(source),
    '-print_format',
    'json=c=1',
    '-show_entries',
    entries,
    ...more,
    '-i',
    input,
  ],
});

const count = z.coerce.number().catch(0).default(0);
const turns = z.array(z.object({ rotation: count })).default([]);
/** Names have any case: `TITLE` in Matroska, `title` in MP4. */
const titles = z.record(z.string(), z.string()).default({});
const ANSWER = z.object({
  frames: z.array(z.object({ side_data_list: turns })).default([]),
  packets: z.array(z.object({ duration_time: count })).default([]),
  format: z
    .object({ duration: z.coerce.number().optional().catch(undefined), format_name: z.string().default(''), tags: titles })
    .default({ format_name: '', tags: {} }),
  chapters: z.array(z.object({ start_time: count, tags: titles })).default([]),
  streams: z
    .array(
      z.object({
        index: z.number(),
        codec_name: z.string().default('unknown'),
        codec_type: z.string().default('unknown'),
        pix_fmt: z.string().default(''),
        width: count,
        height: count,
        avg_frame_rate: z.string().default('0/0'),
        r_frame_rate: z.string().default('0/0'),
        sample_rate: count,
        sample_fmt: z.string().default(''),
        channels: count,
        bits_per_raw_sample: count,
        bits_per_sample: count,
        has_b_frames: count,
        sample_aspect_ratio: z.string().default('1:1'),
        bit_rate: count,
        duration: count,
        disposition: z.object({ attached_pic: count }).optional(),
        side_data_list: turns,
        color_transfer: z.string().default(''),
        color_space: z.string().default('unknown'),
        color_primaries: z.string().default(''),
        field_order: z.string().default(''),
        tags: titles,
      }),
    )
    .default([]),
});
type Stream = z.output<typeof ANSWER>['streams'][number];

/** @throws Failure `CONVERSION_FAILED` if a bound is exceeded or the output is invalid */
export function readProbe(stdout: string): Facts {
  const read = ANSWER.safeParse(parsed(stdout));
  if (!read.success) throw conversionFailed('corrupt_input', { cause: read.error });
  const { format, streams, frames, packets, chapters } = read.data;
  within('streams', MAX_STREAMS, streams.length);
  const { seconds, shown } = timesOf(packets);
  // FFmpeg counts three bytes a sample, which has four.
  const isMiscounted = streams.some(({ codec_name: codec }) => codec === WIDE_SAMPLES);
  const duration = isMiscounted ? undefined : (format.duration ?? seconds);
  within('seconds', MAX_SECONDS, duration ?? 0);
  for (const stream of streams) {
    within('pixels', MAX_PIXELS, stream.width * stream.height);
    within('channels', MAX_CHANNELS, stream.channels);
  }
  const isCover = (stream: Stream) => stream.disposition?.attached_pic === 1 || isCoverOfAsf(format.format_name, stream);
  const ofType = (type: string) => streams.filter((stream) => stream.codec_type === type);
  const pictures = ofType('video');
  const facts: MediaFacts = {
    duration,
    video: pictures
      .filter((stream) => !isCover(stream) && stream.width > 0)
      .map((stream) => ({ ...videoStream(stream, frames[0]), ...(shown && { shown, fps: shown.rate }) })),
    audio: ofType('audio')
      .filter((stream) => stream.channels > 0 && stream.sample_rate > 0)
      .map(audioStream),
    subtitles: ofType('subtitle').map(common),
    covers: pictures.filter(isCover).map(common),
    others: streams.filter(({ codec_type: type }) => !['video', 'audio', 'subtitle'].includes(type)).length,
    attachments: ofType('attachment').map(common),
    tags: titlesIn(format.format_name, [format.tags, ...streams.map(({ tags }) => tags)]),
    chapters: chapters.length,
    marks: chapters.map(({ start_time: seconds, tags }) => ({ seconds, title: tags['title'] ?? tags['TITLE'] ?? '' })),
  };
  return { media: facts };
}

/** FFmpeg's writer of ASF makes a film of a cover, which has no rate. */
const isCoverOfAsf = (format: string, { codec_name: codec, avg_frame_rate: rate }: Stream): boolean =>
  format === 'asf' && rate === '0/0' && (codec === 'mjpeg' || codec === 'png');

/** A stream's own title is the name of a track, such as `Commentary`: only Ogg has those of the file there. */
function titlesIn(format: string, [file = {}, ...streams]: readonly Readonly<Record<string, string>>[]): readonly string[] {
  const named = (tags: Readonly<Record<string, string>>) =>
    TITLES.filter((name) => tags[name] !== undefined || tags[name.toUpperCase()] !== undefined);
  const own = named(file);
  return own.length > 0 ? own : (streams.map(named).find((names) => names.some((name) => format === 'ogg' || name !== 'title')) ?? []);
}

const TITLES = ['title', 'artist', 'album'];
/** What a display without high dynamic range does not show as it is (ITU-R BT.2100). */
const HIGH_RANGE: ReadonlySet<string> = new Set(['smpte2084', 'arib-std-b67']);
/** A frame has two fields, in any order; `progressive` and `unknown` are none of these. */
const FIELDS: ReadonlySet<string> = new Set(['tt', 'bb', 'tb', 'bt']);

/** Frames of a video: for each frame of an animation, and at least. */
const [MADE_OF_EACH, LEAST_MADE] = [4, 1500];
/** Seconds: thirtieths, of which the last digits are lost, are still taken for equal. */
const TOLERANCE = 1e-4;

/** Codecs of broadcasts and cameras. */
const WITH_FIELDS: ReadonlySet<string> = new Set(['mpeg2video', 'h264', 'vc1', 'dvvideo', 'mpeg4']);
const UNTOLD: ReadonlySet<string> = new Set(['unknown', 'reserved', '']);
const BESIDE: ReadonlySet<string> = new Set(['vp8', 'vp9']);

/**
 * The rate at which each frame of an animation has its time; a lower one where a slide show would become thousands of frames for one odd time.
 * FFmpeg's own guess takes frames of 100 and 60 ms for some of 60 each, and two frames for 100,000 a second.
 * @returns nothing where it is no animation
 */
function timesOf(packets: readonly { readonly duration_time: number }[]): Pick<VideoStream, 'shown'> & { readonly seconds?: number } {
  const times = packets.map(({ duration_time: seconds }) => seconds);
  const each = times.reduce(commonDivisor, 0);
  if (each <= 0) return {};
  const seconds = Number(times.reduce((sum, time) => sum + time, 0).toFixed(3));
  const most = Math.max(1, Math.max(LEAST_MADE, MADE_OF_EACH * times.length) / seconds);
  return { seconds, shown: { times, rate: Math.min(1 / each, most) } };
}

/** Euclid's, for times that are not exact. */
function commonDivisor(one: number, other: number): number {
  let [larger, smaller] = one > other ? [one, other] : [other, one];
  while (smaller > TOLERANCE) {
    const rest = larger % smaller;
    [larger, smaller] = [smaller, smaller - rest < TOLERANCE ? 0 : rest];
  }
  return larger;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function within(limit: string, max: number, received: number): void {
  if (received > max) throw inputLimit(limit, max, Math.ceil(received));
}

const common = ({ index, codec_name: codec }: Stream): Common => ({ index, codec });

function videoStream(stream: Stream, frame: Pick<Stream, 'side_data_list'> | undefined): VideoStream {
  const sideData = [...stream.side_data_list, ...(frame?.side_data_list ?? [])];
  const turns = [Number(stream.tags['rotate']) || 0, ...sideData.map(({ rotation }) => rotation)];
  return {
    ...common(stream),
    pixels: stream.pix_fmt,
    width: stream.width,
    height: stream.height,
    fps: fraction(stream.avg_frame_rate) || fraction(stream.r_frame_rate),
    rotated: turns.some((degrees) => degrees % 360 !== 0),
    upended: turns.some((degrees) => Math.abs(degrees) % 180 === 90),
    aspect: aspectOf(stream),
    reordered: stream.has_b_frames > 0,
    seconds: stream.duration || tagged(stream.tags['DURATION']),
    transfer: HIGH_RANGE.has(stream.color_transfer) ? stream.color_transfer : undefined,
    matrix: UNTOLD.has(stream.color_space) ? undefined : stream.color_space,
    wide: stream.color_primaries === 'bt2020',
    interlaced: FIELDS.has(stream.field_order),
    mayInterlace: WITH_FIELDS.has(stream.codec_name),
    alphaBeside: BESIDE.has(stream.codec_name) && (stream.tags['alpha_mode'] ?? stream.tags['ALPHA_MODE']) === '1',
  };
}

/** The pixel aspect ratio; one beyond any real video is an error in the file, and becomes 1. */
function aspectOf({ sample_aspect_ratio: text }: Stream): number {
  const ratio = fraction(text.replace(':', '/'));
  return ratio >= 0.1 && ratio <= 10 ? ratio : 1;
}

/** Parses the length of a stream as Matroska writes it, with nine decimals. */
function tagged(text: string | undefined): number | undefined {
  const match = /^(\d+):(\d\d):(\d\d(?:\.\d+)?)$/.exec(text ?? '');
  return match === null ? undefined : Number(match[1]) * 3600 + Number(match[2]) * 60 + Number(match[3]);
}

/** FFmpeg's name for 24 bits in 32: floats in a WAV of Cool Edit's, and whole numbers in every other (`planning/recordings/wave.ts`). */
const WIDE_SAMPLES = 'pcm_f24le';

function audioStream(stream: Stream): AudioStream {
  const lossless = /^(pcm_|flac|alac|wavpack|tta|truehd|mlp|ape)/.test(stream.codec_name);
  return {
    ...common(stream),
    rate: stream.sample_rate,
    channels: stream.channels,
    bits: stream.codec_name === WIDE_SAMPLES ? 24 : lossless ? stream.bits_per_raw_sample || stream.bits_per_sample || 16 : 16,
    float: stream.codec_name.startsWith('pcm_f') && stream.codec_name !== WIDE_SAMPLES,
    lossless,
    bitrate: stream.bit_rate > 0 ? stream.bit_rate / 1000 : undefined,
  };
}

function fraction(text: string): number {
  const [over = 0, under = 0] = text.split('/').map(Number);
  return under > 0 ? over / under : 0;
}
