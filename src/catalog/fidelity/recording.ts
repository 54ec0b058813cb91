/** What a recording, sound or film, has that its result should have too, and which formats can contain it. */

import { isToneMapped, isTransparent } from '../engines/media/ffmpeg/colours.ts';
import { AUDIO, VIDEO } from '../engines/media/ffmpeg/containers.ts';
import { AUDIO_ENCODERS, type AudioEncoder } from '../engines/media/ffmpeg/encoders.ts';
import { type AudioStream, type MediaFacts, shownSize, type VideoStream } from '../engines/media/ffmpeg/streams.ts';
import type { Options } from '../options/options.ts';
import type { FidelityProperty } from './fidelity.ts';

export interface RecordingSide extends MediaFacts {
  /** The one of its sound that was asked for, from 1 on. */
  readonly track?: number | undefined;
}
type RecordingProperty = FidelityProperty<RecordingSide, Options>;

/** Encoders pad the end to whole frames, and files state their length in whole packets: seconds, and a share of the length. */
const LENGTH_ROUNDS = { seconds: 0.25, share: 0.005 };
/** 29.97 and 30000/1001 are one rate. */
const RATE_ROUNDS = 0.005;

/** Formats with room for a title, an artist and an album, as FFmpeg writes them. */
const TITLED = new Set('mp3 wav flac ogg opus m4a m4b aiff wma mka caf wv tta mp4 m4v mov mkv webm avi wmv ogv 3gp nut'.split(' '));
/** Formats with room for chapters. */
const WITH_CHAPTERS = new Set('mp3 ogg opus flac m4a m4b mka mp4 m4v mov mkv webm wma wmv'.split(' '));

const soundOf = ({ audio, track = 1 }: RecordingSide): AudioStream | undefined => audio[track - 1];
const filmOf = ({ video }: MediaFacts): VideoStream | undefined => video[0];
const encoderOf = (format: string): AudioEncoder | undefined => {
  const id = AUDIO[format]?.encode ?? VIDEO[format]?.sound;
  return id === undefined ? undefined : AUDIO_ENCODERS[id];
};

const near = (one: number, other: number, share: number, least = 0): boolean => Math.abs(one - other) <= Math.max(least, share * one);

const length: RecordingProperty = {
  name: 'length',
  show: ({ duration }) => (duration === undefined ? undefined : `${Number(duration.toFixed(2))} s`),
  same: (source, result) =>
    result.duration !== undefined && near(source.duration ?? 0, result.duration, LENGTH_ROUNDS.share, LENGTH_ROUNDS.seconds),
  asked: ({ start_time: start, end_time: end }) => start !== undefined || end !== undefined,
  // A file that was cut is not as long as it says.
  unsure: (source, result) => result.duration === undefined || source.cutOff === true,
  fits: () => true,
};

const tags: RecordingProperty = {
  name: 'tags',
  show: ({ tags: said }) => (said.length === 0 ? undefined : said.join(', ')),
  same: (source, result) => source.tags.every((name) => result.tags.includes(name)),
  asked: ({ strip_metadata: strip }) => strip === true,
  fits: (format) => TITLED.has(format),
};

const chapters: RecordingProperty = {
  name: 'chapters',
  show: ({ chapters: count }) => (count === 0 ? undefined : `${count}`),
  asked: ({ strip_metadata: strip, start_time: start, end_time: end }) => strip === true || start !== undefined || end !== undefined,
  fits: (format) => WITH_CHAPTERS.has(format),
};

const cover: RecordingProperty = {
  name: 'cover',
  show: ({ covers }) => (covers.length === 0 ? undefined : 'present'),
  asked: ({ strip_metadata: strip }) => strip === true,
  fits: (format) => AUDIO[format]?.cover !== undefined || VIDEO[format]?.cover === true,
};

const soundProperties: readonly RecordingProperty[] = [
  {
    name: 'sample_rate',
    show: (facts) => rateOf(soundOf(facts)),
    asked: ({ audio_rate: rate, wav_rate: wav }) => rate !== undefined || wav !== undefined,
    fits: (format, source) => {
      const [encoder, rate] = [encoderOf(format), soundOf(source)?.rate ?? 0];
      return encoder === undefined || (encoder.rates?.includes(rate) !== false && rate <= (encoder.maxRate ?? rate));
    },
  },
  {
    name: 'channels',
    show: (facts) => channelsOf(soundOf(facts)),
    asked: ({ audio_channels: channels, wav_channels: wav }) => channels !== undefined || wav !== undefined,
    fits: (format, source) =>
      (soundOf(source)?.channels ?? 0) <= Math.min(encoderOf(format)?.maxChannels ?? 8, VIDEO[format]?.maxChannels ?? 8),
  },
  {
    name: 'sample_depth',
    show: (facts) => depthOf(soundOf(facts)),
    same: (source, result) => (soundOf(result)?.bits ?? 0) >= (soundOf(source)?.bits ?? 0),
    asked: ({ wav_depth: depth }) => depth !== undefined,
    fits: (format) => encoderOf(format)?.precision !== undefined,
  },
];

const filmProperties: readonly RecordingProperty[] = [
  {
    name: 'picture_size',
    show: (facts) => sizeOf(filmOf(facts)),
    asked: ({ video_width: width, video_height: height }) => width !== undefined || height !== undefined,
    // 4:2:0, which nearly every film has, halves both sides.
    fits: (_, source) => evenSides(filmOf(source)),
  },
  {
    name: 'frame_rate',
    show: (facts) => framesASecond(filmOf(facts)),
    same: (source, result) => near(filmOf(source)?.fps ?? 0, filmOf(result)?.fps ?? 0, RATE_ROUNDS),
    asked: ({ video_fps: fps }) => fps !== undefined,
    // FFprobe computes the rate from the length, and a file that was cut has lost its length.
    unsure: (source) => source.cutOff === true,
    fits: (format) => VIDEO[format]?.rates === undefined,
  },
  {
    name: 'transfer',
    show: (facts) => filmOf(facts)?.transfer,
    asked: ({ tone_map: curve }) => curve !== undefined && curve !== 'auto',
    fits: (format, source) => keepsRange(filmOf(source), format),
  },
  {
    name: 'interlacing',
    show: (facts) => (filmOf(facts)?.interlaced ? 'interlaced' : undefined),
    // Screens show whole frames: what is encoded is made of them.
    fits: () => false,
  },
  {
    name: 'alpha',
    show: (facts) => {
      const film = filmOf(facts);
      return film !== undefined && isTransparent(film) ? 'transparent' : undefined;
    },
    fits: (format) => TRANSPARENT_FILM.has(format),
  },
  {
    name: 'sound_tracks',
    show: ({ audio }) => (audio.length === 0 ? undefined : `${audio.length}`),
    asked: ({ audio_track: one, track }) => one !== undefined || track !== undefined,
    fits: (format, { audio }) => VIDEO[format]?.silent !== true && (audio.length === 1 || VIDEO[format]?.many === true),
  },
  {
    name: 'subtitles',
    show: ({ subtitles }) => (subtitles.length === 0 ? undefined : `${subtitles.length}`),
    asked: ({ burn_subtitles: track }) => track !== undefined,
    fits: (format) => VIDEO[format]?.subtitles !== undefined,
  },
];

/** For a result that is a sound, whatever the source is: its target is a choice of sound alone. */
export const soundReceipt: readonly RecordingProperty[] = [length, ...soundProperties, tags, chapters, cover];
export const filmReceipt: readonly RecordingProperty[] = [length, ...filmProperties, ...soundProperties, tags, chapters, cover];

/** Formats that keep transparency, of the codecs that have it. */
const TRANSPARENT_FILM = new Set(['webm', 'mkv', 'mov', 'nut']);
function keepsRange(stream: VideoStream | undefined, format: string): boolean {
  const first = VIDEO[format]?.encoders[0];
  return stream !== undefined && first !== undefined && !isToneMapped(stream, {}, format, first);
}
const rateOf = (stream: AudioStream | undefined) => stream && `${stream.rate} Hz`;
const channelsOf = (stream: AudioStream | undefined) => stream && `${stream.channels}`;
/** Only of codecs that keep every bit. */
const depthOf = (stream: AudioStream | undefined) => (stream?.lossless ? `${stream.bits} bits` : undefined);
const sizeOf = (stream: VideoStream | undefined) => {
  if (stream === undefined) return undefined;
  const { width, height } = shownSize(stream);
  return `${width} × ${height} px`;
};
const framesASecond = (stream: VideoStream | undefined) =>
  stream === undefined || stream.fps <= 0 ? undefined : `${Number(stream.fps.toFixed(3))} a second`;
const evenSides = (stream: VideoStream | undefined) => stream === undefined || (stream.width % 2 === 0 && stream.height % 2 === 0);
