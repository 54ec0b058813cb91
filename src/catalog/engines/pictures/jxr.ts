/** jxrlib: JPEG XR, which Windows calls HD Photo. It reads and writes TIFF, which ImageMagick makes of all others. */
import { type Engine, everyPair, type Plan, type Task } from '../../engine.ts';
import { PNG } from '../../known-good.ts';
import { PICTURE_EDITS } from '../../options/options.ts';
import { decodes, overPng } from './heif.ts';
import { READERS } from './imagemagick/coders.ts';
import { pick, readAndEdit } from './imagemagick/command.ts';
import { explainImageMagick } from './imagemagick/explain.ts';
import { IMAGEMAGICK_LIMITS } from './imagemagick/inspect.ts';
import { engine as imagemagick } from './imagemagick.ts';

const DEFAULT_QUALITY = 85;

export const engine: Engine = {
  id: 'jxr',
  name: 'jxrlib',
  role: 'image',
  toolchains: ['image'],
  // Neither prints a version.
  binaries: { encode: { at: ['/usr/bin/JxrEncApp'] }, decode: { at: ['/usr/bin/JxrDecApp'] }, ...imagemagick.binaries },
  conversions: [
    { source: 'jxr', target: 'png', rank: 85, loses: ['metadata'] },
    ...everyPair(Object.keys(READERS), ['jxr'], { rank: 70, loses: ['metadata'] }),
  ],
  trials: [{ file: PNG, target: 'jxr' }],
  options: (_, target) => (target === 'jxr' ? [...PICTURE_EDITS, 'img_quality'] : []),
  ...(imagemagick.inspect && { inspect: { ...imagemagick.inspect, sources: new Set(Object.keys(READERS)) } }),
  // Version 6 of ImageMagick reads neither the profile of a HEIC nor its transparency.
  plan: (task) => (task.source === 'jxr' ? read(task) : decodes(task) ? overPng(task, write) : write(task)),
  explain: explainImageMagick,
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

function read({ input, scratch, output }: Task): Plan {
  const picture = `${scratch}/picture.tif`;
  return {
    steps: [
      { run: 'decode', args: ['-i', input, '-o', picture] },
      { run: 'convert', args: [...IMAGEMAGICK_LIMITS, `tiff:${picture}`, `png:${output}/out.png`] },
    ],
  };
}

/** 1 is lossless, whatever the format's own scale. */
function write(task: Task): Plan {
  const { options, scratch, output } = task;
  const { indices, warnings } = pick(task, undefined);
  const { args, alpha } = readAndEdit(task, indices);
  const picture = `${scratch}/picture.tif`;
  // The pixel formats that every viewer knows.
  const pixels = ['-type', alpha ? 'TrueColorMatte' : 'TrueColor', '-depth', '8', '-compress', 'None'];
  return {
    warnings,
    steps: [
      { run: 'convert', args: [...args, ...pixels, `tiff:${picture}`] },
      {
        run: 'encode',
        args: [
          ...['-i', picture, '-o', `${output}/out.jxr`, '-q', String((options.img_quality ?? DEFAULT_QUALITY) / 100)],
          // 32bppBGRA, else the transparency is taken for a channel of another kind.
          ...(alpha ? ['-c', '22'] : []),
        ],
      },
    ],
  };
}
