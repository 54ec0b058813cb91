/** The words of a recording. */
import { z } from 'zod';
import { type AbsentTool, NO_MODEL } from '../listed-tool.ts';
import { oneOf, textField } from '../options/fields.ts';

export const tool: AbsentTool = {
  slug: 'speech-to-text',
  summary: 'Transcribes the speech of a recording.',
  family: 'ai',
  reason: NO_MODEL,
  input: z.object({ format: oneOf(['txt', 'srt', 'vtt']).default('txt'), language: textField.max(8).default('auto') }),
  texts: { format: { means: 'Plain text or subtitles.' }, language: { means: 'ISO 639-1 code of the language spoken, or auto.' } },
  daily: 100,
  mcp: {
    title: 'Transcribe speech',
    description: 'Transcribes the speech of an audio or video file to text or subtitles.',
    params: { format: {}, language: {} },
  },
};
