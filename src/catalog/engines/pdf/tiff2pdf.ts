/** Pictures to PDF, one per page: ImageMagick writes the pages to a TIFF, and libtiff's tiff2pdf converts that to a PDF. */
import type { Engine, Plan, Task } from '../../engine.ts';
import { everyPair } from '../../engine.ts';
import { PNG } from '../../known-good.ts';
import { PICTURE_EDITS } from '../../options/options.ts';
import { decodes, overPng } from '../pictures/heif.ts';
import { READERS } from '../pictures/imagemagick/coders.ts';
import { flatten, pick, readAndEdit, STRIP, type Unread } from '../pictures/imagemagick/command.ts';
import { explainImageMagick } from '../pictures/imagemagick/explain.ts';
import { overRaster } from '../pictures/imagemagick/photoshop.ts';
import { INSPECTION, engine as imagemagick } from '../pictures/imagemagick.ts';
import { VIPS } from '../pictures/sharp.ts';
import { planImageMagick, TIFFINFO } from '../pictures/tiff/read.ts';
import { readTags, tagsStep } from '../pictures/tiff/tags.ts';

/** Pixels per inch for pictures that state none: the value of browsers (CSS 2.1, 4.3.2). */
const DEFAULT_DENSITY = 96;

/** Black-and-white sources, which JPEG would blur. */
const BILEVEL = new Set(['pbm', 'xbm']);

export const engine: Engine = {
  id: 'tiff2pdf',
  name: 'tiff2pdf',
  role: 'image',
  toolchains: ['image'],
  binaries: {
    tiff2pdf: { at: ['/usr/bin/tiff2pdf'], version: { args: ['-h'], pattern: /LIBTIFF, Version (\d+\.\d+\.\d+)/ } },
    ...imagemagick.binaries,
    tiffinfo: TIFFINFO,
    vips: VIPS,
  },
  conversions: everyPair(Object.keys(READERS), ['pdf'], { rank: 70 }),
  trials: [{ file: PNG, target: 'pdf' }],
  options: (source) => [
    ...PICTURE_EDITS,
    'strip_metadata',
    'background',
    ...(BILEVEL.has(source) ? [] : (['img_quality'] as const)),
    ...(READERS[source]?.takes === 'pages' ? (['pages'] as const) : []),
  ],
  inspect: {
    step: (input, task) => (task.source === 'tiff' ? tagsStep(input) : INSPECTION.step(input, task)),
    read: (stdout, task) => (task.source === 'tiff' ? readTags(stdout) : INSPECTION.read(stdout, task)),
  },
  // Version 6 of ImageMagick reads neither the profile of a HEIC nor its transparency.
  plan: (task) => (task.source === 'tiff' ? planImageMagick(task, paged) : decodes(task) ? overPng(task, paged) : overRaster(task, paged)),
  explain: explainImageMagick,
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

function paged(task: Task, unread: Unread = {}): Plan {
  const { source, options, scratch, output } = task;
  const { indices, warnings } = pick(task, 'pages');
  const picture = readAndEdit(task, indices, unread);
  const pages = `${scratch}/pages.tiff`;
  const bilevel = BILEVEL.has(source);
  const pixels = bilevel ? ['-monochrome', '-compress', 'Group4'] : ['-type', 'TrueColor', '-compress', 'None'];
  const compress = bilevel ? [] : ['-j', '-q', `${Math.max(1, options.img_quality ?? 80)}`];
  return {
    warnings,
    steps: [
      {
        run: 'convert',
        args: [
          ...picture.args,
          ...flatten(options.background ?? '#ffffff'),
          ...(options.strip_metadata ? STRIP : []),
          ...['-density', `${picture.density ?? DEFAULT_DENSITY}`, '-units', 'PixelsPerInch', '-depth', '8'],
          ...pixels,
          `tiff:${pages}`,
        ],
      },
      { run: 'tiff2pdf', args: [...compress, '-m', '1024', '-o', `${output}/out.pdf`, pages] },
    ],
  };
}
