/** Plain text to a page, by a program of our own: what LibreOffice and Pandoc make of many short lines takes them a minute. */
import type { Engine } from '../../engine.ts';
import { TXT } from '../../known-good.ts';
import { UTF8 } from '../../planning/documents/text.ts';

export const engine: Engine = {
  id: 'text-page',
  name: 'filemill text page',
  role: 'markup',
  toolchains: ['office'],
  binaries: {
    page: { at: ['program:documents/text-page.ts'], version: { args: ['--version'], pattern: /^text-page (\d+\.\d+)/ } },
    utf8: UTF8,
  },
  readsUtf8: new Set(['txt']),
  conversions: [{ source: 'txt', target: 'html', rank: 85 }],
  trials: [{ file: TXT, target: 'html' }],
  options: () => ['charset'],
  plan: ({ input, output }) => ({ steps: [{ run: 'page', args: [input, `${output}/page.html`] }] }),
};
