/** A video played backwards, with its sound. */
import { z } from 'zod';
import { MAX_REVERSED_SECONDS, planReversed } from '../../engines/media/ffmpeg/operations/reverse.ts';
import { engine } from '../../engines/media/ffmpeg.ts';
import { ONE_FILE, type Tool, taskOf } from '../../tool.ts';
import { VIDEOS, videoTarget } from '../../tool-families/media.ts';

export const tool: Tool = {
  slug: 'reverse-video',
  summary: 'Plays a video of up to a minute backwards, its sound too.',
  search: { en: 'backwards, rewind', de: 'rückwärts, umkehren', es: 'al revés, hacia atrás, invertir' },
  family: 'audio_video',
  accepts: VIDEOS,
  files: ONE_FILE,
  bounds: { maxSeconds: MAX_REVERSED_SECONDS },
  input: z.object({}),
  work: { target: ([source = '']) => videoTarget(source), methods: [{ engine, plan: (order) => planReversed(taskOf(order)) }] },
};
