/** Subtitles as text files, with times for each. */
import { type Format, format } from './format.ts';

export const subtitles: readonly Format[] = [
  format('subtitle', 'srt', 'SubRip subtitles', 'application/x-subrip', {
    search: { en: 'captions, subtitle', de: 'Untertitel', es: 'subtítulos' },
  }),
  format('subtitle', 'vtt', 'Web video text tracks', 'text/vtt', {
    search: { en: 'captions, subtitle', de: 'Untertitel', es: 'subtítulos' },
    aliases: ['webvtt'],
  }),
  format('subtitle', 'ass', 'Advanced SubStation Alpha', 'text/x-ssa', {
    search: { en: 'captions, subtitle', de: 'Untertitel', es: 'subtítulos' },
    aliases: ['ssa'],
  }),
  format('subtitle', 'sub', 'MicroDVD subtitles', 'text/x-microdvd'),
  format('subtitle', 'lrc', 'Lyrics with times', 'text/x-lrc', {
    search: { en: 'karaoke, song text', de: 'Liedtext, Karaoke', es: 'letra de canción, karaoke' },
  }),
  format('subtitle', 'ttml', 'Timed text markup', 'application/ttml+xml', { aliases: ['dfxp', 'itt'] }),
];
