/** libavif: every frame of an AVIF sequence, of which libvips reads the first; ImageMagick puts them together, and libvips goes on as from a WebP. */
import type { Engine, Plan, ProcessStep, Task } from '../../engine.ts';
import { AVIF_SEQUENCE } from '../../known-good.ts';
import { pictureOf } from '../../planning/headers/picture.ts';
import { CONVERT, IMAGEMAGICK_LIMITS } from './imagemagick/inspect.ts';
import { engine as sharp } from './sharp.ts';

/** For each frame, its program decodes all before it. */
const MOST_FRAMES = 200;

export const engine: Engine = {
  id: 'avif-sequence',
  name: 'libavif',
  role: 'image',
  toolchains: ['image'],
  binaries: {
    avifdec: { at: ['/usr/bin/avifdec'], version: { args: ['--version'], pattern: /^Version: (\d+\.\d+\.\d+)/m } },
    convert: CONVERT,
    ...sharp.binaries,
  },
  // Better than what reads the first frame alone.
  conversions: [
    { source: 'avif', target: 'webp', rank: 91 },
    { source: 'avif', target: 'gif', rank: 81, loses: ['colours beyond 256 a frame'] },
  ],
  trials: [{ file: AVIF_SEQUENCE, target: 'webp' }],
  options: sharp.options,
  plan,
};

function plan(task: Task): Plan {
  const frames = pictureOf(task.facts)?.frames;
  if (frames !== undefined && (frames < 2 || frames > MOST_FRAMES)) return sharp.plan(task);
  return {
    steps: [],
    next: {
      look: { run: 'avifdec', args: ['--info', task.input] },
      plan: (said) => joined(task, timesIn(said)),
    },
  };
}

/** ms that each frame is shown. */
function timesIn(said: string): readonly number[] {
  const scale = Number(/^ \* (\d{1,9}) timescales per second/m.exec(said)?.[1] ?? 1000);
  const each = said.matchAll(/ \[duration [\d.]{1,20} \((\d{1,12}) timescales\)\]/g);
  return [...each].map(([, ticks]) => Math.max(1, Math.round((Number(ticks) * 1000) / Math.max(1, scale)))).slice(0, MOST_FRAMES);
}

function joined(task: Task, times: readonly number[]): Plan {
  const { input, scratch, facts } = task;
  if (times.length < 2) return sharp.plan(task);
  const folder = `${scratch}/sequence`;
  const animation = `${scratch}/sequence.webp`;
  const frames = times.map((ms, place) => ({ ms, path: `${folder}-${String(place).padStart(4, '0')}.png` }));
  const decode = frames.map(
    ({ path }, place): ProcessStep => ({ run: 'avifdec', args: ['--index', `${place}`, '--jobs', '2', input, path] }),
  );
  const join: ProcessStep = {
    run: 'convert',
    args: [
      ...IMAGEMAGICK_LIMITS,
      ...frames.flatMap(({ ms, path }) => ['-delay', `${ms}x1000`, `png:${path}`]),
      ...['-loop', '0', '-define', 'webp:lossless=true', '-define', 'webp:method=2', `webp:${animation}`],
    ],
  };
  const { steps, ...more } = sharp.plan({
    ...task,
    source: 'webp',
    input: animation,
    facts: { ...facts, picture: undefined, orientation: undefined },
  });
  return { ...more, steps: [...decode, join, ...steps.map((step) => ('talk' in step ? { ...step, input: animation } : step))] };
}
