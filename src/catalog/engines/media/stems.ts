/** Our own program around Spleeter, a model that separates a song into vocals and accompaniment: FFmpeg decodes and encodes. */
import type { Engine } from '../../engine.ts';
import { WAV } from '../../known-good.ts';
import { ownStep } from '../../planning/told.ts';
import { planSeparated, type Separating } from './ffmpeg/operations/separate.ts';
import { engine as ffmpeg } from './ffmpeg.ts';

const MODEL = 'spleeter-2stems';

export const engine: Engine = {
  ...ffmpeg,
  id: 'stems',
  name: MODEL,
  role: 'speech',
  toolchains: ['ai'],
  binaries: {
    stems: { at: ['program:sound/stems.ts'], version: { args: ['--version'], pattern: /^stems (\d+\.\d+)/ }, models: [MODEL] },
    ...ffmpeg.binaries,
  },
  // Its tool has its own plan.
  conversions: [],
  trials: [{ file: WAV, target: 'mp3', slow: true }],
  options: () => [],
  plan: (task) => planSeparated(task, byStems),
};

/** It writes where it reads: a program that broke is not tried once more, as one that keeps its model would be. */
export const byStems: Separating = { separate: (sound, vocals) => ownStep('stems', [sound, vocals]), takesMono: true };
