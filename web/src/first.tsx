/** The first view as HTML, for the document: it is seen, and files are chosen, before any script has come. Run when the page is built. */
import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { App } from './app.tsx';
import { sentences } from './parts/failure.ts';
import { PlainDone, PlainFailed, PlainStart, PlainWorking } from './plain.tsx';
import { chooseLanguage, LANGUAGES } from './words/words.ts';

/** Stands for the service's address, which is known when it is asked. */
const HERE = 'http://here.invalid/';
Object.assign(globalThis, { document: { baseURI: HERE, documentElement: {} } });

const htmlOf = (view: VNode): string => renderToString(view).replaceAll(HERE, '/');

/** By language, with addresses that begin at `/`. */
export const firstViews: Record<string, string> = {};
/** By language: `PlainViews` of the service (src/api/deps.ts). */
export const plainViews: Record<string, object> = {};
for (const language of Object.keys(LANGUAGES)) {
  await chooseLanguage([language]);
  firstViews[language] = htmlOf(<App />);
  plainViews[language] = {
    form: htmlOf(<PlainStart />),
    working: htmlOf(<PlainWorking />),
    done: htmlOf(<PlainDone />),
    failed: htmlOf(<PlainFailed />),
    sentences: sentences(),
  };
}
