/** Several videos in one, in the order sent. */
import { z } from 'zod';
import { planMerged } from '../../engines/media/ffmpeg/operations/merge.ts';
import { engine } from '../../engines/media/ffmpeg.ts';
import { SEVERAL_FILES, type Tool } from '../../tool.ts';
import { VIDEOS } from '../../tool-families/media.ts';

export const tool: Tool = {
  slug: 'merge-videos',
  summary: "Joins 2 to 20 videos into one MP4, in the order sent, at the first one's size and frame rate.",
  search: { en: 'join, combine, concatenate, together', de: 'verbinden, zusammenfügen, aneinanderhängen', es: 'unir, juntar, combinar' },
  family: 'audio_video',
  accepts: [...VIDEOS, 'gif'],
  files: SEVERAL_FILES,
  input: z.object({}),
  work: { target: () => 'mp4', methods: [{ engine, plan: planMerged }] },
};
