/**
 * Animated WebP as a video, or as an APNG: FFmpeg 5.1 does not read it, so libvips decodes the frames, and a program of ours makes an APNG of them, which
 * FFmpeg reads.
 */
import type { Engine, Plan, Task } from '../../engine.ts';
import { WEBP } from '../../known-good.ts';
import { talk, VIPS } from '../pictures/sharp.ts';
import { probeStep, readProbe } from './ffmpeg/probe.ts';
import { engine as ffmpeg } from './ffmpeg.ts';

/** What FFmpeg makes of its frames. */
const DECODED = 'apng';
const conversions = ffmpeg.conversions.filter(({ source, target }) => source === DECODED && target !== 'gif' && target !== 'webp');

export const engine: Engine = {
  id: 'animation',
  name: 'FFmpeg',
  role: 'audio_video',
  toolchains: ['media'],
  binaries: { ...ffmpeg.binaries, vips: VIPS, frames: { at: ['program:pictures/frames.ts'] } },
  conversions: [{ source: 'webp', target: DECODED, rank: 60 }, ...conversions.map((conversion) => ({ ...conversion, source: 'webp' }))],
  trials: [{ file: WEBP, target: 'mp4' }],
  options: (_, target) => ffmpeg.options(target === DECODED ? 'gif' : DECODED, target),
  plan,
  ...(ffmpeg.refuse && { refuse: ffmpeg.refuse }),
  ...(ffmpeg.explain && { explain: ffmpeg.explain }),
  ...(ffmpeg.limits && { limits: ffmpeg.limits }),
};

function plan(task: Task): Plan {
  const { source, input, scratch } = task;
  const folder = `${scratch}/decoded`;
  const [frames, animation] = [`${folder}/frames.v`, `${scratch}/decoded.png`];
  return {
    steps: [
      { ...talk({ source, target: 'v', options: { strip_metadata: true }, input, output: frames }), output: folder },
      { run: 'frames', args: [frames, animation], answers: true },
    ],
    next: {
      look: probeStep(animation, { source: DECODED }),
      plan: (said) => {
        const decoded = { ...task, source: DECODED, input: animation };
        return ffmpeg.plan({ ...decoded, facts: { ...task.facts, ...readProbe(said) } });
      },
    },
  };
}
