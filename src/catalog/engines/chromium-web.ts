/** Chromium for pages on the web, which it fetches through the egress proxy. It converts no files; only a tool uses it. */
import type { Engine } from '../engine.ts';
import { explainPage, LIMITS, SHELL } from './chromium/ask.ts';

export const engine: Engine = {
  id: 'chromium-web',
  name: 'Chromium',
  role: 'web',
  toolchains: ['web'],
  binaries: { shell: SHELL, page: { at: ['program:page.ts'], egress: true } },
  conversions: [],
  options: () => [],
  plan: () => ({ steps: [] }),
  explain: explainPage,
  limits: LIMITS,
};
