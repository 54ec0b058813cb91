/** Subtitles as text files, with times for each. */
import { type Format, format } from './format.ts';

export const subtitles: readonly Format[] = [
  format('subtitle', 'srt', 'application/x-subrip'),
  format('subtitle', 'vtt', 'text/vtt', { aliases: ['webvtt'] }),
  format('subtitle', 'ass', 'text/x-ssa', { aliases: ['ssa'] }),
  format('subtitle', 'sub', 'text/x-microdvd'),
  format('subtitle', 'lrc', 'text/x-lrc'),
  format('subtitle', 'ttml', 'application/ttml+xml', { aliases: ['dfxp', 'itt'] }),
];
