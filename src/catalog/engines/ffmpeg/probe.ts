/** What ffprobe is asked before planning, and what its answer must keep to. */
import { z } from 'zod';
import { conversionFailed, inputLimit } from '../../../errors.ts';
import type { Facts, ProcessStep } from '../../engine.ts';
import { DEMUXERS } from './containers.ts';
import type { AudioStream, Common, MediaFacts, VideoStream } from './streams.ts';

const MAX_SECONDS = 6 * 3600;
const MAX_PIXELS = 100_000_000;
const MAX_STREAMS = 64;
const MAX_CHANNELS = 64;

/** Reading is confined to this demuxer, also where one would open another for streams within. */
export function readArguments(source: string): readonly string[] {
  const demuxer = DEMUXERS[source] ?? source;
  return ['-protocol_whitelist', 'file,pipe', '-format_whitelist', demuxer, '-f', demuxer];
}

const ENTRIES = [
  'format=duration',
  'stream=index,codec_name,codec_type,width,height,avg_frame_rate,r_frame_rate,sample_rate,sample_fmt,channels,bits_per_raw_sample,bits_per_sample,has_b_frames',
  'stream_disposition=attached_pic',
  'stream_side_data=rotation',
  'stream_tags=rotate',
].join(':');

export const probeStep = (input: string, { source }: { readonly source: string }): ProcessStep => ({
  run: 'ffprobe',
  args: ['-v', 'error', '-hide_banner', ...readArguments(source), '-print_format', 'json', '-show_entries', ENTRIES, '-i', input],
});

const count = z.coerce.number().catch(0).default(0);
const ANSWER = z.object({
  format: z.object({ duration: z.coerce.number().optional().catch(undefined) }).default({}),
  streams: z
    .array(
      z.object({
        index: z.number(),
        codec_name: z.string().default('unknown'),
        codec_type: z.string().default('unknown'),
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
        disposition: z.object({ attached_pic: count }).optional(),
        side_data_list: z.array(z.object({ rotation: count })).default([]),
        tags: z.object({ rotate: count }).optional(),
      }),
    )
    .default([]),
});
type Stream = z.output<typeof ANSWER>['streams'][number];

/** @throws Failure `CONVERSION_FAILED` where a bound is broken or the answer is none */
export function readProbe(stdout: string): Facts {
  const read = ANSWER.safeParse(parsed(stdout));
  if (!read.success) throw conversionFailed('corrupt_input', { cause: read.error });
  const { format, streams } = read.data;
  within('streams', MAX_STREAMS, streams.length);
  within('seconds', MAX_SECONDS, format.duration ?? 0);
  for (const stream of streams) {
    within('pixels', MAX_PIXELS, stream.width * stream.height);
    within('channels', MAX_CHANNELS, stream.channels);
  }
  const isCover = (stream: Stream) => stream.disposition?.attached_pic === 1;
  const ofType = (type: string) => streams.filter((stream) => stream.codec_type === type);
  const pictures = ofType('video');
  const facts: MediaFacts = {
    duration: format.duration,
    video: pictures.filter((stream) => !isCover(stream) && stream.width > 0).map(videoStream),
    audio: ofType('audio')
      .filter((stream) => stream.channels > 0 && stream.sample_rate > 0)
      .map(audioStream),
    subtitles: ofType('subtitle').map(common),
    covers: pictures.filter(isCover).map(common),
    others: streams.filter(({ codec_type: type }) => !['video', 'audio', 'subtitle'].includes(type)).length,
  };
  return { media: facts };
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

const videoStream = (stream: Stream): VideoStream => ({
  ...common(stream),
  width: stream.width,
  height: stream.height,
  fps: fraction(stream.avg_frame_rate) || fraction(stream.r_frame_rate),
  rotated: [stream.tags?.rotate ?? 0, ...stream.side_data_list.map(({ rotation }) => rotation)].some((degrees) => degrees % 360 !== 0),
  reordered: stream.has_b_frames > 0,
});

function audioStream(stream: Stream): AudioStream {
  const lossless = /^(pcm_|flac|alac|wavpack|tta|truehd|mlp|ape)/.test(stream.codec_name);
  return {
    ...common(stream),
    rate: stream.sample_rate,
    channels: stream.channels,
    bits: lossless ? stream.bits_per_raw_sample || stream.bits_per_sample || 16 : 16,
    float: stream.codec_name.startsWith('pcm_f'),
  };
}

function fraction(text: string): number {
  const [over = 0, under = 0] = text.split('/').map(Number);
  return under > 0 ? over / under : 0;
}
