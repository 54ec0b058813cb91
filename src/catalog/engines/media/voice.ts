/** Our own program around DeepFilterNet 3, a model that tells speech from noise: FFmpeg decodes and encodes the sound. */
import type { Engine } from '../../engine.ts';
import { WAV } from '../../known-good.ts';
import { reasonTold } from '../../planning/told.ts';
import { explainFfmpeg } from './ffmpeg/explain.ts';
import { planVoice } from './ffmpeg/operations/denoise.ts';
import { engine as ffmpeg } from './ffmpeg.ts';

const MODEL = 'deepfilternet3';

export const engine: Engine = {
  ...ffmpeg,
  id: 'voice',
  name: MODEL,
  role: 'speech',
  toolchains: ['ai'],
  binaries: {
    denoise: { at: ['program:sound/denoise.ts'], version: { args: ['--version'], pattern: /^denoise (\d+\.\d+)/ }, models: [MODEL] },
    ...ffmpeg.binaries,
  },
  // Its tool has its own plan.
  conversions: [],
  trials: [{ file: WAV, target: 'wav', slow: true }],
  options: () => [],
  plan: planVoice,
  explain: (output, code) => reasonTold(output, code, ['input_limit']) ?? explainFfmpeg(output),
};
