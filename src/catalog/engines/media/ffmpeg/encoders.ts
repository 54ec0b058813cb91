/** The encoders: what each supports, and its arguments for a quality. Presets favour speed, since clients wait for conversions. */
import type { EngineWarning } from '../../../engine.ts';
import type { AudioStream } from './streams.ts';

export interface AudioEncoder {
  readonly encoder: string;
  /** Sample rates that it supports, Hz, ascending; undefined: any. */
  readonly rates?: readonly number[];
  /** Hz, where any rate up to it is supported. */
  readonly maxRate?: number;
  readonly maxChannels: number;
  /** Channel layouts that it supports; undefined: any. */
  readonly layouts?: string;
  /** Arguments for a bit rate in kbit/s. */
  readonly bitrate?: (kbits: number, channels: number) => readonly string[];
  /** Arguments for the source's precision, of lossless encoders. */
  readonly precision?: (bits: number, float: boolean) => readonly string[];
}

const DEFAULT_BITRATE = 192;
export const MP3_RATES = [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000] as const;
const BROADCAST_RATES = [32_000, 44_100, 48_000] as const;
/** ATSC A/52, table 5.18, and ISO 11172-3 layer II; kbit/s. */
const AC3_BITRATES = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512] as const;
const MP2_BITRATES = [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384] as const;
const SURROUND = '7.1|5.1|5.0|quad|3.0|stereo|mono';

const plain = (kbits: number) => ['-b:a', `${kbits}k`];
const snapped = (table: readonly number[]) => (kbits: number) => plain(atLeast(table, kbits));

/** The lowest entry that is at least `value`, else the highest. @param table ascending */
export const atLeast = (table: readonly number[], value: number): number => table.find((entry) => entry >= value) ?? table.at(-1) ?? value;

/** Vorbis quality levels by bit rate, for stereo at 44.1 kHz: given a bit rate, libvorbis refuses many sample rates and channel counts. (xiph.org Vorbis FAQ) */
const VORBIS_QUALITY = [64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 500] as const;

const pcm = (ending: 'le' | 'be', eight: string): AudioEncoder => ({
  encoder: 'pcm',
  maxChannels: 8,
  precision: (bits, float) => [
    '-c:a',
    float && ending === 'le' ? 'pcm_f32le' : bits <= 8 ? eight : `pcm_s${bits <= 16 ? 16 : bits <= 24 ? 24 : 32}${ending}`,
  ],
});

/** For encoders that take samples of 16 or 32 bits. */
const depth = (wide: string, narrow: string) => (bits: number) =>
  bits > 16 ? ['-sample_fmt', wide, '-bits_per_raw_sample', `${Math.min(24, bits)}`] : ['-sample_fmt', narrow];

export const AUDIO_ENCODERS = {
  mp3: { encoder: 'libmp3lame', rates: MP3_RATES, maxChannels: 2, bitrate: (kbits) => plain(Math.min(kbits, 320)) },
  aac: {
    encoder: 'aac',
    rates: [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 64_000, 88_200, 96_000],
    maxChannels: 8,
    layouts: `${SURROUND}|4.0`,
    bitrate: plain,
  },
  opus: {
    encoder: 'libopus',
    rates: [48_000],
    maxChannels: 8,
    layouts: SURROUND,
    bitrate: (kbits, channels) => plain(Math.min(kbits, 256 * channels)),
  },
  vorbis: {
    encoder: 'libvorbis',
    maxRate: 192_000,
    maxChannels: 8,
    bitrate: (kbits) => ['-q:a', `${VORBIS_QUALITY.indexOf(atLeast(VORBIS_QUALITY, kbits) as 64)}`],
  },
  ac3: { encoder: 'ac3', rates: BROADCAST_RATES, maxChannels: 6, layouts: '5.1|5.0|quad|3.0|stereo|mono', bitrate: snapped(AC3_BITRATES) },
  eac3: {
    encoder: 'eac3',
    rates: BROADCAST_RATES,
    maxChannels: 6,
    layouts: '5.1|5.0|quad|3.0|stereo|mono',
    bitrate: snapped(AC3_BITRATES),
  },
  mp2: { encoder: 'mp2', rates: BROADCAST_RATES, maxChannels: 2, bitrate: snapped(MP2_BITRATES) },
  wma: { encoder: 'wmav2', rates: [8000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000], maxChannels: 2, bitrate: plain },
  speex: { encoder: 'libspeex', rates: [8000, 16_000, 32_000], maxChannels: 2 },
  flac: { encoder: 'flac', maxChannels: 8, precision: depth('s32', 's16') },
  alac: { encoder: 'alac', maxChannels: 8, precision: depth('s32p', 's16p') },
  wavpack: { encoder: 'wavpack', maxChannels: 8, precision: depth('s32p', 's16p') },
  tta: { encoder: 'tta', maxChannels: 8, precision: depth('s32', 's16') },
  pcmLittle: pcm('le', 'pcm_u8'),
  pcmBig: pcm('be', 'pcm_s8'),
  /** Voices of older machines: 16 bits, in stereo at most. */
  pcm16: { encoder: 'pcm', maxChannels: 2, precision: () => ['-c:a', 'pcm_s16le'] },
  pcm32: { encoder: 'pcm', maxChannels: 8, precision: () => ['-c:a', 'pcm_s32le'] },
  /** SMPTE 382M: 48 kHz. */
  pcmBroadcast: {
    encoder: 'pcm',
    rates: [48_000],
    maxChannels: 8,
    precision: (bits) => ['-c:a', bits <= 16 ? 'pcm_s16le' : 'pcm_s24le'],
  },
  gsm: { encoder: 'libgsm', rates: [8000], maxChannels: 1 },
  adx: { encoder: 'adpcm_adx', maxChannels: 2 },
  /** SWF file format 19, "SOUNDFORMAT": Flash plays no other rates. */
  mp3Flash: { encoder: 'libmp3lame', rates: [11_025, 22_050, 44_100], maxChannels: 2, bitrate: (kbits) => plain(Math.min(kbits, 320)) },
  /** AU has no 8-bit linear samples that readers agree on. */
  pcmAu: pcm('be', 'pcm_s16be'),
} as const satisfies Record<string, AudioEncoder>;

/** Layouts by number of channels that all encoders with `layouts` support. For three and four, FFmpeg's default (2.1, 4.0) suits none of them. */
const LAYOUTS: Readonly<Record<number, string>> = { 3: '3.0', 4: 'quad', 5: '5.0', 6: '5.1', 7: '6.1', 8: '7.1' };

export type AudioEncoderId = keyof typeof AUDIO_ENCODERS;

export interface AudioSettings {
  readonly rate?: number | undefined;
  readonly channels?: number | undefined;
  /** Bits per sample; undefined: the source's. */
  readonly depth?: number | undefined;
  /** kbit/s. */
  readonly bitrate?: number | undefined;
  /** Filters that bring it to a loudness; undefined: it stays as loud as it is. */
  readonly level?: readonly string[] | undefined;
}

/** @param channels of the source @param kept of the result */
export const mixed = (channels: number, kept: number): readonly EngineWarning[] =>
  kept < channels ? [{ code: 'lossy', message: `The ${channels} channels of the recording were mixed to ${kept}.` }] : [];

/**
 * FFmpeg mixes whole numbers 8 dB quieter than floats, so that nothing can be too loud: as floats, each target has the level of ITU-R BS.775, and
 * what would be too loud is limited.
 */
const mixTo = (layouts: string) => [
  'aresample=isf=fltp:rematrix_maxval=1000',
  `aformat=channel_layouts=${layouts}`,
  'alimiter=level=disabled:limit=0.98:latency=1',
];

/** What an encoder gets of a stream. */
function takenBy(row: AudioEncoder, stream: AudioStream, settings: AudioSettings) {
  const channels = Math.min(row.maxChannels, settings.channels ?? stream.channels);
  const wanted = Math.min(settings.rate ?? stream.rate, row.maxRate ?? Number.POSITIVE_INFINITY);
  const rate = row.rates === undefined ? wanted : atLeast(row.rates, wanted);
  const layout = channels === 1 ? 'mono' : channels === 2 ? 'stereo' : LAYOUTS[channels];
  const filters =
    channels < stream.channels && stream.channels > 2 && layout !== undefined
      ? mixTo(layout)
      : row.layouts !== undefined && channels > 2
        ? [`aformat=channel_layouts=${channels === stream.channels ? row.layouts : layout}`]
        : [];
  return { channels, rate, layout, filters };
}

/** Filters that make of a stream what its encoder gets, for those that change or measure how loud that is. */
export function asEncoded(id: AudioEncoderId, stream: AudioStream, settings: AudioSettings): readonly string[] {
  const { channels, rate, layout, filters } = takenBy(AUDIO_ENCODERS[id], stream, settings);
  const apart = filters.length === 0 && channels !== stream.channels && layout !== undefined ? [`aformat=channel_layouts=${layout}`] : [];
  return [...filters, ...apart, ...(rate === stream.rate ? [] : [`aresample=${rate}`])];
}

/** Samples a second of what is encoded. */
export const rateOf = (id: AudioEncoderId, stream: AudioStream, settings: AudioSettings): number =>
  takenBy(AUDIO_ENCODERS[id], stream, settings).rate;

/** Arguments that encode one audio stream. The source's rate, channels and precision are kept if the encoder supports them. */
export function encodeAudio(id: AudioEncoderId, stream: AudioStream, settings: AudioSettings): readonly string[] {
  const row: AudioEncoder = AUDIO_ENCODERS[id];
  const { channels, rate, filters: mix } = takenBy(row, stream, settings);
  const filters = settings.level === undefined ? mix : [...asEncoded(id, stream, settings), ...settings.level];
  return [
    ...(row.encoder === 'pcm' ? [] : ['-c:a', row.encoder]),
    ...(row.precision?.(settings.depth ?? stream.bits, settings.depth === undefined && stream.float) ?? []),
    ...(row.bitrate?.(settings.bitrate ?? DEFAULT_BITRATE, channels) ?? []),
    ...(rate === stream.rate ? [] : ['-ar', `${rate}`]),
    // Up to stereo always set, even if unchanged: some decoders (Speex) give no layout, which encoders refuse.
    ...(channels > 2 && (channels === stream.channels || row.layouts !== undefined) ? [] : ['-ac', `${channels}`]),
    // The filter changes a layout that the encoder lacks, such as 5.1(side), to the nearest one.
    ...(filters.length === 0 ? [] : ['-af', filters.join(',')]),
  ];
}

export type VideoEncoderId =
  | 'h264'
  | 'h265'
  | 'vp8'
  | 'vp9'
  | 'av1'
  | 'mpeg4'
  | 'mpeg2'
  | 'theora'
  | 'wmv2'
  | 'mpeg1'
  | 'mjpeg'
  | 'flv1'
  | 'raw';

/** H.264 quantisers double every six steps (ITU-T H.264, 8.5.9); older codecs use the quantiser step itself, 1 to 31. */
const quantiser = (crf: number): string => `${Math.min(31, Math.max(1, Math.round(2 ** ((crf - 11) / 6))))}`;
/** The scale of the VP and AV1 families goes to 63. */
const to63 = (crf: number): string => `${Math.round((crf * 63) / 51)}`;

/** With fewer keyframes, version 7.1 leaves frames out that are as those before them, and the end of a still scene with them. */
const THEORA = ['-c:v', 'libtheora', '-g', '4'];

/** Arguments for constant quality. @param crf 0 (best) to 51, on the scale of libx264 */
export const VIDEO_ENCODERS: Readonly<Record<VideoEncoderId, (crf: number) => readonly string[]>> = {
  h264: (crf) => ['-c:v', 'libx264', '-preset', 'veryfast', '-crf', `${crf}`],
  h265: (crf) => ['-c:v', 'libx265', '-preset', 'superfast', '-crf', `${crf}`, '-x265-params', 'log-level=error'],
  // A negative speed is fixed; a positive one follows the load of the machine, and with it the picture's quality.
  vp8: (crf) => ['-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '-8', '-crf', `${Math.max(4, Number(to63(crf)))}`, '-b:v', '20M'],
  vp9: (crf) => ['-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '6', '-row-mt', '1', '-crf', to63(crf), '-b:v', '0'],
  // SVT-AV1 takes 0 as "not set".
  av1: (crf) => ['-c:v', 'libsvtav1', '-preset', '10', '-crf', `${Math.max(1, Number(to63(crf)))}`],
  mpeg4: (crf) => ['-c:v', 'mpeg4', '-q:v', quantiser(crf)],
  mpeg2: (crf) => ['-c:v', 'mpeg2video', '-q:v', quantiser(crf)],
  theora: (crf) => [...THEORA, '-q:v', `${Math.round(10 - (crf * 10) / 51)}`],
  wmv2: (crf) => ['-c:v', 'wmv2', '-q:v', quantiser(crf)],
  mpeg1: (crf) => ['-c:v', 'mpeg1video', '-q:v', quantiser(crf)],
  mjpeg: (crf) => ['-c:v', 'mjpeg', '-q:v', quantiser(crf)],
  flv1: (crf) => ['-c:v', 'flv', '-q:v', quantiser(crf)],
  raw: () => ['-c:v', 'wrapped_avframe'],
};

/** The shortest side, px: below it SVT-AV1 and x265 refuse the picture, and FFmpeg cannot read Theora; 4:2:0 needs two anyway. */
export const LEAST_SIDES: Readonly<Partial<Record<VideoEncoderId, number>>> = { av1: 64, h265: 16, theora: 18 };

/** ffprobe's codec names for the output of these encoders. */
export const CODEC_NAMES: Readonly<Record<VideoEncoderId, string>> = {
  h264: 'h264',
  h265: 'hevc',
  vp8: 'vp8',
  vp9: 'vp9',
  av1: 'av1',
  mpeg4: 'mpeg4',
  mpeg2: 'mpeg2video',
  theora: 'theora',
  wmv2: 'wmv2',
  mpeg1: 'mpeg1video',
  mjpeg: 'mjpeg',
  flv1: 'flv1',
  raw: 'wrapped_avframe',
};

/** Codecs whose name in ffprobe differs from our encoder id. */
const SOUND_NAMES: readonly (readonly [RegExp, AudioEncoderId])[] = [
  [/^wmav[12]$/, 'wma'],
  [/^pcm_(u8|[sf]\d+le)$/, 'pcmLittle'],
  [/^pcm_s\d+be$/, 'pcmBig'],
];

/** The encoder of this codec; undefined if we have none. */
export function encoderOfSound(codec: string): AudioEncoderId | undefined {
  if (codec in AUDIO_ENCODERS) return codec as AudioEncoderId;
  return SOUND_NAMES.find(([pattern]) => pattern.test(codec))?.[1];
}

/** The encoder of this codec; undefined if we have none. */
export const encoderOfPicture = (codec: string): VideoEncoderId | undefined =>
  (Object.keys(CODEC_NAMES) as VideoEncoderId[]).find((id) => CODEC_NAMES[id] === codec);

/** Encoders without a second pass, or with other options for it. */
const ONE_PASS: ReadonlySet<VideoEncoderId> = new Set(['h265', 'av1', 'vp8', 'vp9']);
export const inTwoPasses = (id: VideoEncoderId): boolean => !ONE_PASS.has(id);

/** Arguments for a bit rate, kbit/s. Bursts may take half as much again, over two seconds. */
export function encodeAtRate(id: VideoEncoderId, kbits: number): readonly string[] {
  const rate = ['-b:v', `${kbits}k`];
  const bursts = ['-maxrate', `${Math.round(kbits * 1.5)}k`, '-bufsize', `${kbits * 2}k`];
  switch (id) {
    case 'h264':
      return ['-c:v', 'libx264', '-preset', 'veryfast', ...rate, ...bursts];
    case 'h265':
      return ['-c:v', 'libx265', '-preset', 'superfast', ...rate, ...bursts, '-x265-params', 'log-level=error'];
    case 'vp8':
      return ['-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '4', ...rate];
    case 'vp9':
      return ['-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '6', '-row-mt', '1', ...rate];
    case 'av1':
      return ['-c:v', 'libsvtav1', '-preset', '10', ...rate];
    case 'theora':
      return [...THEORA, ...rate];
    default:
      return ['-c:v', CODEC_NAMES[id], ...rate];
  }
}
