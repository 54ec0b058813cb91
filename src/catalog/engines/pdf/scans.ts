/** Tesseract on PDF: runs OCR on pages without text, to text, to Markdown or to a searchable PDF; pages with text are left as they are. */
import type { Engine, NextPlan, Plan, Task } from '../../engine.ts';
import { PDF, SCAN } from '../../known-good.ts';
import { MARKDOWN, MARKDOWN_LOSES, markdownStep, printedMarkdown } from '../../planning/documents/markdown.ts';
import { explainOcr, TESSERACT } from '../../planning/documents/ocr.ts';
import { countPages, explainPdf, MEASURE, measurePdf, openPdf, PDFINFO, QPDF, textLayer } from '../../planning/documents/pdf.ts';
import { shareOf } from '../../planning/progress.ts';
import { reasonOfText } from '../../planning/told.ts';

/** Tesseract is trained on scans of about this resolution (Tesseract documentation, "Improving the quality of the output"). */
const SCAN_DPI = 300;
/** Prints the number of each page whose text is blank, and at the end how many pages there were. Spaces of other kinds: U+00A0, U+3000, U+FEFF. */
const BLANK_PAGES = `BEGIN { RS = "\\f" } { gsub(/\\302\\240|\\343\\200\\200|\\357\\273\\277/, "") } !/[^ \\t\\r\\n\\v]/ { print NR } END { print "of " NR }`;

export const engine: Engine = {
  id: 'scans',
  name: 'Tesseract',
  role: 'ocr',
  toolchains: ['pdf'],
  binaries: {
    tesseract: TESSERACT,
    scan: { at: ['program:pdf/scan.ts'] },
    markdown: MARKDOWN,
    pdftoppm: { at: ['/usr/bin/pdftoppm'] },
    pdftotext: { at: ['/usr/bin/pdftotext'] },
    awk: { at: ['/usr/bin/mawk'] },
    measure: MEASURE,
    pdfinfo: PDFINFO,
    qpdf: QPDF,
  },
  conversions: [
    { source: 'pdf', target: 'txt', rank: 70, loses: ['pictures', 'layout'] },
    { source: 'pdf', target: 'md', rank: 65, loses: MARKDOWN_LOSES },
    // A last resort unless `ocr_lang` is sent, which only this engine honours.
    { source: 'pdf', target: 'pdf', rank: 30 },
  ],
  // `dpi` alone does not request OCR for a PDF.
  trials: [
    { file: SCAN, target: 'txt' },
    { file: PDF, target: 'md' },
  ],
  options: (_, target) => (target === 'pdf' ? ['ocr_lang', 'pages', 'password'] : ['ocr_lang', 'dpi', 'pages', 'password']),
  inspect: countPages,
  plan: (task) => {
    const { steps, path, pages, warnings } = openPdf(task);
    if (task.target === 'pdf') return { steps, warnings, next: recognised(task, path) };
    const isMarkdown = task.target === 'md';
    const layer = isMarkdown ? `${task.scratch}/layer.txt` : resultOf(task);
    const next: NextPlan = {
      look: { run: 'awk', args: [BLANK_PAGES, layer] },
      plan: (said) => {
        if (said.trim() !== `of ${pages}`) return { steps: [], next: recognised(task, path) };
        // Most PDFs come from a program, and need neither OCR nor what is measured before it.
        return { steps: isMarkdown ? printedMarkdown(path, task) : [] };
      },
    };
    return { steps: [...steps, textLayer(path, layer)], warnings, next };
  },
  explain: (output, code) => reasonOfText(output, code) ?? explainPdf(output) ?? explainOcr(output),
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
      const isMarkdown = task.target === 'md';
      const written = isMarkdown ? `${task.scratch}/words.tsv` : resultOf(task);
      const scan = { run: 'scan', args: [path, written, task.scratch, language, String(dpi), String(largestUnit)], progress: shareOf };
      return { steps: isMarkdown ? [scan, markdownStep(written, task.output)] : [scan] };
    },
  };
}
