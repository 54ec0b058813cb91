/** All results as one ZIP, in Chromium: written to a disk while they are fetched, whole or not at all. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { filesOf, findings, nothingOdd, pageGround, saved, start, untilStates, type Visit, visit } from './browser.ts';

const run = promisify(execFile);
const ground = pageGround('download-all');

/** So many that they are more than a page takes into memory unasked: 4.4 MB each as WAV. */
const MANY = 30;
const SECONDS = 25;
/** The first and the last two are equal but for their case. */
const NAMES = ['Tön.flac', ...Array.from({ length: MANY - 3 }, (_, n) => `日本 ${n}.flac`), 'TÖN.flac', 'tön.flac'];
const EXPECTED = ['Tön.wav', ...Array.from({ length: MANY - 3 }, (_, n) => `日本 ${n}.wav`), 'TÖN-2.wav', 'tön-3.wav'];

const NO_ROOM = 'There is no room for a ZIP of 132 MB, so none was saved.';

/** The dialog cannot be pressed from here: what it hands over is a real file all the same, in the browser's own folder. */
const DIALOG = `window.showSaveFilePicker = async ({ suggestedName }) =>
  (await navigator.storage.getDirectory()).getFileHandle(suggestedName, { create: true })`;
/** Names and sizes of what lies there, in folders too. */
const STORED = `(async function list(folder) {
  const found = [];
  for await (const [name, entry] of folder.entries())
    found.push(...(entry.kind === 'directory' ? await list(entry) : [[name, (await entry.getFile()).size]]));
  return found;
})`;
const stored = () => page.evaluate(`navigator.storage.getDirectory().then(${STORED})`) as Promise<[string, number][]>;

const downloadAll = () => page.getByRole('button', { name: `Download all ${MANY} as ZIP` });

/** The names in a ZIP that unzip finds whole. */
async function namesIn(zip: Buffer): Promise<string[]> {
  const path = join(ground.folder, 'all.zip');
  await writeFile(path, zip);
  const script = 'import sys, zipfile\nzip = zipfile.ZipFile(sys.argv[1])\nassert zip.testzip() is None\nprint("\\n".join(zip.namelist()))';
  const { stdout } = await run('python3', ['-c', script, path], { env: { PYTHONIOENCODING: 'utf-8', PATH: process.env['PATH'] } });
  return stdout.trimEnd().split('\n');
}

let visited: Visit;
let page: Page;
beforeAll(async () => {
  const tone = join(ground.folder, 'tone.flac');
  await run('/usr/bin/ffmpeg', [...['-v', 'error', '-f', 'lavfi', '-i', `sine=duration=${SECONDS}:sample_rate=44100`, '-ac', '2'], tone]);
  const buffer = await readFile(tone);
  visited = await visit(ground.browser, ground.url);
  ({ page } = visited);
  await filesOf(page).setInputFiles(NAMES.map((name) => ({ name, mimeType: 'audio/flac', buffer })));
  await page.getByRole('button', { name: 'WAV', exact: true }).click();
  await start(page);
  await downloadAll().waitFor({ timeout: 180_000 });
}, 240_000);
afterAll(() => visited.close());

const linkOf = (n: number) =>
  page
    .locator('.task')
    .nth(n)
    .getByRole('link', { name: /^Download / });

describe('30 results', () => {
  it('are written to the file that a person chose', async () => {
    await page.evaluate(DIALOG);
    await downloadAll().click();
    await page.getByText('The ZIP is saved.').waitFor({ timeout: 60_000 });
    const zip = await saved(page, () =>
      page.evaluate(`(async () => {
        const folder = await navigator.storage.getDirectory();
        const file = await (await folder.getFileHandle('filemill.zip')).getFile();
        Object.assign(document.createElement('a'), { href: URL.createObjectURL(file), download: 'filemill.zip' }).click();
      })()`),
    );
    expect((await namesIn(zip)).toSorted()).toEqual(EXPECTED.toSorted());
    await page.evaluate("navigator.storage.getDirectory().then((folder) => folder.removeEntry('filemill.zip'))");
    nothingOdd(visited);
  });

  it('are kept by the browser until they are downloaded, where it has no dialog for it', async () => {
    await page.evaluate('delete window.showSaveFilePicker');
    const zip = await saved(page, () => downloadAll().click());
    await page.getByText('Your browser is saving the ZIP.').waitFor();
    expect((await namesIn(zip)).toSorted()).toEqual(EXPECTED.toSorted());
    expect(await stored()).toEqual([[expect.stringMatching(/^[0-9a-f-]{36}$/), zip.length]]);
    await page.evaluate("navigator.storage.getDirectory().then((folder) => folder.removeEntry('downloads', { recursive: true }))");
    nothingOdd(visited);
  });

  it('are not even fetched where the browser tells that there is too little room', async () => {
    await page.evaluate('delete window.showSaveFilePicker');
    // Chromium tells the same of every disk.
    await page.evaluate('navigator.storage.estimate = async () => ({ quota: 200e6, usage: 100e6 })');
    const fetched: string[] = [];
    const note = (request: Request) => void (request.url().includes('/output') && fetched.push(request.url()));
    page.on('request', note);
    await downloadAll().click();
    await page.getByRole('alert').getByText(NO_ROOM).waitFor();
    expect([fetched, await stored(), await findings(page)]).toEqual([[], [], []]);
    page.off('request', note);
    await page.evaluate('delete navigator.storage.estimate');
    nothingOdd(visited);
  });

  it('leave nothing behind where the disk is full before they are written', async () => {
    await page.evaluate('delete window.showSaveFilePicker');
    const debug = await page.context().newCDPSession(page);
    await debug.send('Storage.overrideQuotaForOrigin', { origin: ground.url, quotaSize: 50_000_000 });
    await downloadAll().click();
    await page.getByText(/^Packing: [1-9]/).waitFor();
    await page.getByRole('alert').getByText(NO_ROOM).waitFor();
    await expect.poll(() => stored()).toEqual([]);
    await debug.send('Storage.overrideQuotaForOrigin', { origin: ground.url });
    nothingOdd(visited);
  });

  it('leave nothing behind when they are cancelled', async () => {
    await page.evaluate(DIALOG);
    // One is not answered: the ZIP stands still before it.
    const held = `${await linkOf(9).getAttribute('href')}`;
    await page.route(held, () => {});
    await downloadAll().press('Enter');
    await page.getByText(`Packing: 9 of ${MANY} files`).waitFor();
    expect(await findings(page)).toEqual([]);
    expect(await page.getByRole('button', { name: 'Delete all' }).count()).toBe(0);
    // The focus is on what stops it, and then again on what begins it.
    expect(await page.locator('.packing button:focus').textContent()).toBe('Cancel');
    await page.keyboard.press('Enter');
    await downloadAll().waitFor();
    expect(await page.locator('button:focus').textContent()).toBe(`Download all ${MANY} as ZIP`);
    await expect.poll(() => stored()).toEqual([]);
    await page.unroute(held);
    nothingOdd(visited);
  });

  it('leave nothing behind when one was deleted meanwhile, and it is named', async () => {
    await page.evaluate(DIALOG);
    const gone = `${await linkOf(19).getAttribute('href')}`.replace(/\/output.*$/, '');
    const name = await linkOf(19).getAttribute('download');
    expect((await fetch(gone, { method: 'DELETE' })).ok).toBe(true);
    await downloadAll().click();
    await page.getByRole('alert').getByText(`The server no longer has “${name}”, so no ZIP was saved.`).waitFor();
    await expect.poll(() => stored()).toEqual([]);
    // The alert goes with that result: the others can still be packed.
    await page
      .locator('.task')
      .nth(19)
      .getByRole('button', { name: /^Delete / })
      .click();
    await page.getByRole('button', { name: `Download all ${MANY - 1} as ZIP` }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    nothingOdd(visited);
  });

  it('can be cancelled when the list is empty already', async () => {
    await page.evaluate(DIALOG);
    await page.route(`${await linkOf(9).getAttribute('href')}`, () => {});
    await page.getByRole('button', { name: `Download all ${MANY - 1} as ZIP` }).click();
    await page.getByText(`Packing: 9 of ${MANY - 1} files`).waitFor();
    const remove = page.locator('.task').getByRole('button', { name: /^Delete / });
    for (let left = MANY - 1; left > 0; left--) await remove.first().click();
    await page.locator('.packing').getByRole('button', { name: 'Cancel' }).click();
    await page.locator('.list').waitFor({ state: 'detached' });
    await expect.poll(() => stored()).toEqual([]);
    nothingOdd(visited);
  });
});

describe('a ZIP that the browser keeps', () => {
  const WRITTEN = `(async () => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle('downloads', { create: true });
    const open = async (name) => (await folder.getFileHandle(name, { create: true })).createWritable();
    for (const name of ['copied', 'growing']) {
      const file = await open(name);
      await file.write('PK');
      await file.close();
    }
    window.growing = await open('growing');
  })()`;
  /** Without the copy that is being written. */
  const namesOf = async (from: Page) =>
    ((await from.evaluate(`navigator.storage.getDirectory().then(${STORED})`)) as [string, number][])
      .map(([name]) => name)
      .filter((name) => !name.endsWith('.crswap'))
      .toSorted();
  /** Another tab, so many minutes later. */
  async function later(from: Page, minutes: number): Promise<Page> {
    const tab = await from.context().newPage();
    await tab.addInitScript(`{ const now = Date.now; Date.now = () => now() + ${minutes * 60_000}; }`);
    await tab.goto(ground.url);
    await tab.locator('h1').first().waitFor();
    return tab;
  }

  it('goes an hour after it was written, at a later visit, unless it is still being written', async () => {
    const own = await visit(ground.browser, ground.url);
    await own.page.evaluate(WRITTEN);
    const soon = await later(own.page, 59);
    expect(await namesOf(soon)).toEqual(['copied', 'growing']);
    const next = await later(own.page, 61);
    await expect.poll(() => namesOf(next), { timeout: 20_000 }).toEqual(['growing']);
    await own.page.evaluate('window.growing.abort()');
    const last = await later(own.page, 61);
    await expect.poll(() => namesOf(last), { timeout: 20_000 }).toEqual([]);
    nothingOdd(own);
    await own.close();
  });
});

describe('where a page may write no files', () => {
  const REFUSED = 'Here this browser packs 1 GB at most, because it lets this page write no files.';

  it.each([
    ['has no folder for it', 'delete StorageManager.prototype.getDirectory'],
    ['refuses it', "StorageManager.prototype.getDirectory = () => Promise.reject(new DOMException('', 'SecurityError'))"],
  ])('two results of 600 MB are not packed: the browser %s', async (_, script) => {
    const own = await visit(ground.browser, ground.url);
    await own.page.addInitScript(`delete window.showSaveFilePicker; ${script}`);
    // What was converted is small: its job says otherwise.
    await own.page.route('**/api/v1/jobs/*/events', (route) => route.abort());
    await own.page.route('**/api/v1/jobs/*', async (route) => {
      const answer = await route.fetch();
      const body = (await answer.json()) as { data?: { output?: { size_bytes: number } } };
      if (body.data?.output !== undefined) body.data.output.size_bytes = 600_000_000;
      await route.fulfill({ response: answer, json: body });
    });
    await own.page.reload();
    const buffer = Buffer.from(
      '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><rect width="40" height="30" fill="red"/></svg>',
    );
    await filesOf(own.page).setInputFiles(['one.svg', 'two.svg'].map((name) => ({ name, mimeType: 'image/svg+xml', buffer })));
    await start(own.page);
    await untilStates(own.page, ['done', 'done']);
    const button = own.page.getByRole('button', { name: 'Download all 2 as ZIP' });
    if (await button.isEnabled()) await button.click();
    await own.page.getByText(REFUSED).waitFor();
    expect(await findings(own.page)).toEqual([]);
    expect(await button.isEnabled()).toBe(script.includes('SecurityError'));
    nothingOdd(own);
    await own.close();
  });
});
