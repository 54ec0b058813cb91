/** A song as vocals and accompaniment. */
import { z } from 'zod';
import { MAX_SONG_SECONDS } from '../../bounds.ts';
import { planSeparated } from '../../engines/media/ffmpeg/operations/separate.ts';
import { engine as classical } from '../../engines/media/separate.ts';
import { oneOf } from '../../options/fields.ts';
import { ONE_FILE, type Tool } from '../../tool.ts';
import { SOUNDS, VIDEOS } from '../../tool-families/media.ts';
import { boundedRecording, recordingBounds } from '../../tool-families/recording.ts';

const input = z.object({ format: oneOf(['mp3', 'wav', 'flac']).default('mp3') });

export const tool: Tool = {
  slug: 'vocal-remover',
  summary: 'Separates a stereo song into what is mixed in the middle, as vocals are, and the rest.',
  family: 'ai',
  accepts: [...SOUNDS, ...VIDEOS],
  files: ONE_FILE,
  bounds: recordingBounds(MAX_SONG_SECONDS),
  input,
  example: { format: 'flac' },
  texts: { format: { means: 'Format of both results; flac and wav for at most half an hour.' } },
  alwaysZip: true,
  daily: 50,
  mcp: {
    place: 6,
    title: 'Separate vocals',
    description: 'Separates a stereo song into vocals and accompaniment. Returns a ZIP with two files.',
  },
  work: {
    target: (_, given) => (given as z.output<typeof input>).format,
    methods: [{ engine: classical, plan: (order) => planSeparated(boundedRecording(order, MAX_SONG_SECONDS)) }],
  },
};
