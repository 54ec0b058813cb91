/** The first step of engines that load documents: counts what makes a small one large work. */
import { inputLimit } from '../../../errors.ts';
import type { Binary, Inspection } from '../../engine.ts';

export const COUNT: Binary = { at: ['program:documents/count.ts'] };

type Counted = 'depth' | 'cells' | 'chunks' | 'bookmarks' | 'paragraphs';

const LIMITS: Readonly<Record<Counted, string>> = {
  depth: 'tables within one another',
  cells: 'table cells',
  chunks: 'inserted documents',
  bookmarks: 'bookmarks',
  paragraphs: 'paragraphs',
};

/** What is scanned for tags; sheets have separate bounds once they are loaded. */
const DOCUMENTS: ReadonlySet<string> = new Set(['docx', 'odt', 'fodt', 'rtf', 'html', 'pptx', 'odp', 'fodp', 'fodg']);

/**
 * Needs the binary `count`. The fact `unreadTables` is of a page whose tables Pandoc does not read as they stand.
 * @param most of each that the engine takes; what is unset has no bound
 */
export const countDocument = (most: Partial<Readonly<Record<Counted, number>>>): Inspection => ({
  sources: DOCUMENTS,
  step: (input, { source }) => ({ run: 'count', args: [input, source] }),
  read: (stdout) => {
    const { unreadTables, ...counts } = JSON.parse(stdout) as Readonly<Record<Counted, number>> & { readonly unreadTables?: boolean };
    for (const [counted, max] of Object.entries(most) as [Counted, number][])
      if (counts[counted] > max) throw inputLimit(LIMITS[counted], max, counts[counted]);
    return unreadTables === true ? { unreadTables } : {};
  },
});
