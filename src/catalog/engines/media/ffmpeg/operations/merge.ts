/** Joins videos at the first one's size and frame rate: each is converted to the same parameters, and the parts are copied one after the other. */

import { conversionFailed, inputLimit } from '../../../../../errors.ts';
import { MAX_SECONDS } from '../../../../bounds.ts';
import type { Plan, ProcessStep } from '../../../../engine.ts';
import type { ToolSource } from '../../../../tool.ts';
import { asFilm, decoded, decoderArguments, isToneMapped, onWhite } from '../colours.ts';
import { command, dropped, THREADS } from '../command.ts';
import { VIDEO_ENCODERS } from '../encoders.ts';
import { type MediaFacts, mediaOf, shownSize } from '../streams.ts';
import { progressOf } from '../timeline.ts';
import { concatList, LIST_INPUT } from './concat.ts';

/** The longest side that H.264 players support, px. */
const H264_MAX_SIDE = 8192;
const MAX_FPS = 120;
/** Assumed if the first file does not state its rate. */
const LIKELY_FPS = 25;
const CRF = 21;
const RATE = 48_000;
const SOUND_KBITS = 192;

interface Shape {
  readonly width: number;
  readonly height: number;
  readonly fps: number;
  /** None of them has audio, so neither does the result. */
  readonly silent: boolean;
}

interface Order {
  readonly sources: readonly ToolSource[];
  readonly output: string;
  readonly scratch: string;
}

/** @throws Failure `no_stream` if a file has no video, `input_limit` if they are too long together */
export function planMerged({ sources, output, scratch }: Order): Plan {
  const all = sources.map(({ facts }) => mediaOf(facts));
  for (const [place, { video }] of all.entries())
    if (video.length === 0) throw conversionFailed('no_stream', { says: `File ${place + 1} has no video stream.` });
  const seconds = all.reduce((sum, { duration = 0 }) => sum + duration, 0);
  if (seconds > MAX_SECONDS) throw inputLimit('seconds together', MAX_SECONDS, Math.ceil(seconds));
  const shape = shapeOf(all);
  const parts = sources.map((_, place) => `${scratch}/part-${String(place).padStart(2, '0')}.mov`);
  const left = all.reduce((sum, media) => sum + media.video.length - 1 + Math.max(0, media.audio.length - 1) + media.subtitles.length, 0);
  return {
    warnings: dropped(left),
    steps: [
      ...sources.map((source, place) => shaped(source, shape, parts[place] ?? '')),
      joined(parts, shape, seconds, `${output}/out.mp4`),
    ],
  };
}

function shapeOf(all: readonly MediaFacts[]): Shape {
  const first = all[0]?.video[0];
  if (first === undefined) throw conversionFailed('no_stream');
  const { width, height } = shownSize(first);
  for (const side of [width, height]) if (side > H264_MAX_SIDE) throw inputLimit('side in pixels', H264_MAX_SIDE, side);
  return {
    width: even(width),
    height: even(height),
    fps: first.fps > 0 ? Number(Math.max(1, Math.min(MAX_FPS, first.fps)).toFixed(5)) : LIKELY_FPS,
    silent: all.every(({ audio }) => audio.length === 0),
  };
}

const even = (side: number): number => Math.max(2, side - (side % 2));

/** Converts one video: as long as its longest stream, to the frame, padded with its last frame and with silence. */
function shaped({ path, format, facts }: ToolSource, { width, height, fps, silent }: Shape, to: string): ProcessStep {
  const { video, audio, duration } = mediaOf(facts);
  const seconds = duration === undefined ? undefined : Math.max(1, Math.round(duration * fps)) / fps;
  const wide = `max(2,min(${width},2*round(${height}*dar/2)))`;
  const high = `max(2,min(${height},2*round(${width}/dar/2)))`;
  const [film] = video;
  const asked = { tone_map: 'mobius' } as const;
  const picture = [
    ...(film === undefined ? [] : [...decoded(film, {}), ...onWhite(film)]),
    ...(film !== undefined && isToneMapped(film, asked, 'mp4', 'h264') ? asFilm(film, asked, 'mp4', 'h264') : []),
    `scale=w='${wide}':h='${high}':out_color_matrix=bt709:out_range=tv,setsar=1,format=yuv420p`,
    `pad=${width}:${height}:(ow-iw)/2:(oh-ih)/2:black`,
    `fps=${fps}:start_time=0`,
    ...(seconds === undefined ? [] : [`tpad=stop=-1:stop_mode=clone,trim=end=${seconds.toFixed(6)}`]),
    // Parts with different colour metadata could not be joined by copying.
    'setparams=range=tv:colorspace=bt709:color_primaries=bt709:color_trc=bt709',
  ].join(',');
  const [sound] = audio;
  const length = seconds === undefined ? [] : [`apad=whole_dur=${seconds.toFixed(6)}`, `atrim=end=${seconds.toFixed(6)}`];
  const filters = [
    `aresample=${RATE}:async=1:first_pts=0:isf=fltp:rematrix_maxval=1000`,
    'aformat=channel_layouts=stereo',
    ...(seconds === undefined ? ['apad'] : length),
  ];
  const silence = ['-f', 'lavfi', '-i', `anullsrc=r=${RATE}:cl=stereo${seconds === undefined ? '' : `:d=${seconds.toFixed(6)}`}`];
  return command({
    task: { source: format, input: path },
    timeline: { args: [], progress: progressOf(seconds) },
    decode: film === undefined ? [] : decoderArguments(film),
    inputs: silent || sound !== undefined ? [] : silence,
    encode: [
      ...['-map', `0:${film?.index ?? 0}`, '-vf', picture],
      ...VIDEO_ENCODERS.h264(CRF),
      ...(silent ? ['-an'] : sound === undefined ? ['-map', '1:a'] : ['-map', `0:${sound.index}`, '-af', filters.join(',')]),
      // A lossless codec without priming samples: the joined audio is encoded as a whole.
      ...(silent ? [] : ['-c:a', 'alac', '-ar', `${RATE}`, '-ac', '2', '-sample_fmt', 's16p']),
      ...(seconds === undefined && !silent ? ['-shortest'] : []),
      ...['-sn', '-dn', '-map_metadata', '-1', '-map_chapters', '-1', '-f', 'mov'],
    ],
    to,
  });
}

function joined(parts: readonly string[], { silent }: Shape, seconds: number, to: string): ProcessStep {
  return {
    run: 'ffmpeg',
    args: [
      ...['-nostdin', '-hide_banner', '-y', '-v', 'error', '-progress', 'pipe:1', '-nostats', '-abort_on', 'empty_output'],
      ...LIST_INPUT,
      ...['-map', '0:v', '-c:v', 'copy'],
      ...(silent ? [] : ['-map', '0:a', '-c:a', 'aac', '-b:a', `${SOUND_KBITS}k`]),
      ...['-f', 'mp4', '-movflags', '+faststart', '-threads', THREADS, to],
    ],
    stdin: concatList(parts),
    progress: progressOf(seconds),
  };
}
