/** Tesseract: the text of a picture, as text or under the picture in a searchable PDF. */
import { type Engine, everyPair, type Plan, type Task } from '../engine.ts';
import { explainOcr, TESSERACT } from '../planning/ocr.ts';
import { flatten, pick, readAndEdit } from './imagemagick/command.ts';
import { explain } from './imagemagick/explain.ts';
import { CONVERT, framesOf, pingStep, readPing } from './imagemagick/inspect.ts';

/** What Leptonica reads. It tells formats by their first bytes, as our sniffing did. */
const PICTURES = ['png', 'jpg', 'tiff', 'bmp', 'webp', 'gif', 'ppm', 'pgm', 'pbm', 'jp2'];

export const engine: Engine = {
  id: 'tesseract',
  name: 'Tesseract',
  role: 'ocr',
  toolchains: ['pdf'],
  binaries: { tesseract: TESSERACT, convert: CONVERT },
  conversions: [
    ...everyPair(PICTURES, ['txt'], { rank: 50, loses: ['pictures', 'layout'] }),
    // A last resort unless `ocr_lang` asks for it: others make a PDF without reading the picture first.
    ...everyPair(PICTURES, ['pdf'], { rank: 30 }),
  ],
  options: (source) => (source === 'tiff' ? ['ocr_lang', 'pages'] : ['ocr_lang']),
  inspect: { step: pingStep, read: readPing },
  plan,
  explain: (words) => explainOcr(words) ?? explain(words),
};

/** Leptonica knows no EXIF orientation, reads no animated WebP, and takes all pages of a TIFF: such pictures are prepared for it. */
function plan(task: Task): Plan {
  const { source, target, input, output, scratch, options } = task;
  const read = (picture: string) => ({
    run: 'tesseract',
    args: [picture, `${output}/document`, '-l', options.ocr_lang ?? 'eng', target],
  });
  const { indices, warnings } = pick(task, undefined);
  const frames = framesOf(task.facts);
  const asStored = frames.every(({ upright }) => upright) && (source === 'tiff' || frames.length === 1);
  if (asStored && options.pages === undefined) return { steps: [read(input)] };
  const pages = `${scratch}/pages.tiff`;
  const prepare = {
    run: 'convert',
    args: [...readAndEdit(task, indices).args, ...flatten('#ffffff'), '-compress', 'LZW', `tiff:${pages}`],
  };
  return { warnings, steps: [prepare, read(pages)] };
}
