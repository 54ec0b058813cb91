/** Comic books, which are pictures in a ZIP: each becomes a page, by img2pdf, which leaves JPEG and PNG as they are. */
import { z } from 'zod';
import { conversionFailed } from '../../../errors.ts';
import { MAX_PAGES } from '../../bounds.ts';
import type { Engine, Plan, ProcessStep, Task } from '../../engine.ts';
import { CBZ } from '../../known-good.ts';
import { flatten } from '../pictures/imagemagick/command.ts';
import { explainImageMagick } from '../pictures/imagemagick/explain.ts';
import { CONVERT, IMAGEMAGICK_LIMITS } from '../pictures/imagemagick/inspect.ts';

export const engine: Engine = {
  id: 'comic',
  name: 'img2pdf',
  role: 'pdf',
  toolchains: ['pdf'],
  binaries: {
    img2pdf: { at: ['/usr/bin/img2pdf'], version: { args: ['--version'], pattern: /img2pdf (\d+\.\d+)/ } },
    comic: { at: ['program:documents/comic.ts'] },
    convert: CONVERT,
  },
  conversions: [{ source: 'cbz', target: 'pdf', rank: 85, loses: ['what is written beside the pages'] }],
  trials: [{ file: CBZ, target: 'pdf' }],
  options: () => [],
  plan: (task) => ({
    steps: [],
    next: { look: { run: 'comic', args: [task.input, task.scratch] }, plan: (said) => bound(pagesIn(said), task) },
  }),
  explain: explainImageMagick,
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

/** What `exec/programs/documents/comic.ts` prints. */
const page = z.object({ name: z.string().regex(/^\d{4}\.[a-z]{3,4}$/), decode: z.enum(['png', 'gif', 'webp', 'bmp', 'tiff']).optional() });
const answer = z.object({ pages: z.array(page).min(1).max(MAX_PAGES) });
type Page = Readonly<z.infer<typeof page>>;

/** A book may have taken the program over: nothing but what it writes is believed. @throws Failure `corrupt_input` */
function pagesIn(said: string): readonly Page[] {
  const { data } = answer.safeParse(parsed(said.trimEnd().split('\n').at(-1) ?? ''));
  if (data === undefined) throw conversionFailed('corrupt_input');
  return data.pages;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function bound(pages: readonly Page[], { scratch, output }: Task): Plan {
  const decoded = ({ name }: Page) => `${scratch}/${name}.plain.png`;
  const decode = (page: Page): ProcessStep => ({
    run: 'convert',
    args: [
      ...IMAGEMAGICK_LIMITS,
      `${page.decode}:${scratch}/${page.name}[0]`,
      ...['-auto-orient', ...flatten('#ffffff'), '-interlace', 'none', '-depth', '8'],
      `png:${decoded(page)}`,
    ],
  });
  const files = pages.map((page) => (page.decode === undefined ? `${scratch}/${page.name}` : decoded(page)));
  return {
    steps: [
      ...pages.filter((page) => page.decode !== undefined).map(decode),
      { run: 'img2pdf', args: ['--rotation=ifvalid', '--nodate', '-o', `${output}/out.pdf`, ...files] },
    ],
  };
}
