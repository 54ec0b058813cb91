/** A video without its sound, everything else as it was. */
import { z } from 'zod';
import { planSilent } from '../../engines/media/ffmpeg/operations/copy.ts';
import { engine } from '../../engines/media/ffmpeg.ts';
import { ONE_FILE, type Tool, taskOf } from '../../tool.ts';
import { VIDEOS, videoTarget } from '../../tool-families/media.ts';

export const tool: Tool = {
  slug: 'remove-audio-from-video',
  summary: 'Removes the audio from a video and leaves the rest unchanged.',
  search: { en: 'mute, silent, no sound', de: 'stumm, Ton entfernen, ohne Ton', es: 'silenciar, sin sonido, quitar sonido' },
  family: 'audio_video',
  accepts: VIDEOS,
  files: ONE_FILE,
  input: z.object({}),
  work: { target: ([source = '']) => videoTarget(source), methods: [{ engine, plan: (order) => planSilent(taskOf(order)) }] },
};
