/** All tools, and those that are listed but unavailable. */
import type { Absent } from './tool.ts';

export { tools } from './tools.gen.ts';

const ai = (slug: string, summary: string, reason = 'its model is not installed'): Absent => ({ slug, summary, family: 'ai', reason });

export const absentTools: readonly Absent[] = [
  {
    slug: 'flip-image',
    summary: 'Mirrors a picture.',
    family: 'image',
    reason: 'use rotate-image with flip-h or flip-v',
  },
  ai('upscale-image', 'Enlarges a picture two to four times.'),
  ai('enhance-photo', 'Sharpens and balances a photo.'),
  ai('vocal-remover', 'Separates a song into vocals and instruments.'),
  ai('speech-to-text', 'Transcribes the speech of a recording.'),
  ai('remove-background', 'Removes the background of a picture.'),
  ai('colorize-photo', 'Colours a black-and-white photo.'),
  ai('restore-old-photo', 'Restores and colours an old photo.'),
  ai('noise-reduction', 'Removes noise from a recording.'),
  ai('change-background', 'Replaces the background of a picture.'),
  ai('remove-object', 'Removes something from a picture.'),
  ai('passport-photo', 'Makes a passport photo.'),
];
