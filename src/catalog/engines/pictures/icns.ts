/** icnsutils: Apple's icons, read as the largest of their pictures and written in every usual size. */
import { conversionFailed } from '../../../errors.ts';
import type { Engine, Facts, Plan, Task } from '../../engine.ts';
import { everyPair } from '../../engine.ts';
import { PNG } from '../../known-good.ts';
import { PICTURE_EDITS } from '../../options/options.ts';
import { READERS } from './imagemagick/coders.ts';
import { pick, readAndEdit, STRIP } from './imagemagick/command.ts';
import { explainImageMagick } from './imagemagick/explain.ts';
import { CONVERT, IMAGEMAGICK_LIMITS, pingStep, readPing } from './imagemagick/inspect.ts';

/** Sides that the format has with opacity, px. */
const SIDES = [16, 32, 48, 128, 256, 512] as const;

export const engine: Engine = {
  id: 'icns',
  name: 'icnsutils',
  role: 'image',
  toolchains: ['image'],
  binaries: {
    read: { at: ['/usr/bin/icns2png'], version: { args: ['--version'], pattern: /icns2png (\d+\.\d+)/ } },
    write: { at: ['/usr/bin/png2icns'] },
    convert: CONVERT,
  },
  conversions: [{ source: 'icns', target: 'png', rank: 90 }, ...everyPair(Object.keys(READERS), ['icns'], { rank: 70 })],
  trials: [{ file: PNG, target: 'icns' }],
  options: (_, target) => (target === 'icns' ? [...PICTURE_EDITS, 'strip_metadata'] : []),
  inspect: {
    step: (input, task) => (task.source === 'icns' ? { run: 'read', args: ['-l', input] } : pingStep(input, task)),
    read: (stdout, task) => (task.source === 'icns' ? largestOf(stdout) : readPing(stdout)),
  },
  plan: (task) => (task.source === 'icns' ? read(task) : write(task)),
  explain: explainImageMagick,
};

/** @throws Failure `corrupt_input` if no picture with 32 bits a pixel is listed */
function largestOf(listed: string): Facts {
  const sides = [...listed.matchAll(/' (\d{1,4})x\1 32-bit icon/g)].map(([, side]) => Number(side));
  if (sides.length === 0) throw conversionFailed('corrupt_input');
  return { side: Math.max(...sides) };
}

function read({ input, scratch, output, facts }: Task): Plan {
  const name = (input.split('/').at(-1) ?? '').replace(/\.icns$/, '');
  const side = Number(facts['side']);
  return {
    steps: [
      { run: 'read', args: ['-x', '-o', scratch, input] },
      { run: 'convert', args: [...IMAGEMAGICK_LIMITS, `png:${scratch}/${name}_${side}x${side}x32.png`, `png32:${output}/out.png`] },
    ],
  };
}

function write(task: Task): Plan {
  const { options, scratch, output } = task;
  const { indices, warnings } = pick(task, undefined);
  const picture = readAndEdit(task, indices);
  const side = Math.max(picture.width, picture.height);
  const sides = SIDES.filter((each) => each <= Math.max(side, 16));
  const pictures = sides.map((each) => `${scratch}/${each}.png`);
  return {
    warnings,
    steps: [
      {
        run: 'convert',
        args: [
          ...picture.args,
          ...(options.strip_metadata ? STRIP : []),
          // A square with the picture in its middle.
          ...['-background', 'none', '-gravity', 'center', '-extent', `${side}x${side}`],
          ...sides.flatMap((each, place) => [
            '(',
            '-clone',
            '0',
            '-resize',
            `${each}x${each}`,
            '-write',
            `png32:${pictures[place]}`,
            '+delete',
            ')',
          ]),
          'null:',
        ],
      },
      { run: 'write', args: [`${output}/out.icns`, ...pictures] },
    ],
  };
}
