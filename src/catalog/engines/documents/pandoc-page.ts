/** Pandoc for printing: converts Markdown to a styled page, which Chromium then prints. */
import { type Engine, everyPair, type Plan } from '../../engine.ts';
import { MD } from '../../known-good.ts';
import { TITLE, titleStep, UTF8 } from '../../planning/documents/text.ts';
import { CLEAN, HEAP, withFormulas } from './pandoc.ts';

/** Variables of Pandoc's HTML template (pandoc manual, "Variables for HTML"). */
const STYLE: Readonly<Record<string, string>> = {
  mainfont: 'Liberation Sans, Noto Sans, DejaVu Sans, sans-serif',
  monofont: 'Liberation Mono, DejaVu Sans Mono, monospace',
  fontsize: '11pt',
  linestretch: '1.4',
  backgroundcolor: 'white',
  maxwidth: '46em',
  'margin-left': '1em',
  'margin-right': '1em',
  'margin-top': '1em',
  'margin-bottom': '1em',
};

export const engine: Engine = {
  id: 'pandoc-page',
  name: 'Pandoc',
  role: 'markup',
  toolchains: ['web'],
  binaries: {
    pandoc: { at: ['/usr/bin/pandoc'], version: { args: ['--version'], pattern: /^pandoc (\d+\.\d+)/m } },
    clean: CLEAN,
    title: TITLE,
    utf8: UTF8,
  },
  readsUtf8: new Set(['md']),
  conversions: everyPair(['md'], ['html'], { rank: 75, loses: ['pictures'] }),
  trials: [{ file: MD, target: 'html' }],
  options: () => ['charset'],
  plan: ({ input, scratch, output, facts }) => {
    const style = Object.entries(STYLE).map(([name, value]) => `--variable=${name}:${value}`);
    const page = `${scratch}/page.html`;
    const written = (from: string, read: string): Plan => ({
      steps: [
        {
          run: 'pandoc',
          args: [
            '--quiet',
            '--sandbox',
            `--from=${from}`,
            '--to=html5',
            '--mathml',
            '--standalone',
            `--output=${page}`,
            ...style,
            ...HEAP,
            read,
          ],
        },
        titleStep(page, output, read),
      ],
    });
    return facts['dollars'] === true ? withFormulas({ input, scratch }, 'gfm', written) : written('gfm', input);
  },
};
