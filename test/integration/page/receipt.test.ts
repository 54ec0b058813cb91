/** The receipt of a conversion on the page: a line, and a row for each property below it, by mouse, by keys and for a screen reader. */
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import { filesOf, findings, LOOKS, nothingOdd, pageGround, start, untilStates, visit } from './browser.ts';

const ground = pageGround('receipt');
let clear: string;
beforeAll(async () => {
  clear = join(ground.folder, 'clear.png');
  await sharp({ create: { width: 60, height: 40, channels: 4, background: { r: 200, g: 30, b: 30, alpha: 0.5 } } })
    .withMetadata({ density: 300 })
    .png()
    .toFile(clear);
});

async function converted(page: Page, target: string): Promise<void> {
  await filesOf(page).setInputFiles(clear);
  await page.getByRole('button', { name: target, exact: true }).click();
  await start(page);
  await untilStates(page, ['done']);
}
const rowsOf = (page: Page): Promise<string[][]> =>
  page
    .locator('.receipt tbody tr')
    .evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('th, td')].map(({ textContent }) => textContent ?? '')));

describe('a receipt', () => {
  it('says in a line what was kept and adapted, and opens by keys to a row for each property', async () => {
    const visited = await visit(ground.browser, ground.url);
    const { page } = visited;
    await converted(page, 'JPG');
    const summary = page.locator('.receipt summary');
    expect(await summary.textContent()).toMatch(/^Kept \d+, adapted 1: transparency on white$/);
    const kept = Number(/\d+/.exec(`${await summary.textContent()}`)?.[0]);
    expect(await page.locator('.receipt table').isVisible()).toBe(false);
    await summary.focus();
    await page.keyboard.press('Enter');
    await expect.poll(async () => (await rowsOf(page)).length).toBe(kept + 1);
    const rows = await rowsOf(page);
    expect(rows[0]).toEqual(['transparency', 'transparent', 'none', 'adapted: the format cannot hold it']);
    expect(rows).toContainEqual(['size', '60 × 40 px', '60 × 40 px', 'kept']);
    expect(rows).toContainEqual(['resolution for print', '300 px an inch', '300 px an inch', 'kept']);
    // As a screen reader finds it.
    await page
      .getByRole('region', { name: 'What the conversion did to the file' })
      .getByRole('rowheader', { name: 'transparency' })
      .waitFor();
    expect(await page.getByRole('columnheader').allTextContents()).toEqual(['Property', 'Source', 'Result', 'Outcome']);
    expect(await findings(page)).toEqual([]);
    await page.keyboard.press('Enter');
    expect(await page.locator('.receipt table').isVisible()).toBe(false);
    nothingOdd(visited);
    await visited.close();
  });

  it('is there after a reload, on the page of the job, and in German and Spanish', async () => {
    const visited = await visit(ground.browser, ground.url, { locale: 'de-DE' });
    const { page } = visited;
    await converted(page, 'JPG');
    await expect.poll(() => page.locator('.receipt summary').textContent()).toMatch(/^\d+ erhalten, 1 angepasst: Transparenz auf Weiß$/);
    await page.reload();
    await expect.poll(() => page.locator('.receipt summary').textContent()).toMatch(/^\d+ erhalten, 1 angepasst: Transparenz auf Weiß$/);
    await page.getByRole('link', { name: 'Link zu diesem Auftrag' }).click();
    await page.locator('main > .receipt summary').click();
    await expect.poll(() => rowsOf(page)).toContainEqual(['Auflösung für den Druck', '300 px je Zoll', '300 px je Zoll', 'erhalten']);
    const elsewhere = await visit(ground.browser, page.url(), { locale: 'es-ES' });
    await expect
      .poll(() => elsewhere.page.locator('.receipt summary').textContent())
      .toMatch(/conservadas, 1 adaptadas: transparencia sobre blanco$/);
    nothingOdd(visited);
    await elsewhere.close();
    await visited.close();
  });

  it('names what was asked for, and is one number where all is kept', async () => {
    const visited = await visit(ground.browser, `${ground.url}/png-to-webp?img_resize_w=30`);
    const { page } = visited;
    await converted(page, 'WEBP');
    expect(await page.locator('.receipt summary').textContent()).toMatch(/^Kept \d+, changed as asked 1: size$/);
    nothingOdd(visited);
    await visited.close();
  });

  it.each(LOOKS)('fits in %s at %i px, %s, with large text', async (colorScheme, width, dir) => {
    const visited = await visit(ground.browser, ground.url, { colorScheme, viewport: { width, height: 900 } });
    const { page } = visited;
    await converted(page, 'JPG');
    await page.evaluate(`document.documentElement.dir = '${dir}'; if (${width} > 400) document.documentElement.style.fontSize = '200%'`);
    await page.locator('.receipt summary').click();
    await page.locator('.receipt tbody tr').nth(3).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(await findings(page)).toEqual([]);
    await visited.close();
  });

  it('keeps its line where the whole receipt cannot be read', async () => {
    const visited = await visit(ground.browser, ground.url);
    const { page } = visited;
    await page.route('**/fidelity', (route) => route.fulfill({ status: 410, json: { error: { code: 'JOB_EXPIRED', message: 'gone' } } }));
    await converted(page, 'JPG');
    await page.locator('.receipt summary').click();
    await expect.poll(() => rowsOf(page)).toEqual([['transparency', 'transparent', 'none', 'adapted: the format cannot hold it']]);
    nothingOdd(visited);
    await visited.close();
  });
});
