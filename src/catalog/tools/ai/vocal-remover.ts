/** A song as vocals and accompaniment. */
import { z } from 'zod';
import { MAX_SONG_SECONDS } from '../../bounds.ts';
import { planSeparated } from '../../engines/media/ffmpeg/operations/separate.ts';
import { engine as classical } from '../../engines/media/separate.ts';
import { byStems, engine as spleeter } from '../../engines/media/stems.ts';
import { modelName, oneOf } from '../../options/fields.ts';
import { ONE_FILE, type Tool } from '../../tool.ts';
import { SOUNDS, VIDEOS } from '../../tool-families/media.ts';
import { boundedRecording, recordingBounds } from '../../tool-families/recording.ts';

const input = z.object({ format: oneOf(['mp3', 'wav', 'flac']).default('mp3'), model: modelName.optional() });

export const tool: Tool = {
  slug: 'vocal-remover',
  summary: 'Separates a song into vocals and the rest.',
  search: {
    en: 'karaoke, instrumental, acapella, stems, remove voice',
    de: 'Karaoke, Instrumental, Stimme entfernen, Gesang',
    es: 'karaoke, instrumental, quitar voz, a capela',
  },
  family: 'ai',
  accepts: [...SOUNDS, ...VIDEOS],
  files: ONE_FILE,
  bounds: recordingBounds(MAX_SONG_SECONDS),
  input,
  example: { format: 'flac' },
  texts: {
    format: { means: 'Format of both results; flac and wav for at most half an hour.' },
    model: {
      means: `What separates: ${spleeter.name}, which is used where it is installed, knows voices; ${classical.name} takes what is in the middle of both channels for them.`,
    },
  },
  alwaysZip: true,
  daily: 50,
  mcp: {
    place: 6,
    title: 'Separate vocals',
    description: 'Separates a stereo song into vocals and accompaniment. Returns a ZIP with two files.',
  },
  work: {
    target: (_, given) => (given as z.output<typeof input>).format,
    methods: [
      { engine: spleeter, plan: (order) => planSeparated(boundedRecording(order, MAX_SONG_SECONDS), byStems) },
      { engine: classical, plan: (order) => planSeparated(boundedRecording(order, MAX_SONG_SECONDS)) },
    ],
  },
};
