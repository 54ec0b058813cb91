/** Loads a page into a tab, from the file or from the web, and waits until it has loaded. */
import { readFile, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Payload } from './devtools.ts';
import { boundPage, PageRefusal, type PageRequest, type PageWarning } from './request.ts';
import type { Tab } from './tab.ts';

/** Chromium accepts messages of 100 MiB; in base64, a file of this size takes two thirds of that. */
const MAX_FILE_BYTES = 48 << 20;
/** URL under which a file is loaded: a reserved name (RFC 2606, 2), so that its origin has no owner. */
const DOCUMENT_URL = 'http://document.invalid/';
/** The policy of an uploaded page: it runs no scripts and loads nothing from outside. */
const INERT =
  "sandbox; default-src 'none'; style-src 'unsafe-inline' data:; img-src data:; font-src data:; media-src data:; base-uri 'none'; form-action 'none'";

/** @throws PageRefusal `page_unreachable`, `input_limit` */
export async function load(tab: Tab, { source, input, loadMs, waitMs }: PageRequest): Promise<PageWarning[]> {
  const url = source === 'url' ? await readUrl(input) : await serveFile(tab, input);
  const watch = await watchLoading(tab);
  const deadline = sleep(loadMs, 'late' as const, { ref: false });
  const begun = await tab.alive(Promise.race([tab.send('Page.navigate', { url }), deadline]));
  if (begun === 'late') throw new PageRefusal('page_unreachable', 'no answer in time');
  if (typeof begun['errorText'] === 'string') throw new PageRefusal('page_unreachable', begun['errorText']);
  const loaded = await tab.alive(Promise.race([watch.loaded, deadline]));
  if (loaded === 'late') await tab.alive(tab.send('Page.stopLoading'));
  const status = watch.status();
  if (status >= 400) throw new PageRefusal('page_unreachable', `the server answers with status ${status}`);
  await tab.alive(sleep(waitMs));
  const message = `The page had not finished loading after ${loadMs / 1000} seconds; the result shows it as it was then.`;
  return loaded === 'late' ? [{ code: 'page_incomplete', message }] : [];
}

/** The URL was checked before. This refuses other schemes that Chromium opens and Landlock permits: /etc/passwd, its own pages. */
async function readUrl(input: string): Promise<string> {
  const url = (await readFile(input, 'utf8')).trim();
  if (!/^https?:\/\//.test(url)) throw new PageRefusal('page_unreachable', 'not a web page');
  return url;
}

/** Answers the first request of the tab with the file, and refuses every other. */
async function serveFile(tab: Tab, input: string): Promise<string> {
  boundPage('bytes', MAX_FILE_BYTES, (await stat(input)).size);
  const page = await readFile(input);
  await tab.send('Emulation.setScriptExecutionDisabled', { value: true });
  await tab.send('Fetch.enable', { patterns: [{ urlPattern: '*' }] });
  let served = false;
  tab.on((event, { requestId, request }) => {
    if (event !== 'Fetch.requestPaused') return;
    const isPage = !served && (request as Payload)['url'] === DOCUMENT_URL;
    served ||= isPage;
    const answer = isPage
      ? tab.send('Fetch.fulfillRequest', { requestId, responseCode: 200, responseHeaders: headersOf(page), body: page.toString('base64') })
      : tab.send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' });
    answer.catch(() => {});
  });
  return DOCUMENT_URL;
}

const headersOf = (page: Buffer): object[] => [
  { name: 'content-type', value: isUtf8(page) ? 'text/html; charset=utf-8' : 'text/html' },
  { name: 'content-security-policy', value: INERT },
];

/** Text that is valid UTF-8 is hardly ever anything else, and seldom declares it; encodings with escapes (ISO-2022) do declare theirs. */
function isUtf8(page: Buffer): boolean {
  if (page.includes(0x1b)) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(page);
    return true;
  } catch {
    return false;
  }
}

/** Waits until the main frame has loaded; if a script or a refresh navigates before that, until the next page has loaded. */
async function watchLoading(tab: Tab) {
  await tab.send('Page.setLifecycleEventsEnabled', { enabled: true });
  await tab.send('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 });
  const { frameTree } = await tab.send('Page.getFrameTree');
  const blank = ((frameTree as Payload)['frame'] as Payload)['loaderId'];
  let leaving = false;
  let status = 0;
  const loaded = new Promise<'loaded'>((settle) =>
    tab.on((event, payload) => {
      if (payload['frameId'] === tab.frame && event === 'Page.frameRequestedNavigation') leaving = payload['disposition'] === 'currentTab';
      if (payload['frameId'] === tab.frame && event === 'Network.responseReceived' && payload['type'] === 'Document')
        status = Number((payload['response'] as Payload)['status']);
      if (event === 'Page.frameNavigated' && (payload['frame'] as Payload)['id'] === tab.frame) leaving = false;
      const isEnd = event === 'Page.lifecycleEvent' && payload['name'] === 'load' && payload['frameId'] === tab.frame;
      if (isEnd && payload['loaderId'] !== blank && !leaving) settle('loaded');
    }),
  );
  return { loaded, status: () => status };
}
