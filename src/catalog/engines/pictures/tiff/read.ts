/** Decodes a TIFF by libvips or by ImageMagick, whichever reads what the file says that it is. */
import { conversionFailed } from '../../../../errors.ts';
import type { Binary, Plan, ProcessStep, Step, Task } from '../../../engine.ts';
import { pick, type Unread } from '../imagemagick/command.ts';
import { boundedFrames, IMAGEMAGICK_LIMITS } from '../imagemagick/inspect.ts';
import { pagesAt, RARE_TIFF_SAYS } from '../libvips/request.ts';
import { pictured, talk } from '../sharp.ts';
import { type Decoder, type TiffPage, tiffPages } from './tags.ts';

export const TIFFINFO: Binary = { at: ['/usr/bin/tiffinfo'], version: { args: ['-h'], pattern: /LIBTIFF, Version (\d+\.\d+\.\d+)/ } };

/** libvips' plan for a TIFF, of which ImageMagick first makes one that libvips reads, where it does not read that kind. */
export function planVips(task: Task): Plan {
  const { indices, pages, warnings } = chosen(task);
  if (canRead(pages, 'libvips')) return pictured(task, task.input, coloursOf(pages));
  const plain = `${task.scratch}/plain.tiff`;
  const { pages: _, ...options } = task.options;
  const decode = decoding(`tiff:${task.input}[${indices.join(',')}]`, plain, pages);
  const { steps } = pictured({ ...task, options, input: plain }, task.input);
  return { steps: [decode, ...steps.map((step) => ('talk' in step ? { ...step, input: plain } : step))], warnings };
}

/**
 * ImageMagick's plan for a TIFF, of which libvips first makes one that ImageMagick reads, where it misreads that kind.
 * @param work gets the path of the source, too, whose EXIF it carries over
 */
export function planImageMagick(task: Task, work: (task: Task, unread: Unread, tiff: string) => Plan): Plan {
  const { indices, pages, warnings } = chosen(task);
  boundedFrames(pages);
  if (canRead(pages, 'imagemagick')) return work(task, { means: opaque(pages) }, task.input);
  const [folder, plain] = [`${task.scratch}/pages`, `${task.scratch}/plain.tiff`];
  const { pages: _, ...options } = task.options;
  const numbers = indices.map((index): [number, number] => [index + 1, index + 1]);
  const output = `${folder}/page.png`;
  const order = { source: 'tiff', target: 'png', options: { pages: numbers }, input: task.input, output };
  const steps: Step[] = [
    { ...talk({ ...order, colours: coloursOf(pages) }), output: folder },
    {
      run: 'convert',
      args: [...IMAGEMAGICK_LIMITS, ...pagesAt(output, indices.length).map((path) => `png:${path}`), '-compress', 'None', `tiff:${plain}`],
    },
  ];
  // libvips has turned them upright.
  const frames = pages.map(({ width, height, onItsSide, ...page }) => ({
    ...page,
    ...(onItsSide ? { width: height, height: width } : { width, height }),
    ...{ upright: true, onItsSide: false },
  }));
  const plan = work({ ...task, options, input: plain, facts: { frames } }, {}, task.input);
  return { steps: [...steps, ...plan.steps], warnings };
}

/** The pages that the result is made of. @throws Failure `input_limit` if none is there, `unsupported_variant` if nothing reads one of them */
function chosen(task: Task): { indices: readonly number[]; pages: readonly TiffPage[]; warnings: Plan['warnings'] & object } {
  const { indices, warnings } = pick(task, 'pages');
  const all = tiffPages(task.facts);
  const pages = indices.flatMap((index) => all[index] ?? []);
  if (!canRead(pages, 'libvips') && !canRead(pages, 'imagemagick')) throw conversionFailed('unsupported_variant', { says: RARE_TIFF_SAYS });
  return { indices, pages, warnings };
}

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
