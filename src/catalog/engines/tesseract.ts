/** Tesseract: the text of a picture, as text or under the picture in a searchable PDF. */
import { type Engine, everyPair } from '../engine.ts';
import { explainOcr, TESSERACT } from '../ocr.ts';

/** What Leptonica reads. It tells formats by their first bytes, as our sniffing did. */
const PICTURES = ['png', 'jpg', 'tiff', 'bmp', 'webp', 'gif', 'ppm', 'pgm', 'pbm', 'jp2'];

export const engine: Engine = {
  id: 'tesseract',
  name: 'Tesseract',
  role: 'ocr',
  toolchains: ['pdf'],
  binaries: { tesseract: TESSERACT },
  conversions: [
    ...everyPair(PICTURES, ['txt'], { rank: 50, loses: ['pictures', 'layout'] }),
    // A last resort unless `ocr_lang` asks for it: others make a PDF without reading the picture first.
    ...everyPair(PICTURES, ['pdf'], { rank: 30 }),
  ],
  options: () => ['ocr_lang'],
  plan: ({ input, output, target, options }) => ({
    steps: [{ run: 'tesseract', args: [input, `${output}/document`, '-l', options.ocr_lang ?? 'eng', target] }],
  }),
  explain: explainOcr,
};
