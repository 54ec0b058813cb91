/** FluidSynth: plays a MIDI file with a General MIDI sound font; FFmpeg encodes what is heard. */
import type { Engine, Plan, Task } from '../../engine.ts';
import { MIDI } from '../../known-good.ts';
import { AUDIO } from './ffmpeg/containers.ts';
import { explainFfmpeg } from './ffmpeg/explain.ts';
import { planSound, soundOptions } from './ffmpeg/sound.ts';
import { type MediaFacts, NO_STREAMS } from './ffmpeg/streams.ts';
import { engine as ffmpeg } from './ffmpeg.ts';

const FONT = '/usr/share/sounds/sf2/TimGM6mb.sf2';
const RATE = 44_100;
/** Share of full scale: the default of 0.2 is quieter than any recording. */
const GAIN = '0.6';

const PLAYED: MediaFacts = {
  ...NO_STREAMS,
  audio: [{ index: 0, codec: 'pcm_s16le', rate: RATE, channels: 2, bits: 16, float: false, lossless: true, bitrate: undefined }],
};

export const engine: Engine = {
  id: 'fluidsynth',
  name: 'FluidSynth',
  role: 'audio_video',
  toolchains: ['media'],
  binaries: {
    fluidsynth: { at: ['/usr/bin/fluidsynth'], version: { args: ['--version'], pattern: /FluidSynth runtime version (\d+\.\d+\.\d+)/ } },
    ffmpeg: { at: ffmpeg.binaries['ffmpeg']?.at ?? [] },
  },
  conversions: Object.entries(AUDIO).map(([target, { loses }]) => ({
    source: 'mid',
    target,
    rank: 70,
    ...(loses === undefined ? {} : { loses }),
  })),
  trials: [{ file: MIDI, target: 'wav' }],
  options: (_, target) => soundOptions(target),
  plan,
  explain: explainFfmpeg,
  limits: { memoryBytes: 1024 ** 3, wallMs: 600_000, cpuSeconds: 600 },
};

function plan(task: Task): Plan {
  const played = `${task.scratch}/played.wav`;
  const { steps, ...told } = planSound({ ...task, source: 'wav', input: played, facts: { media: PLAYED } });
  const play = ['-n', '-i', '-q', '-g', GAIN, '-r', `${RATE}`, '-T', 'wav', '-O', 's16', '-F', played, FONT, task.input];
  return { ...told, steps: [{ run: 'fluidsynth', args: play }, ...steps] };
}
