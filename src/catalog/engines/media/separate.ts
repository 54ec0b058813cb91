/** Our own classical processing of sound, without any model: FFmpeg decodes, filters and encodes. */
import type { Engine } from '../../engine.ts';
import { WAV } from '../../known-good.ts';
import { reasonTold } from '../../planning/told.ts';
import { explainFfmpeg } from './ffmpeg/explain.ts';
import { engine as ffmpeg } from './ffmpeg.ts';

export const engine: Engine = {
  ...ffmpeg,
  id: 'separate',
  name: 'classical',
  binaries: {
    separate: { at: ['program:sound/separate.ts'], version: { args: ['--version'], pattern: /^separate (\d+\.\d+)/ } },
    ...ffmpeg.binaries,
  },
  // Its tools have their own plans.
  conversions: [],
  trials: [{ file: WAV, target: 'mp3' }],
  options: () => [],
  explain: (output, code) => reasonTold(output, code, ['no_stream']) ?? explainFfmpeg(output),
};
