/** The sound of a video, as MP3. */
import { z } from 'zod';
import { optionSchemas } from '../../options/options.ts';
import { ONE_FILE, type Tool } from '../../tool.ts';
import { VIDEOS } from '../../tool-families/media.ts';

export const tool: Tool = {
  slug: 'extract-audio-from-video',
  summary: 'Extracts one audio track of a video as MP3.',
  search: {
    en: 'sound, music, rip, mp3, soundtrack',
    de: 'Ton, Musik, Tonspur, herausziehen, MP3',
    es: 'sonido, música, extraer, MP3, banda sonora',
  },
  family: 'audio_video',
  accepts: VIDEOS,
  files: ONE_FILE,
  input: z.object({
    mp3_mode: optionSchemas.mp3_mode.optional(),
    mp3_quality: optionSchemas.mp3_quality.optional(),
    mp3_bitrate: optionSchemas.mp3_bitrate.optional(),
    track: optionSchemas.track.optional(),
  }),
  example: { mp3_mode: 'cbr', mp3_bitrate: '192' },
  work: { convert: (_, input) => ({ target: 'mp3', options: input }) },
};
