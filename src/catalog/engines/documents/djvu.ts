/** DjVuLibre: scanned books, as PDF or as the text that was recognised in them. */
import { conversionFailed, inputLimit } from '../../../errors.ts';
import { MAX_PAGES, MAX_PIXELS } from '../../bounds.ts';
import type { Engine, Facts, Plan, Task } from '../../engine.ts';
import { DJVU } from '../../known-good.ts';
import { choosePages } from '../../options/pages.ts';

const DEFAULT_QUALITY = 85;

interface Scanned extends Facts {
  readonly pages: number;
  /** Whether text was recognised on some page. */
  readonly text: boolean;
}

export const engine: Engine = {
  id: 'djvu',
  name: 'DjVuLibre',
  role: 'pdf',
  toolchains: ['pdf'],
  binaries: {
    ddjvu: { at: ['/usr/bin/ddjvu'], version: { args: ['--help'], pattern: /DjVuLibre-(\d+\.\d+)/ } },
    djvutxt: { at: ['/usr/bin/djvutxt'] },
    djvudump: { at: ['/usr/bin/djvudump'] },
  },
  conversions: [
    { source: 'djvu', target: 'pdf', rank: 80, loses: ['text that was recognised', 'links', 'outline'] },
    { source: 'djvu', target: 'txt', rank: 80, loses: ['layout', 'pictures', 'text that is only a picture'] },
  ],
  trials: [
    { file: DJVU, target: 'pdf' },
    { file: DJVU, target: 'txt' },
  ],
  options: (_, target) => (target === 'pdf' ? ['pages', 'img_quality'] : ['pages']),
  inspect: { step: (input) => ({ run: 'djvudump', args: [input] }), read: readDump },
  plan,
};

/** @throws Failure `input_limit`, `unsupported_variant`, or `corrupt_input` where there is no page */
function readDump(stdout: string): Scanned {
  if (/Document directory \(indirect/.test(stdout))
    throw conversionFailed('unsupported_variant', {
      says: 'The pages of this DjVu are in other files: send a DjVu that contains all its pages.',
    });
  const sizes = [...stdout.matchAll(/^ {0,8}INFO \[\d{1,9}\] {1,20}DjVu (\d{1,9})x(\d{1,9}),/gm)];
  if (sizes.length === 0) throw conversionFailed('corrupt_input');
  if (sizes.length > MAX_PAGES) throw inputLimit('pages', MAX_PAGES, sizes.length);
  const pixels = Math.max(...sizes.map(([, width, height]) => Number(width) * Number(height)));
  if (pixels > MAX_PIXELS) throw inputLimit('pixels', MAX_PIXELS, pixels);
  return { pages: sizes.length, text: /^ {0,8}TXT[az] \[/m.test(stdout) };
}

function plan({ input, output, target, options, facts }: Task): Plan {
  const { pages: count, text } = facts as Scanned;
  const { pages, warnings } = choosePages(options.pages, count);
  const chosen = pages.join(',');
  if (target === 'pdf') {
    const quality = `-quality=${Math.max(25, Math.min(options.img_quality ?? DEFAULT_QUALITY, 100))}`;
    return { warnings, steps: [{ run: 'ddjvu', args: ['-format=pdf', quality, `-page=${chosen}`, input, `${output}/out.pdf`] }] };
  }
  if (!text)
    throw conversionFailed('unsupported_variant', {
      says: 'This DjVu contains no recognised text: convert it to PDF, and the PDF to text, which reads the scans.',
    });
  return { warnings, steps: [{ run: 'djvutxt', args: [`--page=${chosen}`, input, `${output}/out.txt`] }] };
}
