/** What the audio and video tools have in common: input formats, output formats, and time ranges. */

import { z } from 'zod';
import { AUDIO, DEMUXERS, VIDEO } from '../engines/media/ffmpeg/containers.ts';
import { formatOf } from '../formats.ts';
import { oneOf } from '../options/fields.ts';
import { allowed, type Options, optionSchemas } from '../options/options.ts';
import { type Input, refuseField } from '../tool.ts';

/** A rare format is converted to a usual one first: no test covers what a tool does to it. */
const ofFamily = (family: string): readonly string[] =>
  Object.keys(DEMUXERS).filter((id) => formatOf(id).family === family && formatOf(id).use !== 'rare');
/** Every audio format that FFmpeg reads. */
export const SOUNDS = ofFamily('audio');
/** Every video format that FFmpeg reads. */
export const VIDEOS = ofFamily('video');

export const soundTarget = (source: string): string => (source in AUDIO ? source : 'mp3');
export const videoTarget = (source: string): string => (source in VIDEO ? source : 'mp4');

/** A time range, and how exactly to cut it. */
export const CUT = z.object({
  start_time: optionSchemas.start_time.optional(),
  end_time: optionSchemas.end_time.optional(),
  mode: oneOf(['exact', 'fast']).default('exact'),
});

/** @throws Failure `INVALID_OPTION` if both are missing, or if the end is not after the start */
export function checkCut({ start_time: start, end_time: end }: Input): void {
  if (start === undefined && end === undefined)
    throw refuseField('start_time', undefined, `${allowed('start_time')}, or end_time, or both`);
  if (typeof end === 'number' && end <= Number(start ?? 0)) throw refuseField('end_time', `${end}`, allowed('end_time'));
}

export const cutOf = ({ start_time, end_time }: Input): Options => ({
  start_time: start_time as number | undefined,
  end_time: end_time as number | undefined,
});
