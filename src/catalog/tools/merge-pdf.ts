/** Several PDFs in one, in the order sent, with their outlines. */
import { z } from 'zod';
import { engine } from '../engines/qpdf.ts';
import { SEVERAL_FILES, type Tool } from '../tool.ts';

export const tool: Tool = {
  slug: 'merge-pdf',
  summary: 'Joins 2 to 20 PDFs into one, in the order sent.',
  family: 'pdf',
  accepts: ['pdf'],
  files: { ...SEVERAL_FILES, totalBytes: 400 * 1024 * 1024 },
  input: z.object({}),
  work: {
    engine,
    target: () => 'pdf',
    plan: ({ sources, output }) => ({
      steps: [
        { run: 'qpdf', args: ['--empty', '--pages', ...sources.map(({ path }) => path), '--', `${output}/out.pdf`], succeeds: [0, 3] },
      ],
    }),
  },
};
