/** The sound of a video, as MP3. */
import { z } from 'zod';
import { integer, numberOf, oneOf } from '../fields.ts';
import { ONE_FILE, type Tool } from '../tool.ts';
import { VIDEOS } from './media.ts';

export const tool: Tool = {
  slug: 'extract-audio-from-video',
  summary: 'Takes one sound track of a video as MP3.',
  family: 'audio_video',
  accepts: VIDEOS,
  files: ONE_FILE,
  // As a conversion has them; a test compares.
  input: z.object({
    mp3_mode: oneOf(['vbr', 'cbr', 'abr']).optional(),
    mp3_quality: integer(0, 9, ' (LAME V, 0 is best)').optional(),
    mp3_bitrate: numberOf([32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320], ' kbit/s').optional(),
    track: integer(1, 99, '').optional(),
  }),
  work: { convert: (_, input) => ({ target: 'mp3', options: input }) },
};
