/** Several PDFs in one, in the order sent, with the outlines and links of all. */
import { z } from 'zod';
import { engine } from '../../engines/pdf/qpdf.ts';
import { SEVERAL_FILES, type Tool, type ToolTask } from '../../tool.ts';
import { qpdf } from '../../tool-families/pdf.ts';

const MAX_TOTAL_BYTES = 400 * 1024 * 1024;

export const tool: Tool = {
  slug: 'merge-pdf',
  summary: 'Joins 2 to 20 PDFs into one, in the order sent, with their outlines.',
  family: 'pdf',
  accepts: ['pdf'],
  files: { ...SEVERAL_FILES, totalBytes: MAX_TOTAL_BYTES },
  input: z.object({}),
  mcp: {
    name: 'merge_pdfs',
    title: 'Merge PDFs',
    description: 'Merges 2 to 20 PDFs into one, in the order given, at most 400 MB together. Keeps their outlines.',
  },
  work: { target: () => 'pdf', methods: [{ engine, plan }] },
};

/** Adds the pages of the others to the first file, whose document-level data is kept. */
function plan({ sources, output, scratch }: ToolTask) {
  const paths = sources.map(({ path }) => path);
  const [first = '', ...others] = paths;
  const joined = `${scratch}/joined.pdf`;
  const update = `${scratch}/update.json`;
  return {
    steps: [
      qpdf('--decrypt', first, '--pages', '.', ...others, '--', joined),
      { run: 'merge', args: [joined, update, scratch, ...paths] },
      qpdf(joined, `--update-from-json=${update}`, '--object-streams=generate', `${output}/document.pdf`),
    ],
  };
}
