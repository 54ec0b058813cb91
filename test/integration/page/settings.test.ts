/** Settings in Chromium: what is chosen again, remembered and named, and how the page fits fingers, large text and a lost network. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { picture } from '../../kit/fixtures/pictures/photos.ts';
import { startService } from '../../kit/roles/service.ts';
import { filesOf, findings, nothingOdd, pageGround, start, untilStates, visit } from './browser.ts';

const run = promisify(execFile);
const ground = pageGround('settings');

const field = (page: Page) => page.locator('[name=img_resize_w]');
const active = (page: Page): Promise<unknown> => page.evaluate('document.activeElement.textContent || document.activeElement.type');
const chosen = (page: Page): Promise<string[]> => page.locator('.panel .chip[aria-pressed=true]').allTextContents();

it('keeps files and choices for another try, begins the next file with them, and names them', async () => {
  const visited = await visit(ground.browser, ground.url);
  const { page } = visited;
  await filesOf(page).setInputFiles(await picture(ground.folder, 'again.png', ['-resize', '90x60!']));
  await page.getByRole('button', { name: 'WEBP', exact: true }).click();
  await page.locator('summary', { hasText: 'Options' }).click();
  await field(page).fill('60');
  await page.getByRole('button', { name: 'Save as preset' }).click();
  expect(await active(page)).toBe('text');
  await page.keyboard.type('Tiny');
  await page.keyboard.press('Enter');
  await start(page);
  await expect.poll(() => active(page)).toMatch(/done|Done/);
  await untilStates(page, ['done']);
  await page.getByRole('button', { name: 'Other settings: convert again.png again' }).click();
  expect([await field(page).inputValue(), await chosen(page)]).toEqual(['60', ['WEBP', 'TinyWEBP']]);
  expect(await findings(page)).toEqual([]);
  await field(page).fill('30');
  await start(page);
  await untilStates(page, ['done', 'done']);
  // After a reload too; of a file of another kind nothing is known.
  await page.reload();
  await untilStates(page, ['done', 'done']);
  await filesOf(page).setInputFiles(await picture(ground.folder, 'next.png', ['-resize', '90x60!']));
  await page.locator('summary', { hasText: '1 set' }).click();
  expect([await field(page).inputValue(), await chosen(page)]).toEqual(['30', ['WEBP']]);
  await page.getByRole('button', { name: /^Tiny/ }).click();
  expect(await field(page).inputValue()).toBe('60');
  await page.getByRole('button', { name: 'Remove the preset Tiny' }).click();
  expect(await page.getByRole('button', { name: /^Tiny/ }).count()).toBe(0);
  expect(await page.evaluate("localStorage.getItem('filemill.choices')")).not.toContain('Tiny');
  nothingOdd(visited);
  await visited.close();
});

it('remembers no password and no pages', async () => {
  const visited = await visit(ground.browser, ground.url);
  const { page } = visited;
  await writeFile(join(ground.folder, 'secret.pdf'), '%PDF-1.4');
  await filesOf(page).setInputFiles(join(ground.folder, 'secret.pdf'));
  await page.getByRole('button', { name: 'JPG', exact: true }).click();
  await page.locator('summary', { hasText: 'Options' }).click();
  for (const [name, value] of [
    ['password', 'hunter2'],
    ['pages', '1-2'],
    ['dpi', '90'],
  ] as const)
    await page.locator(`[name=${name}]`).fill(value);
  await start(page);
  await untilStates(page, ['failed']);
  const stored = await page.evaluate('JSON.stringify(localStorage)');
  expect(stored).toContain('90');
  expect(stored).not.toMatch(/hunter2|1-2/);
  await visited.close();
});

it('says the limit where a chosen file is too large, and by how much results are smaller, but not across kinds', async () => {
  const service = await startService({ api: { maxFileBytes: 3_000_000 } });
  const visited = await visit(ground.browser, service.url);
  const { page } = visited;
  await page.waitForLoadState('networkidle');
  const large = { name: 'large.png', mimeType: 'image/png', buffer: Buffer.alloc(3_000_001) };
  const photo = join(ground.folder, 'noise.png');
  await run('/usr/bin/ffmpeg', [
    ...['-v', 'error', '-y', '-f', 'lavfi', '-i', 'nullsrc=s=700x500,geq=random(1)*255'],
    ...['-frames:v', '1', photo],
  ]);
  await filesOf(page).setInputFiles(large);
  await page.getByRole('alert').getByText('files of 3 MB at most: large.png (3 MB)').waitFor();
  expect(await page.locator('.task').count()).toBe(0);
  await filesOf(page).setInputFiles(photo);
  await page.getByRole('button', { name: 'JPG', exact: true }).click();
  await start(page);
  await untilStates(page, ['done']);
  await expect.poll(() => page.locator('.sizes').textContent()).toMatch(/^\d+ kB → \d+ kB \(\d+% smaller\)$/);
  await page.getByRole('button', { name: /^Other settings/ }).click();
  await page.getByRole('button', { name: 'PDF', exact: true }).click();
  await start(page);
  await untilStates(page, ['done', 'done']);
  await expect.poll(() => page.locator('.sizes').first().textContent()).toMatch(/^\d+ kB → \d+ kB$/);
  // A later visit that begins with the list knows of what kind files are, too.
  await page.goto(`${service.url}/jobs`);
  await untilStates(page, ['done', 'done']);
  await expect.poll(() => page.locator('.sizes').last().textContent()).toMatch(/ \(\d+% smaller\)$/);
  await expect.poll(() => page.locator('.sizes').first().textContent()).toMatch(/^\d+ kB → \d+ kB$/);
  nothingOdd(visited);
  await visited.close();
  await service.stop();
});

it('says in the row that it is offline, and goes on', async () => {
  const visited = await visit(ground.browser, ground.url);
  const { page } = visited;
  await filesOf(page).setInputFiles(await picture(ground.folder, 'offline.png'));
  await page.getByRole('button', { name: 'Convert 1 file' }).waitFor();
  await page.context().setOffline(true);
  await start(page);
  await page.locator('.task').getByText('Waits for the connection').waitFor();
  await page.context().setOffline(false);
  await untilStates(page, ['done']);
  await visited.close();
});

it('speaks to a finger of no dropping and no folders', async () => {
  const visited = await visit(ground.browser, ground.url, { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true });
  const { page } = visited;
  const seen = (await page.locator('.intake').allInnerTexts()).join();
  expect(seen).toMatch(/Choose files[\s\S]*Take a picture/);
  expect(seen).not.toMatch(/drop|folder|paste/i);
  nothingOdd(visited);
  await visited.close();
});

it('fits text of twice the size in 600 px, and leads the focus into the search of all formats', async () => {
  const visited = await visit(ground.browser, ground.url, { viewport: { width: 600, height: 800 }, locale: 'de-DE' });
  const { page } = visited;
  await page.evaluate("document.documentElement.style.fontSize = '200%'");
  await filesOf(page).setInputFiles(await picture(ground.folder, 'a-long-name-of-a-picture-in-large-letters.png'));
  await page.getByRole('button', { name: 'Alle Formate' }).click();
  expect(await active(page)).toBe('search');
  for (const summary of await page.locator('summary').all()) await summary.click();
  const width = () => page.evaluate('document.documentElement.scrollWidth');
  expect(await width()).toBe(600);
  await start(page);
  await untilStates(page, ['done']);
  expect(await width()).toBe(600);
  for (const view of ['/tools', '/tools/watermark-image', '/jobs']) {
    await page.evaluate(`history.pushState(null, '', ${JSON.stringify(view)}); dispatchEvent(new PopStateEvent('popstate'))`);
    await page.locator('h1').first().waitFor();
    expect(await width(), view).toBe(600);
  }
  await visited.close();
});
