/** The first view in Chromium: it is there, and takes files, before its script is. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { picture } from '../../kit/fixtures/pictures/photos.ts';
import { filesOf, nothingOdd, pageGround, start, untilStates, visit } from './browser.ts';

const ground = pageGround('first-view');

/** Passes requests on, and keeps the script of the document back until it is told. */
async function slowScript() {
  const told = Promise.withResolvers<void>();
  const front = createServer((asked, answer) => {
    const headers = { ...asked.headers, 'accept-encoding': 'identity' };
    const passed = request(`${ground.url}${asked.url}`, { method: asked.method ?? 'GET', headers }, async (came) => {
      answer.writeHead(came.statusCode ?? 502, came.headers);
      if (asked.url !== '/') return void came.pipe(answer);
      const html = Buffer.concat(await came.toArray()).toString();
      const at = html.indexOf('<script');
      answer.write(html.slice(0, at));
      await told.promise;
      answer.end(html.slice(at));
    });
    asked.pipe(passed);
  }).listen(0, '127.0.0.1');
  await once(front, 'listening');
  const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  return { url, send: told.resolve, close: () => front.close() };
}

it.each([
  ['en-US', 'Convert files', 'Convert 1 file'],
  ['de-AT', 'Dateien umwandeln', '1 Datei umwandeln'],
])('takes files before its script has come, for a browser of %s', async (locale, headline, press) => {
  const front = await slowScript();
  // It waits for a heading, not for the whole document.
  const visited = await visit(ground.browser, front.url, { locale }, 'commit');
  const { page } = visited;
  await page.getByRole('heading', { name: headline }).waitFor();
  await filesOf(page).setInputFiles(await picture(ground.folder, `${locale}.png`));
  expect(await page.locator('.task').count()).toBe(0);
  front.send();
  await page.getByRole('button', { name: press }).waitFor();
  await start(page);
  await untilStates(page, ['done']);
  nothingOdd(visited);
  await visited.close();
  front.close();
});
