/** Converts a web page to PDF. */
import { z } from 'zod';
import { askPage, SHEETS } from '../../engines/documents/chromium/ask.ts';
import { engine } from '../../engines/documents/chromium-web.ts';
import { flag, integer, textField } from '../../options/fields.ts';
import { ONE_PAGE, type Tool } from '../../tool.ts';

const SIZES = Object.keys(SHEETS) as (keyof typeof SHEETS)[];

const input = z.object({
  // Names of paper sizes are accepted in any case.
  page_size: textField
    .transform((sent) => SIZES.find((size) => size.toLowerCase() === sent.toLowerCase()))
    .pipe(z.enum(SIZES))
    .describe(`one of ${SIZES.join(', ')}`)
    .default('A4'),
  landscape: flag.default(false),
  wait_ms: integer(0, 10_000, ' ms').default(0),
  print_background: flag.default(true),
});

export const tool: Tool = {
  slug: 'webpage-to-pdf',
  summary: 'Makes a PDF of a web page, by its URL, as a browser would print it.',
  search: {
    en: 'website, url, print, save page, html, screenshot',
    de: 'Webseite, Internetseite, URL, drucken, speichern, HTML',
    es: 'página web, sitio, URL, imprimir, guardar, HTML',
  },
  family: 'pdf',
  accepts: [],
  files: ONE_PAGE,
  takesPage: true,
  input,
  example: { page_size: 'A4', landscape: 'true' },
  texts: {
    page_size: { means: 'Paper size.' },
    landscape: { means: 'Turns the paper.' },
    wait_ms: { means: 'How long to wait after the page has loaded, before it is printed.' },
    print_background: { means: 'Prints background colours and images.' },
  },
  work: {
    target: () => 'pdf',
    methods: [
      {
        engine,
        plan: ({ sources: [source], input: given, output }) => {
          const { page_size, landscape, wait_ms, print_background } = given as z.output<typeof input>;
          if (source === undefined) throw new Error('no page is named');
          const paper = { sheet: page_size, ownSize: false, landscape, background: print_background };
          return askPage({ source: 'url', input: source.path, output, target: 'pdf', waitMs: wait_ms, ...paper });
        },
      },
    ],
  },
};
