/** CMU's PocketSphinx with its English model, both of Debian, where no model of ours is installed: some three words in ten are wrong. */
import { conversionFailed } from '../../../errors.ts';
import type { Engine, Plan, Task } from '../../engine.ts';
import { WAV } from '../../known-good.ts';
import { ownStep } from '../../planning/told.ts';
import { mediaOf } from './ffmpeg/streams.ts';
import { engine as ffmpeg } from './ffmpeg.ts';
import { decodeSpeech, type SpeechQuality } from './speech.ts';

/** Passes over what was heard, and whether the best way through all of it is looked for in the end (pocketsphinx_continuous(1)). */
const PASSES = {
  fast: ['-fwdflat', 'no', '-bestpath', 'no'],
  balanced: ['-fwdflat', 'no', '-bestpath', 'yes'],
  best: ['-fwdflat', 'yes', '-bestpath', 'yes'],
} as const satisfies Record<SpeechQuality, readonly string[]>;

const LANGUAGES = ['auto', 'en'];

export const engine: Engine = {
  ...ffmpeg,
  id: 'dictation',
  name: 'pocketsphinx',
  role: 'speech',
  toolchains: ['ai'],
  binaries: {
    dictation: { at: ['program:sound/dictation.ts'], version: { args: ['--version'], pattern: /^dictation (\d+\.\d+)/ } },
    listen: { at: ['/usr/bin/pocketsphinx_continuous'] },
    ...ffmpeg.binaries,
  },
  // Its tool has its own plan.
  conversions: [],
  trials: [{ file: WAV, target: 'txt', slow: true }],
  options: () => [],
  plan: (task) => planDictation(task, 'auto', 'fast'),
};

/** @throws Failure `no_stream` if there is no sound, `model_not_installed` for another language than English */
export function planDictation(task: Task, language: string, quality: SpeechQuality): Plan {
  if (!LANGUAGES.includes(language))
    throw conversionFailed('model_not_installed', {
      says: 'Without the model whisper-base, only English is understood: send language=en, or auto.',
    });
  const { target, output, scratch, facts } = task;
  const { decode, raw } = decodeSpeech(task);
  const heard = `${scratch}/heard.txt`;
  const seconds = mediaOf(facts).duration ?? Number.POSITIVE_INFINITY;
  return {
    steps: [
      decode,
      {
        run: 'listen',
        args: ['-infile', raw, '-time', 'yes', ...PASSES[quality], '-logfn', `${scratch}/log.txt`],
        stdoutTo: heard,
        progress: (line) => heardUntil(line, seconds),
      },
      ownStep('dictation', [heard, `${output}/out.${target}`, target]),
    ],
  };
}

/** The line of a word has its beginning, its end, both in s, and a probability. */
function heardUntil(line: string, seconds: number): number | undefined {
  const end = /^\S{1,80} [\d.]{1,12} ([\d.]{1,12}) [\d.e-]{1,16}$/.exec(line)?.[1];
  return end === undefined ? undefined : Math.min(1, Number(end) / seconds);
}
