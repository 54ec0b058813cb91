/** The first view in Chromium: it is there, and takes files, before its script is. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
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

describe('without JavaScript', () => {
  it.each([
    ['en-US', '/', 'Convert', 'the reference of the API'],
    ['de-AT', '/', 'Umwandeln', 'die Beschreibung der API'],
    ['en-US', '/tools', 'Convert', 'the reference of the API'],
  ])('the page says so at its top to a browser of %s at %s, and converts a file by a plain form', async (locale, view, press, api) => {
    const visited = await visit(ground.browser, `${ground.url}${view}`, { locale, javaScriptEnabled: false }, 'load', '.plain');
    const { page } = visited;
    expect(await page.getByRole('link', { name: api }).getAttribute('href')).toBe('/docs');
    // What would not work is not shown.
    expect(await page.locator('.intake').isVisible()).toBe(false);
    await page.locator('[name=file]').setInputFiles(await picture(ground.folder, 'plain.png', ['-resize', '60x40!']));
    await page.locator('[name=to_format]').fill('webp');
    await page.getByRole('button', { name: press, exact: true }).click();
    await page.waitForURL(/\/plain\/[0-9a-f]{32}$/);
    const link = page.locator('a.main');
    const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
    expect(download.suggestedFilename()).toBe('plain.webp');
    expect((await readFile(await download.path())).subarray(8, 12).toString()).toBe('WEBP');
    nothingOdd(visited);
    await visited.close();
  });

  it('a file that fails, and a target that there is not, are told in sentences, with the form below them', async () => {
    const visited = await visit(ground.browser, ground.url, { locale: 'de-DE', javaScriptEnabled: false }, 'load', '.plain');
    const { page } = visited;
    const whole = await readFile(await picture(ground.folder, 'whole.png', ['-resize', '60x40!']));
    const send = async (name: string, buffer: Buffer, target: string): Promise<string> => {
      await page.locator('[name=file]').setInputFiles({ name, mimeType: 'application/octet-stream', buffer });
      await page.locator('[name=to_format]').fill(target);
      await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Umwandeln', exact: true }).click()]);
      await page.getByRole('heading', { name: 'Fehlgeschlagen' }).waitFor();
      return `${await page.locator('.notice').textContent()}`;
    };
    expect(await send('cut.png', whole.subarray(0, 60), 'webp')).toContain('beschädigt');
    expect(await send('whole.png', whole, 'zzz')).toContain('Zielformat');
    const zip = Buffer.from('PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\x40\0\0\0\x40\0\0\0\x11\0\0\0word/document.xml<w:document', 'latin1');
    expect(await send('cut.docx', zip, 'pdf')).toContain('endet zu früh');
    expect(visited.complaints).toEqual([]);
    await visited.close();
  });

  it('a job that there is not is 404, and what a name says is text', async () => {
    const headers = { accept: 'text/html' };
    const unknown = await fetch(`${ground.url}/plain/${'0'.repeat(32)}`, { headers });
    expect([unknown.status, unknown.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    const form = new FormData();
    form.append('to_format', 'txt');
    form.append('file', new Blob(['a,b\n1,2\n']), `<img src=x onerror=alert(1)>@@href@@&amp;.csv`);
    const html = await (await fetch(`${ground.url}/plain`, { method: 'POST', body: form, headers })).text();
    expect(html).not.toContain('<img');
    expect(html).toContain('&#38;amp;');
    expect(html).not.toContain('<script');
  });
});
