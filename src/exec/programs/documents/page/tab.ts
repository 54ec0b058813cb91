/** A tab in its own browser context: it shares no cookies, cache or storage, and closing it deletes them. */
import type { DevTools, PageEventListener, Payload } from './devtools.ts';
import { PageRefusal } from './request.ts';

export interface Tab {
  readonly frame: string;
  send(method: string, params?: Payload): Promise<Payload>;
  /** Settles as `work` does, unless the page crashes before. @throws PageRefusal `engine_crashed` */
  alive<T>(work: Promise<T>): Promise<T>;
  on(listener: PageEventListener): void;
  close(): Promise<void>;
}

/** Px; the viewport for pictures. */
export const VIEW = { width: 1280, height: 800 };

export async function openTab(devtools: DevTools): Promise<Tab> {
  const { browserContextId } = await devtools.send('Target.createBrowserContext', { disposeOnDetach: true });
  await devtools.send('Browser.setDownloadBehavior', { behavior: 'deny', browserContextId });
  const { targetId } = await devtools.send('Target.createTarget', { url: 'about:blank', browserContextId, ...VIEW });
  const { sessionId } = await devtools.send('Target.attachToTarget', { targetId, flatten: true });
  const session = String(sessionId);
  const send = (method: string, params: Payload = {}) => devtools.send(method, params, session);

  const listeners: PageEventListener[] = [];
  let crash: (error: Error) => void = () => {};
  const crashed = new Promise<never>((_, fail) => {
    crash = fail;
  });
  crashed.catch(() => {});
  devtools.listen(session, (event, payload) => {
    if (event === 'Inspector.targetCrashed') crash(new PageRefusal('engine_crashed', 'the page crashed'));
    // No user answers dialogs, and the page would wait.
    if (event === 'Page.javascriptDialogOpening') send('Page.handleJavaScriptDialog', { accept: false }).catch(() => {});
    for (const listener of listeners) listener(event, payload);
  });
  for (const domain of ['Page', 'Inspector']) await send(`${domain}.enable`);
  return {
    // The main frame's id is that of the page.
    frame: String(targetId),
    send,
    alive: (work) => Promise.race([work, crashed]),
    on: (listener) => void listeners.push(listener),
    async close() {
      devtools.forget(session);
      await devtools.send('Target.disposeBrowserContext', { browserContextId });
    },
  };
}
