/** The first view as HTML, for the document: it is seen, and files are chosen, before any script has come. Run when the page is built. */
import { renderToString } from 'preact-render-to-string';
import { App } from './app.tsx';
import { chooseLanguage, LANGUAGES } from './words/words.ts';

/** Stands for the service's address, which is known when it is asked. */
const HERE = 'http://here.invalid/';
Object.assign(globalThis, { document: { baseURI: HERE, documentElement: {} } });

/** By language, with addresses that begin at `/`. */
export const firstViews: Record<string, string> = {};
for (const language of Object.keys(LANGUAGES)) {
  await chooseLanguage([language]);
  firstViews[language] = renderToString(<App />).replaceAll(HERE, '/');
}
