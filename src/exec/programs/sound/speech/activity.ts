/** Where in a recording there is speech, by Silero VAD: pauses, noise and music are not heard at all, which saves time and invented words. */
import { join } from 'node:path';
import { openSession, Tensor } from '../../inference/session.ts';
import { floatsIn } from '../../inference/tensors.ts';
import type { Span, SpokenRecording } from './recording.ts';
import { RATE } from './whisper.ts';

/** Samples of a piece, and of the one before that each is given again: without those the model hears nothing, and does not say so. */
const [PIECE, CONTEXT] = [512, 64];
/** Numbers of the model's state, for each of two layers. */
const STATE = 128;
/** Above and below which a piece is speech and is none. In between it is what the piece before was. */
const [SPEECH, PAUSE] = [0.5, 0.3];
/** Shorter speech is a click, and shorter pauses are between words, s. */
const [SHORTEST, SHORTEST_PAUSE] = [0.1, 0.5];
/** What is heard before and behind, s: soft first and last sounds. */
const PAD = 0.25;
/** Pieces that are read at once. */
const READ = 1000;

/** @param folder of the model @returns stretches in order, apart from each other */
export async function speechIn(recording: SpokenRecording, folder: string, progress: (fraction: number) => void): Promise<readonly Span[]> {
  const session = await openSession(join(folder, 'silero_vad.onnx'));
  const rate = new Tensor('int64', BigInt64Array.of(BigInt(RATE)), []);
  let state: Tensor = new Tensor('float32', new Float32Array(2 * STATE), [2, 1, STATE]);
  const likely: number[] = [];
  for (let from = 0; from < recording.samples; from += READ * PIECE) {
    const count = Math.min(READ, Math.ceil((recording.samples - from) / PIECE));
    // Before the beginning there is silence.
    const samples = recording.read(from - CONTEXT, CONTEXT + count * PIECE);
    for (let i = 0; i < count; i++) {
      const input = new Tensor('float32', samples.slice(i * PIECE, i * PIECE + CONTEXT + PIECE), [1, CONTEXT + PIECE]);
      const results = await session.run({ input, state, sr: rate });
      likely.push(floatsIn(results['output'])[0] ?? 0);
      state = results['stateN'] as Tensor;
    }
    progress(Math.min(1, (from + count * PIECE) / recording.samples));
  }
  return spansOf(likely, recording.samples);
}

/** @param likely how likely speech is, by piece */
export function spansOf(likely: readonly number[], samples: number): readonly Span[] {
  const heard: { from: number; to: number }[] = [];
  let isSpeech = false;
  for (const [i, probability] of likely.entries()) {
    isSpeech = isSpeech ? probability > PAUSE : probability > SPEECH;
    if (!isSpeech) continue;
    const last = heard.at(-1);
    if (last !== undefined && i * PIECE - last.to <= SHORTEST_PAUSE * RATE) last.to = (i + 1) * PIECE;
    else heard.push({ from: i * PIECE, to: (i + 1) * PIECE });
  }
  const spans: Span[] = [];
  for (const { from, to } of heard.filter((each) => each.to - each.from >= SHORTEST * RATE)) {
    const padded = { from: Math.max(0, from - PAD * RATE), to: Math.min(samples, to + PAD * RATE) };
    const last = spans.at(-1);
    if (last !== undefined && padded.from <= last.to) spans[spans.length - 1] = { from: last.from, to: padded.to };
    else spans.push(padded);
  }
  return spans;
}
