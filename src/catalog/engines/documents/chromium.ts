/** Chromium: HTML to PDF and PNG, as a browser shows it. The page runs no scripts and loads nothing from outside. */
import { type Engine, everyPair } from '../../engine.ts';
import { HTML } from '../../known-good.ts';
import { askPage, CHILD, explainPage, PAGE_LIMITS, SHELL } from './chromium/ask.ts';

export const engine: Engine = {
  id: 'chromium',
  name: 'Chromium',
  role: 'web',
  toolchains: ['web'],
  binaries: { shell: SHELL, child: CHILD, page: { at: ['program:documents/page.ts'], starts: 'child' } },
  conversions: everyPair(['html'], ['pdf', 'png'], { rank: 95 }),
  trials: [{ file: HTML, target: 'pdf', slow: true }],
  options: () => [],
  plan: ({ target, input, output }) =>
    askPage({ source: 'html', input, output, target, sheet: 'A4', ownSize: true, landscape: false, waitMs: 0, background: true }),
  explain: explainPage,
  limits: PAGE_LIMITS,
};
