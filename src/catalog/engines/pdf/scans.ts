/** Tesseract on PDF: runs OCR on pages without text, to text, to Markdown, to JSON of blocks or to a searchable PDF; pages with text are left as they are. */
import type { Engine, NextPlan, Plan, ProcessStep, Task } from '../../engine.ts';
import { PDF, SCAN } from '../../known-good.ts';
import { MARKDOWN, MARKDOWN_LOSES, markdownStep, printedMarkdown } from '../../planning/documents/markdown.ts';
import { documentStep, MODEL, MODEL_LOSES, MODEL_OPTIONS, printedModel } from '../../planning/documents/model.ts';
import { explainOcr, OCR_HELPERS, recogniserOf, TESSERACT } from '../../planning/documents/ocr.ts';
import { AWK, countWords, requireOrder, UNORDERED, writtenText } from '../../planning/documents/page-words.ts';
import { countPages, explainPdf, MEASURE, measurePdf, openPdf, PDFINFO, QPDF, textLayer } from '../../planning/documents/pdf.ts';
import { shareOf } from '../../planning/progress.ts';
import { ownStep, reasonOfText, reasonTold } from '../../planning/told.ts';
import { CONVERT } from '../pictures/imagemagick/inspect.ts';

/** Tesseract is trained on scans of about this resolution (Tesseract documentation, "Improving the quality of the output"). */
const SCAN_DPI = 300;

export const engine: Engine = {
  id: 'scans',
  name: 'Tesseract',
  role: 'ocr',
  toolchains: ['pdf'],
  binaries: {
    tesseract: TESSERACT,
    convert: CONVERT,
    scan: { at: ['program:pdf/scan.ts'], starts: 'convert', helpers: OCR_HELPERS },
    markdown: MARKDOWN,
    model: MODEL,
    pdftoppm: { at: ['/usr/bin/pdftoppm'] },
    pdftotext: { at: ['/usr/bin/pdftotext'] },
    awk: AWK,
    measure: MEASURE,
    pdfinfo: PDFINFO,
    qpdf: QPDF,
  },
  conversions: [
    { source: 'pdf', target: 'txt', rank: 70, loses: ['pictures', 'layout'] },
    { source: 'pdf', target: 'md', rank: 65, loses: MARKDOWN_LOSES },
    { source: 'pdf', target: 'json', rank: 45, loses: MODEL_LOSES },
    // A last resort unless `ocr_lang` is sent, which only this engine honours.
    { source: 'pdf', target: 'pdf', rank: 30 },
  ],
  // `dpi` alone does not request OCR for a PDF.
  trials: [
    { file: SCAN, target: 'txt' },
    { file: PDF, target: 'md' },
  ],
  options: (_, target) => [
    ...(['ocr_lang', 'pages', 'password'] as const),
    ...(target === 'pdf' ? [] : (['recogniser', 'dpi'] as const)),
    ...(target === 'json' ? MODEL_OPTIONS : []),
  ],
  inspect: countPages,
  plan: (task) => {
    const { steps, path, pages, warnings } = openPdf(task);
    if (task.target === 'pdf') return { steps, warnings, next: recognised(task, path) };
    const placed = ofPlaces[task.target];
    const layer = placed ? `${task.scratch}/layer.txt` : resultOf(task);
    const next = countWords(layer, pages, (words) => {
      if (placed) requireOrder(words);
      const unordered = words.isOrdered ? [] : [UNORDERED];
      if (!words.isComplete) return { steps: [], warnings: unordered, next: recognised(task, path) };
      // Most PDFs come from a program, and need neither OCR nor what is measured before it.
      if (placed) return { steps: placed.printed(path, task) };
      return words.isOrdered ? { steps: [textLayer(path, layer)] } : { steps: [], warnings: unordered };
    });
    return { steps: [...steps, writtenText(path, layer)], warnings, next };
  },
  explain: (output, code) =>
    reasonTold(output, code, ['model_not_installed']) ?? reasonOfText(output, code) ?? explainPdf(output) ?? explainOcr(output),
};

/** Targets that are made of words and their places. */
const ofPlaces: Readonly<
  Record<
    string,
    { readonly printed: (path: string, task: Task) => readonly ProcessStep[]; readonly seen: (words: string, task: Task) => ProcessStep }
  >
> = {
  md: { printed: printedMarkdown, seen: (words, { output }) => markdownStep(words, output) },
  json: { printed: printedModel, seen: documentStep },
};

const resultOf = ({ output, target }: Task): string => `${output}/document.${target}`;

/** Pages without text are drawn, after their pictures were measured, and read. @param path of the PDF, without a password */
function recognised(task: Task, path: string): NextPlan {
  const { read, step } = measurePdf();
  const { ocr_lang: language = 'eng', dpi = SCAN_DPI } = task.options;
  return {
    look: step(path, { ...task, passwordFile: undefined }),
    plan: (said): Plan => {
      const { largestUnit = 1 } = read(said, task);
      const placed = ofPlaces[task.target];
      const written = placed ? `${task.scratch}/words.tsv` : resultOf(task);
      const args = [...recogniserOf(task.options), path, written, task.scratch, language, String(dpi), String(largestUnit)];
      const scan = { ...ownStep('scan', args), progress: shareOf };
      return { steps: placed ? [scan, placed.seen(written, task)] : [scan] };
    },
  };
}
