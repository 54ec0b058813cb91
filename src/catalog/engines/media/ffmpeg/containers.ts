/** Audio and video containers: how FFmpeg reads and writes each, and which codecs it can copy into them. */
import type { AudioEncoderId, VideoEncoderId } from './encoders.ts';

// biome-ignore format: a table
/**
 * The demuxer of each source. Always set: FFmpeg's own detection also accepts playlists, which open other files.
 * `.mpg` is a program stream, or a video stream without any container; Musepack has two versions, with a demuxer each.
 */
export const DEMUXERS: Readonly<Record<string, string>> = {
  mp3: 'mp3', wav: 'wav', flac: 'flac', ogg: 'ogg', opus: 'ogg', m4a: 'mov', m4b: 'mov', aac: 'aac', ac3: 'ac3', eac3: 'eac3',
  aiff: 'aiff', wma: 'asf', mka: 'matroska', au: 'au', caf: 'caf', amr: 'amr', wv: 'wv', tta: 'tta', mp2: 'mp3', w64: 'w64', spx: 'ogg',
  dts: 'dts', thd: 'truehd', mlp: 'mlp', mpc: 'mpc,mpc8', ape: 'ape', dsf: 'dsf', dff: 'iff', voc: 'voc', gsm: 'gsm', sox: 'sox', sf: 'ircam', adx: 'adx',
  '8svx': 'iff', avr: 'avr', sph: 'nistsphere', pvf: 'pvf', hcom: 'hcom', mod: 'libopenmpt', xm: 'libopenmpt',
  mp4: 'mov', m4v: 'mov', mov: 'mov', mkv: 'matroska', webm: 'matroska', avi: 'avi', flv: 'flv', wmv: 'asf', mpg: 'mpeg,mpegvideo', ts: 'mpegts',
  '3gp': 'mov', '3g2': 'mov', ogv: 'ogg', m2ts: 'mpegts', m2v: 'mpegvideo', m1v: 'mpegvideo', f4v: 'mov', mxf: 'mxf', dv: 'dv', gxf: 'gxf', nut: 'nut',
  ivf: 'ivf', y4m: 'yuv4mpegpipe', swf: 'swf', rm: 'rm', wtv: 'wtv', h264: 'h264', hevc: 'hevc', obu: 'obu', amv: 'avi', roq: 'roq', flc: 'flic',
  smj: 'smjpeg', cpk: 'film_cpk', ismv: 'mov', h261: 'h261', h263: 'h263', m4e: 'm4v', mj2: 'mov', gif: 'gif', apng: 'apng', srt: 'srt', vtt: 'webvtt', ass: 'ass', sub: 'microdvd',
};

// biome-ignore format: a table
/** Pictures that FFmpeg reads correctly as one frame, and their demuxers. */
export const PICTURE_DEMUXERS: Readonly<Record<string, string>> = {
  png: 'png_pipe', jpg: 'jpeg_pipe', webp: 'webp_pipe', gif: 'gif', tiff: 'tiff_pipe', bmp: 'bmp_pipe', jp2: 'j2k_pipe', jxl: 'jpegxl_pipe',
  ppm: 'ppm_pipe', pgm: 'pgm_pipe', pbm: 'pbm_pipe', pam: 'pam_pipe', pcx: 'pcx_pipe', psd: 'psd_pipe', xbm: 'xbm_pipe', xpm: 'xpm_pipe',
  exr: 'exr_pipe', qoi: 'qoi_pipe', jls: 'jpegls_pipe', dds: 'dds_pipe', sgi: 'sgi_pipe', ras: 'sunrast_pipe', dpx: 'dpx_pipe', fits: 'fits',
};

/** Animated pictures, of which each frame says how long it is shown. */
export const ANIMATIONS: ReadonlySet<string> = new Set(['gif', 'apng']);

/** Videos that never have sound. */
export const SILENT: ReadonlySet<string> = new Set(['m2v', 'm1v', 'ivf', 'y4m', 'h264', 'hevc', 'obu', 'flc', 'h261', 'h263', 'm4e']);

/** Streams without timestamps: they are encoded again, since a container needs to know when each frame is shown. */
export const UNTIMED: ReadonlySet<string> = new Set(['m2v', 'm1v', 'h264', 'hevc', 'obu', 'h261', 'h263', 'm4e']);

/** Streams that state no frame rate: an animation of few frames would be over at once. */
export const RATELESS: ReadonlySet<string> = new Set(['obu', 'mjpeg']);

export interface AudioContainer {
  readonly muxer: readonly string[];
  /** Codecs that it can contain, as ffprobe names them. */
  readonly holds: readonly string[];
  readonly encode: AudioEncoderId;
  /** How it contains a cover picture: as a stream that FFmpeg copies, in a comment (RFC 9639, 8.8), or as an attached file. */
  readonly cover?: 'stream' | 'comment' | 'attachment';
  /** It keeps chapters in comments, which FFmpeg writes late by up to a second, or not at all (wiki.xiph.org/Chapter_Extension). */
  readonly marks?: true;
  /** Its header has the number of samples: a part copied out of it would claim the length of the whole. */
  readonly counts?: true;
  readonly loses?: readonly string[];
}

const PCM_LITTLE = ['pcm_u8', 'pcm_s16le', 'pcm_s24le', 'pcm_s32le', 'pcm_f32le', 'pcm_f64le'] as const;
const PCM_BIG = ['pcm_s16be', 'pcm_s24be', 'pcm_s32be'] as const;

/** An ID3v2.3 tag is what every player reads. */
const MP3 = ['-f', 'mp3', '-id3v2_version', '3'];

export const AUDIO: Readonly<Record<string, AudioContainer>> = {
  mp3: { muxer: MP3, holds: ['mp3'], encode: 'mp3', cover: 'stream' },
  wav: { muxer: ['-f', 'wav', '-rf64', 'auto'], holds: PCM_LITTLE, encode: 'pcmLittle' },
  flac: { muxer: ['-f', 'flac'], holds: ['flac'], encode: 'flac', cover: 'stream', marks: true, counts: true },
  ogg: { muxer: ['-f', 'ogg'], holds: ['vorbis', 'opus', 'flac', 'speex'], encode: 'vorbis', cover: 'comment', marks: true },
  opus: { muxer: ['-f', 'opus'], holds: ['opus'], encode: 'opus', cover: 'comment', marks: true },
  m4a: { muxer: ['-f', 'ipod', '-movflags', '+faststart'], holds: ['aac', 'alac', 'ac3'], encode: 'aac', cover: 'stream' },
  m4b: { muxer: ['-f', 'ipod', '-movflags', '+faststart'], holds: ['aac', 'alac', 'ac3'], encode: 'aac', cover: 'stream' },
  aac: { muxer: ['-f', 'adts'], holds: ['aac'], encode: 'aac' },
  ac3: { muxer: ['-f', 'ac3'], holds: ['ac3'], encode: 'ac3' },
  eac3: { muxer: ['-f', 'eac3'], holds: ['eac3'], encode: 'eac3' },
  // Titles that AIFF has no chunk for go into a tag of ID3.
  aiff: { muxer: ['-write_id3v2', '1', '-f', 'aiff'], holds: PCM_BIG, encode: 'pcmBig', cover: 'stream' },
  wma: { muxer: ['-f', 'asf'], holds: ['wmav1', 'wmav2', 'wmapro', 'wmalossless'], encode: 'wma' },
  mka: {
    muxer: ['-f', 'matroska'],
    holds: [...PCM_LITTLE, 'aac', 'mp3', 'mp2', 'ac3', 'eac3', 'flac', 'opus', 'vorbis', 'tta', 'wavpack', 'dts', 'truehd', 'alac'],
    encode: 'flac',
    cover: 'attachment',
  },
  au: { muxer: ['-f', 'au'], holds: [...PCM_BIG, 'pcm_mulaw', 'pcm_alaw'], encode: 'pcmAu' },
  caf: { muxer: ['-f', 'caf'], holds: [...PCM_LITTLE.filter((codec) => codec !== 'pcm_u8'), ...PCM_BIG, 'alac'], encode: 'pcmLittle' },
  wv: { muxer: ['-f', 'wv'], holds: ['wavpack'], encode: 'wavpack', counts: true },
  tta: { muxer: ['-f', 'tta'], holds: ['tta'], encode: 'tta', counts: true },
  mp2: { muxer: ['-f', 'mp2'], holds: ['mp2'], encode: 'mp2' },
  w64: { muxer: ['-f', 'w64'], holds: PCM_LITTLE, encode: 'pcmLittle' },
  spx: { muxer: ['-f', 'spx'], holds: ['speex'], encode: 'speex', marks: true, loses: ['everything above 16 kHz'] },
  voc: { muxer: ['-f', 'voc'], holds: ['pcm_u8', 'pcm_s16le'], encode: 'pcm16' },
  gsm: { muxer: ['-f', 'gsm'], holds: ['gsm'], encode: 'gsm', loses: ['everything above 4 kHz'] },
  sox: { muxer: ['-f', 'sox'], holds: ['pcm_s32le'], encode: 'pcm32' },
  sf: { muxer: ['-f', 'ircam'], holds: ['pcm_s16le', 'pcm_f32le'], encode: 'pcm16' },
  adx: { muxer: ['-f', 'adx'], holds: ['adpcm_adx'], encode: 'adx', counts: true },
};

export interface VideoContainer {
  readonly muxer: readonly string[];
  /** Codecs that it can contain, as ffprobe names them. */
  readonly video: readonly string[];
  readonly audio: readonly string[];
  /** Encoders for streams that it cannot contain: the first, unless `video_codec` names another. */
  readonly encoders: readonly VideoEncoderId[];
  readonly sound: AudioEncoderId;
  readonly maxChannels?: number;
  /** It holds pictures alone. */
  readonly silent?: true;
  /** Any number of streams; otherwise one video and one sound. */
  readonly many?: true;
  /** Subtitle codecs that it can contain, and the encoder for other text subtitles. */
  readonly subtitles?: { readonly holds: readonly string[]; readonly encoder: string };
  /** Streams of any codec that came from this container can be copied back into it. */
  readonly takesBack?: true;
  /** It can contain a cover picture. */
  readonly cover?: true;
  /** It can store a rotation instead of rotated pixels. */
  readonly rotation?: true;
  /** Frame rates that it supports, ascending; undefined: any. */
  readonly rates?: readonly number[];
  /** Further arguments for encoded video. */
  readonly encode?: readonly string[];
}

const ISO_AUDIO = ['aac', 'mp3', 'ac3', 'eac3', 'alac'] as const;
const MOV_TEXT = { holds: ['mov_text'], encoder: 'mov_text' } as const;
const ISO = {
  video: ['h264', 'hevc', 'av1', 'vp9', 'mpeg4'],
  audio: [...ISO_AUDIO, 'opus'],
  encoders: ['h264', 'h265', 'av1', 'vp9', 'mpeg4'],
  sound: 'aac',
  many: true,
  subtitles: MOV_TEXT,
  cover: true,
  rotation: true,
} as const;
/** The index goes to the front, so that a player can start before the last byte. */
const FAST = ['-movflags', '+faststart'] as const;
/** ISO 13818-2, table 6-4. */
const MPEG_RATES = [24_000 / 1001, 24, 25, 30_000 / 1001, 30, 50, 60_000 / 1001, 60] as const;

/** Raw streams. They cannot state a rotation either. */
const PICTURES_ALONE = { audio: [], sound: 'aac', silent: true } as const;

export const VIDEO: Readonly<Record<string, VideoContainer>> = {
  // Tape and broadcast formats have timecodes, whose track belongs to QuickTime.
  mp4: { ...ISO, muxer: ['-f', 'mp4', '-write_tmcd', '0', ...FAST] },
  m4v: { ...ISO, muxer: ['-f', 'mp4', '-write_tmcd', '0', ...FAST] },
  mov: {
    ...ISO,
    muxer: ['-f', 'mov', ...FAST],
    video: ['h264', 'hevc', 'mpeg4', 'prores', 'mjpeg', 'dnxhd', 'mpeg2video'],
    audio: [...ISO_AUDIO, ...PCM_LITTLE, ...PCM_BIG],
    takesBack: true,
    encoders: ['h264', 'h265', 'mpeg4'],
  },
  mkv: {
    muxer: ['-f', 'matroska'],
    takesBack: true,
    video: [
      'h264',
      'hevc',
      'av1',
      'vp8',
      'vp9',
      'mpeg4',
      'mpeg1video',
      'mpeg2video',
      'theora',
      'mjpeg',
      'prores',
      'ffv1',
      'vc1',
      'wmv3',
      'msmpeg4v3',
    ],
    audio: AUDIO['mka']?.holds ?? [],
    encoders: ['h264', 'h265', 'vp8', 'vp9', 'av1', 'mpeg4', 'mpeg2', 'theora'],
    sound: 'aac',
    many: true,
    subtitles: { holds: ['subrip', 'ass', 'webvtt', 'hdmv_pgs_subtitle', 'dvd_subtitle', 'dvb_subtitle'], encoder: 'srt' },
  },
  webm: {
    muxer: ['-f', 'webm'],
    video: ['vp8', 'vp9', 'av1'],
    audio: ['vorbis', 'opus'],
    encoders: ['vp9', 'vp8', 'av1'],
    sound: 'opus',
    many: true,
    subtitles: { holds: ['webvtt'], encoder: 'webvtt' },
  },
  avi: {
    muxer: ['-f', 'avi'],
    takesBack: true,
    video: ['mpeg4', 'msmpeg4v3', 'msmpeg4v2', 'mjpeg', 'h263'],
    audio: ['mp3', 'ac3', 'mp2', 'pcm_s16le', 'pcm_u8'],
    encoders: ['mpeg4', 'h264'],
    sound: 'mp3',
    many: true,
    // Without the usual tag some players refuse the file.
    encode: ['-vtag', 'xvid'],
  },
  flv: { muxer: ['-f', 'flv'], video: ['h264', 'flv1', 'vp6f'], audio: ['aac', 'mp3'], encoders: ['h264'], sound: 'aac', maxChannels: 2 },
  wmv: {
    muxer: ['-f', 'asf'],
    takesBack: true,
    video: ['wmv1', 'wmv2', 'wmv3', 'vc1', 'msmpeg4v3'],
    audio: ['wmav1', 'wmav2', 'wmapro'],
    encoders: ['wmv2'],
    sound: 'wma',
  },
  mpg: {
    muxer: ['-f', 'vob'],
    video: ['mpeg2video', 'mpeg1video'],
    audio: ['mp2', 'ac3'],
    encoders: ['mpeg2'],
    sound: 'mp2',
    rates: MPEG_RATES,
    encode: ['-maxrate', '15M', '-bufsize', '1835k'],
  },
  ts: {
    muxer: ['-f', 'mpegts'],
    takesBack: true,
    video: ['h264', 'hevc', 'mpeg2video', 'mpeg1video'],
    audio: ['aac', 'mp3', 'mp2', 'ac3', 'eac3'],
    encoders: ['h264', 'h265', 'mpeg2'],
    sound: 'aac',
    many: true,
  },
  '3gp': {
    muxer: ['-f', '3gp', ...FAST],
    video: ['h264', 'mpeg4', 'h263'],
    audio: ['aac', 'amr_nb', 'amr_wb'],
    encoders: ['h264', 'mpeg4'],
    sound: 'aac',
    maxChannels: 2,
    rotation: true,
  },
  // Theora stores a repeated frame as an empty packet, which a copy into Ogg drops: the video would end early.
  ogv: { muxer: ['-f', 'ogv'], video: [], audio: ['vorbis', 'opus', 'flac'], encoders: ['theora'], sound: 'vorbis' },
  m2ts: {
    muxer: ['-f', 'mpegts', '-mpegts_m2ts_mode', '1'],
    video: ['h264', 'hevc', 'mpeg2video'],
    audio: ['ac3', 'eac3', 'aac', 'mp2'],
    encoders: ['h264', 'h265', 'mpeg2'],
    sound: 'ac3',
    many: true,
  },
  '3g2': {
    muxer: ['-f', '3g2', ...FAST],
    video: ['h264', 'mpeg4', 'h263'],
    audio: ['aac', 'amr_nb'],
    encoders: ['h264', 'mpeg4'],
    sound: 'aac',
    maxChannels: 2,
    rotation: true,
  },
  f4v: { muxer: ['-f', 'f4v', ...FAST], video: ['h264'], audio: ['aac', 'mp3'], encoders: ['h264'], sound: 'aac', maxChannels: 2 },
  mxf: {
    muxer: ['-f', 'mxf'],
    video: ['mpeg2video'],
    audio: [],
    encoders: ['mpeg2'],
    sound: 'pcmBroadcast',
    many: true,
    rates: MPEG_RATES,
    encode: ['-maxrate', '50M', '-bufsize', '3500k'],
  },
  nut: {
    muxer: ['-f', 'nut'],
    video: ['h264', 'mpeg4', 'mpeg2video', 'mpeg1video', 'theora', 'vp8', 'mjpeg', 'ffv1'],
    audio: ['vorbis', 'mp3', 'mp2', 'ac3', 'pcm_s16le', 'flac', 'aac'],
    encoders: ['mpeg4', 'h264', 'mpeg2'],
    sound: 'vorbis',
    many: true,
  },
  swf: { muxer: ['-f', 'swf'], video: ['flv1'], audio: [], encoders: ['flv1'], sound: 'mp3Flash', maxChannels: 2 },
  ivf: { ...PICTURES_ALONE, muxer: ['-f', 'ivf'], video: ['vp8', 'vp9', 'av1'], encoders: ['vp9', 'vp8', 'av1'] },
  y4m: { ...PICTURES_ALONE, muxer: ['-f', 'yuv4mpegpipe'], video: [], encoders: ['raw'] },
  // Fragments of a second, as a server streams them.
  ismv: { muxer: ['-f', 'ismv'], video: ['h264'], audio: ['aac'], encoders: ['h264'], sound: 'aac' },
  m4e: { ...PICTURES_ALONE, muxer: ['-f', 'm4v'], video: ['mpeg4'], encoders: ['mpeg4'] },
  h264: { ...PICTURES_ALONE, muxer: ['-f', 'h264'], video: ['h264'], encoders: ['h264'] },
  hevc: { ...PICTURES_ALONE, muxer: ['-f', 'hevc'], video: ['hevc'], encoders: ['h265'] },
  obu: { ...PICTURES_ALONE, muxer: ['-f', 'obu'], video: ['av1'], encoders: ['av1'] },
  m2v: { ...PICTURES_ALONE, muxer: ['-f', 'mpeg2video'], video: ['mpeg2video'], encoders: ['mpeg2'], rates: MPEG_RATES },
  m1v: { ...PICTURES_ALONE, muxer: ['-f', 'mpeg1video'], video: ['mpeg1video'], encoders: ['mpeg1'], rates: MPEG_RATES },
  // Every frame is a JPEG, whose samples have the full range.
  mjpeg: { ...PICTURES_ALONE, muxer: ['-f', 'mjpeg'], video: ['mjpeg'], encoders: ['mjpeg'], encode: ['-pix_fmt', 'yuvj420p'] },
};

/** Text subtitles, which can be converted to any other text format. */
export const TEXT_SUBTITLES: ReadonlySet<string> = new Set(['subrip', 'ass', 'ssa', 'webvtt', 'mov_text', 'text']);
