/** Chromium for pages on the web, which it fetches through the egress proxy. It converts no files; only a tool uses it. */
import type { Engine } from '../../engine.ts';
import { HTML } from '../../known-good.ts';
import { askPage, CHILD, explainPage, PAGE_LIMITS, SHELL } from './chromium/ask.ts';

export const engine: Engine = {
  id: 'chromium-web',
  name: 'Chromium',
  role: 'web',
  toolchains: ['web'],
  binaries: { shell: SHELL, child: CHILD, page: { at: ['program:documents/page.ts'], starts: 'child', egress: true } },
  conversions: [],
  trials: [{ file: HTML, target: 'pdf', slow: true }],
  options: () => [],
  // For its trial: a page that is here needs no Internet.
  plan: ({ target, input, output }) =>
    askPage({ source: 'html', input, output, target, sheet: 'A4', ownSize: true, landscape: false, waitMs: 0, background: true }),
  explain: explainPage,
  limits: PAGE_LIMITS,
};
