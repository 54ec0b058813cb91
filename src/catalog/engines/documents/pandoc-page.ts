/** Pandoc for printing: converts Markdown to a styled page, which Chromium then prints. */
import { type Engine, everyPair } from '../../engine.ts';
import { MD } from '../../known-good.ts';
import { UTF8 } from '../../planning/documents/text.ts';
import { HEAP } from './pandoc.ts';

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
  pagetitle: 'Document',
};

export const engine: Engine = {
  id: 'pandoc-page',
  name: 'Pandoc',
  role: 'markup',
  toolchains: ['web'],
  binaries: { pandoc: { at: ['/usr/bin/pandoc'], version: { args: ['--version'], pattern: /^pandoc (\d+\.\d+)/m } }, utf8: UTF8 },
  readsUtf8: new Set(['md']),
  conversions: everyPair(['md'], ['html'], { rank: 75, loses: ['pictures'] }),
  trials: [{ file: MD, target: 'html' }],
  options: () => ['charset'],
  plan: ({ input, output }) => {
    const style = Object.entries(STYLE).map(([name, value]) => `--variable=${name}:${value}`);
    const format = ['--sandbox', '--from=gfm', '--to=html5', '--standalone', `--output=${output}/page.html`];
    return { steps: [{ run: 'pandoc', args: ['--quiet', ...format, ...style, ...HEAP, input] }] };
  },
};
