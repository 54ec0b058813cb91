/**
 * TIFF, of which there are more kinds than any decoder reads: libvips or ImageMagick decodes, by what the file says of itself, and the engine of
 * the target goes on with that.
 */
import { conversionFailed } from '../../errors.ts';
import type { Engine, Plan, ProcessStep, Step, Task } from '../engine.ts';
import { TIFF } from '../known-good.ts';
import { pick } from './imagemagick/command.ts';
import { explain } from './imagemagick/explain.ts';
import { boundedFrames, IMAGEMAGICK_LIMITS } from './imagemagick/inspect.ts';
import { converted, engine as imagemagick } from './imagemagick.ts';
import { pictured, engine as sharp, talk } from './sharp.ts';
import { type Decoder, readTags, type TiffPage, tagsStep, tiffPages } from './tiff/tags.ts';

const from = ({ conversions }: Engine) => conversions.filter(({ source }) => source === 'tiff');
const byVips = new Set(from(sharp).map(({ target }) => target));

export const engine: Engine = {
  id: 'tiff',
  name: 'libtiff',
  role: 'image',
  toolchains: ['image'],
  binaries: {
    tiffinfo: { at: ['/usr/bin/tiffinfo'], version: { args: ['-h'], pattern: /LIBTIFF, Version (\d+\.\d+\.\d+)/ } },
    ...sharp.binaries,
    ...imagemagick.binaries,
  },
  // Each better than what reads the file without a look.
  conversions: [...from(sharp), ...from(imagemagick).filter(({ target }) => !byVips.has(target))].map(({ rank, ...conversion }) => ({
    ...conversion,
    rank: rank + 1,
  })),
  trials: [
    { file: TIFF, target: 'png' },
    { file: TIFF, target: 'bmp' },
  ],
  options: (source, target) => (byVips.has(target) ? sharp : imagemagick).options(source, target),
  inspect: { step: tagsStep, read: readTags },
  plan: (task) => (byVips.has(task.target) ? planVips(task) : planImageMagick(task)),
  explain,
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

function planVips(task: Task): Plan {
  const { indices, pages, warnings } = chosen(task);
  if (canRead(pages, 'libvips')) return pictured(task, task.input, coloursOf(pages));
  const plain = `${task.scratch}/plain.tiff`;
  const { pages: _, ...options } = task.options;
  const decode = decoding(`tiff:${task.input}[${indices.join(',')}]`, plain, pages);
  const { steps } = pictured({ ...task, options, input: plain }, task.input);
  return { steps: [decode, ...steps.map((step) => ('talk' in step ? { ...step, input: plain } : step))], warnings };
}

function planImageMagick(task: Task): Plan {
  const { indices, pages, warnings } = chosen(task);
  boundedFrames(pages);
  if (canRead(pages, 'imagemagick')) return converted(task, { means: opaque(pages) });
  const [folder, plain] = [`${task.scratch}/pages`, `${task.scratch}/plain.tiff`];
  const { pages: _, ...options } = task.options;
  const numbers = indices.map((index): [number, number] => [index + 1, index + 1]);
  const output = `${folder}/page.png`;
  const order = { source: 'tiff', target: 'png', options: { pages: numbers }, input: task.input, output };
  const results = indices.length === 1 ? [output] : indices.map((_, place) => `${folder}/page-${String(place + 1).padStart(4, '0')}.png`);
  const steps: Step[] = [
    { ...talk({ ...order, colours: coloursOf(pages) }), output: folder },
    { run: 'convert', args: [...IMAGEMAGICK_LIMITS, ...results.map((path) => `png:${path}`), '-compress', 'None', `tiff:${plain}`] },
  ];
  // libvips has turned them upright.
  const frames = pages.map(({ width, height, onItsSide, ...page }) => ({
    ...page,
    ...(onItsSide ? { width: height, height: width } : { width, height }),
    ...{ upright: true, onItsSide: false },
  }));
  const plan = converted({ ...task, options, input: plain, facts: { frames } }, {}, task.input);
  return { steps: [...steps, ...plan.steps], warnings };
}

/** The pages that the result is made of. @throws Failure `input_limit` if none is there, `unsupported_variant` if nothing reads one of them */
function chosen(task: Task): { indices: readonly number[]; pages: readonly TiffPage[]; warnings: Plan['warnings'] & object } {
  const { indices, warnings } = pick(task, 'pages');
  const all = tiffPages(task.facts);
  const pages = indices.flatMap((index) => all[index] ?? []);
  if (!canRead(pages, 'libvips') && !canRead(pages, 'imagemagick')) throw conversionFailed('unsupported_variant', { says: RARE });
  return { indices, pages, warnings };
}

const RARE =
  'This kind of TIFF (its number of bits, its colours or its compression) is not supported: save it as RGB or grey of 8 or 16 bits, with LZW or Deflate.';

const canRead = (pages: readonly TiffPage[], decoder: Decoder): boolean => pages.every(({ eludes }) => !eludes.includes(decoder));

/** One answer for all pages: those of one file are made by one program. */
const coloursOf = (pages: readonly TiffPage[]): number | undefined =>
  pages.every(({ colours }) => colours === pages[0]?.colours) ? pages[0]?.colours : undefined;

const opaque = (pages: readonly TiffPage[]): readonly string[] =>
  pages.some(({ colours }) => colours !== undefined) ? ['-alpha', 'off'] : [];

/** A TIFF that libvips reads: of 16 bits, in RGB, grey or inks, with its profile, and turned as before. */
function decoding(input: string, to: string, pages: readonly TiffPage[]): ProcessStep {
  boundedFrames(pages);
  const rgb = pages.some(({ derived }) => derived) ? ['-colorspace', 'sRGB'] : [];
  return {
    run: 'convert',
    args: [...IMAGEMAGICK_LIMITS, input, ...opaque(pages), ...rgb, '-depth', '16', '-compress', 'None', `tiff:${to}`],
  };
}
