/** Our own program around Whisper, a model that writes down what is said: FFmpeg decodes the sound. */
import { conversionFailed } from '../../../errors.ts';
import type { Engine, Plan, ProcessStep, Task } from '../../engine.ts';
import { WAV } from '../../known-good.ts';
import { modelStep } from '../../planning/told.ts';
import { command } from './ffmpeg/command.ts';
import { mediaOf } from './ffmpeg/streams.ts';
import { timeline } from './ffmpeg/timeline.ts';
import { engine as ffmpeg } from './ffmpeg.ts';

/** How many texts are tried side by side. */
const BEAMS = { fast: 1, balanced: 2, best: 5 } as const;
export type SpeechQuality = keyof typeof BEAMS;

const MODEL = 'whisper-base';

/** @param model that writes; where it is installed, another one tells speech from pauses */
export const speechBy = (model: string): Engine['binaries'] => ({
  speech: {
    at: ['program:sound/speech.ts'],
    version: { args: ['--version'], pattern: /^speech (\d+\.\d+)/ },
    models: [model],
    helpers: ['silero-vad'],
  },
  ...ffmpeg.binaries,
});

export const engine: Engine = {
  ...ffmpeg,
  id: 'speech',
  name: MODEL,
  role: 'speech',
  toolchains: ['ai'],
  binaries: speechBy(MODEL),
  // Its tool has its own plan.
  conversions: [],
  trials: [{ file: WAV, target: 'txt', slow: true }],
  options: () => [],
  plan: (task) => planTranscribed(task, 'auto', 'fast'),
};

/** @param language a code of Whisper's, or auto @throws Failure `no_stream` if there is no sound */
export function planTranscribed(task: Task, language: string, quality: SpeechQuality): Plan {
  const { decode, raw } = decodeSpeech(task);
  const args = [raw, `${task.output}/out.${task.target}`, task.target, language, `${BEAMS[quality]}`];
  return { steps: [decode, modelStep('speech', args, { input: raw })] };
}

/** Decodes the first sound to what recognisers of speech hear: one channel, 16 kHz, 16 bits a sample. @throws Failure `no_stream` if there is none */
export function decodeSpeech(task: Task): { readonly decode: ProcessStep; readonly raw: string } {
  const [sound] = mediaOf(task.facts).audio;
  if (sound === undefined) throw conversionFailed('no_stream');
  const raw = `${task.scratch}/sound.raw`;
  const decode = command({
    task,
    timeline: timeline(task),
    full: true,
    encode: ['-map', `0:${sound.index}`, '-vn', '-sn', '-dn', '-ac', '1', '-ar', '16000', '-c:a', 'pcm_s16le', '-f', 's16le'],
    to: raw,
  });
  return { decode, raw };
}
