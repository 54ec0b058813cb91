/** The first view as HTML, for the document: it is seen, and files are chosen, before any script has come. Run when the page is built. */
import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { App } from './app.tsx';
import { sentences } from './parts/failure.ts';
import { PlainDone, PlainFailed, PlainStart, PlainWorking } from './plain.tsx';
import { catalog } from './words/catalog.de.ts';
import { viewTitle } from './words/titles.ts';
import { chooseLanguage, LANGUAGES, t, toolName, toolSummary } from './words/words.ts';

/** Stands for the service's address, which is known when it is asked. */
const HERE = 'http://here.invalid/';
Object.assign(globalThis, { document: { baseURI: HERE, documentElement: {} } });

const htmlOf = (view: VNode): string => renderToString(view).replaceAll(HERE, '/');

/** By language, with addresses that begin at `/`. */
export const firstViews: Record<string, string> = {};
/** By language: `PageHeads` of the service (src/api/page-files.ts). */
export const heads: Record<string, object> = {};
/** By language: `PlainViews` of the service (src/api/page-files.ts). */
export const plainViews: Record<string, object> = {};
for (const language of Object.keys(LANGUAGES)) {
  await chooseLanguage([language]);
  firstViews[language] = htmlOf(<App />);
  const [to, from] = ['@@to@@', '@@from@@'];
  heads[language] = {
    start: { title: viewTitle(t('convert')), description: t('lead') },
    to: { title: viewTitle(t('toFormat', { to })), description: t('lead') },
    pair: {
      title: viewTitle(t('fromTo', { from, to })),
      description: t('pairLead', { from: '@@fromName@@', to: '@@toName@@' }),
    },
    tools: { title: viewTitle(t('tools')), description: t('toolsLead') },
    jobs: { title: viewTitle(t('jobs')), description: t('jobsLead') },
    job: { title: viewTitle(t('job')), description: t('jobLead') },
    missing: { title: viewTitle(t('notFound')), description: t('lead') },
    tool: Object.fromEntries(
      // In the service's own language, its own sentence stands for the empty one.
      Object.keys(catalog.tools).map((slug) => [slug, { title: viewTitle(toolName(slug).text), description: toolSummary(slug, '').text }]),
    ),
  };
  plainViews[language] = {
    form: htmlOf(<PlainStart />),
    working: htmlOf(<PlainWorking />),
    done: htmlOf(<PlainDone />),
    failed: htmlOf(<PlainFailed />),
    sentences: sentences(),
  };
}
