/** Tesseract: OCR of a picture, to text, to Markdown or to a searchable PDF. */
import { type Engine, everyPair, type Plan, type Task } from '../../engine.ts';
import { PNG } from '../../known-good.ts';
import { MARKDOWN, MARKDOWN_LOSES, markdownStep } from '../../planning/documents/markdown.ts';
import { explainOcr, READ_PICTURE, recogniserOf, TESSERACT } from '../../planning/documents/ocr.ts';
import { ownStep, reasonOfText, reasonTold } from '../../planning/told.ts';
import { flatten, pick, readAndEdit } from '../pictures/imagemagick/command.ts';
import { explainImageMagick } from '../pictures/imagemagick/explain.ts';
import { CONVERT, framesOf, pingStep, readPing } from '../pictures/imagemagick/inspect.ts';

/** Formats that Leptonica reads. It detects them by their first bytes, as our sniffing does. */
const PICTURES = ['png', 'jpg', 'tiff', 'bmp', 'webp', 'gif', 'ppm', 'pgm', 'pbm', 'jp2'];
/** An APNG is a PNG to a program without animations. */
const READ = [...PICTURES, 'apng'];
const asStill = <T extends Pick<Task, 'source'>>(task: T): T => (task.source === 'apng' ? { ...task, source: 'png' } : task);

export const engine: Engine = {
  id: 'tesseract',
  name: 'Tesseract',
  role: 'ocr',
  toolchains: ['pdf'],
  binaries: { tesseract: TESSERACT, markdown: MARKDOWN, convert: CONVERT, read: READ_PICTURE },
  conversions: [
    ...everyPair(READ, ['txt'], { rank: 50, loses: ['pictures', 'layout'] }),
    ...everyPair(READ, ['md'], { rank: 50, loses: MARKDOWN_LOSES }),
    // A last resort unless `ocr_lang` is sent: other engines make a PDF without OCR.
    ...everyPair(PICTURES, ['pdf'], { rank: 30 }),
  ],
  trials: [
    { file: PNG, target: 'txt' },
    { file: PNG, target: 'md' },
  ],
  options: (source) => (source === 'tiff' ? ['ocr_lang', 'recogniser', 'pages'] : ['ocr_lang', 'recogniser']),
  inspect: { step: (input, task) => pingStep(input, asStill(task)), read: readPing },
  plan: (task) => (task.source === 'apng' ? readStill(task) : plan(task)),
  explain: (output, code) =>
    reasonTold(output, code, ['model_not_installed']) ?? reasonOfText(output, code) ?? explainOcr(output) ?? explainImageMagick(output),
};

function readStill(task: Task): Plan {
  const { warnings = [], ...still } = plan(asStill(task));
  const message = 'The source is an animation: the result is the text of its first frame.';
  return { ...still, warnings: [...warnings, { code: 'animation_first_frame', message }] };
}

/** Leptonica ignores EXIF orientations, cannot read animated WebP nor a JPEG without its end, and reads all pages of a TIFF: ImageMagick prepares such pictures. */
function plan(task: Task): Plan {
  const { source, target, input, output, scratch, options } = task;
  const isMarkdown = target === 'md';
  const written = isMarkdown ? `${scratch}/words` : `${output}/document`;
  const read = (picture: string) => [
    ownStep('read', [
      ...recogniserOf(options),
      picture,
      written,
      `${scratch}/read`,
      options.ocr_lang ?? 'eng',
      isMarkdown ? 'tsv' : target,
    ]),
    ...(isMarkdown ? [markdownStep(`${written}.tsv`, output)] : []),
  ];
  const { indices, warnings } = pick(task, undefined);
  const frames = framesOf(task.facts);
  const asStored = frames.every(({ upright }) => upright) && (source === 'tiff' || frames.length === 1);
  if (asStored && source !== 'jpg' && options.pages === undefined) return { steps: read(input) };
  const pages = `${scratch}/pages.tiff`;
  const prepare = {
    run: 'convert',
    args: [...readAndEdit(task, indices).args, ...flatten('#ffffff'), '-compress', 'LZW', `tiff:${pages}`],
  };
  return { warnings, steps: [prepare, ...read(pages)] };
}
