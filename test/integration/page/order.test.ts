/** Files and pages in the order that a person wants: dragged, or moved by keys, with what they look like. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { picture } from '../../kit/fixtures/pictures/photos.ts';
import { filesOf, findings, LOOKS, nothingOdd, pageGround, result, start, untilStates, visit } from './browser.ts';

const run = promisify(execFile);
const ground = pageGround('order');
const file = (name: string) => join(ground.folder, name);
beforeAll(async () => {
  await writeFile(file('birds.pdf'), pdf(['Heron', 'Plover', 'Dunlin', 'Knot'].map((bird) => [bird])));
  await writeFile(file('trees.pdf'), pdf([['Alder'], ['Rowan']]));
  await writeFile(file('stone.pdf'), pdf([['Slate']]));
});

async function drag(page: Page, from: Locator, to: Locator): Promise<void> {
  const [a, b] = [await from.boundingBox(), await to.boundingBox()];
  if (a === null || b === null) throw new Error('nothing to drag');
  await page.mouse.move(a.x + a.width / 2, a.y + a.height / 2);
  await page.mouse.down();
  await page.mouse.move(b.x + b.width / 2, b.y + b.height / 2, { steps: 15 });
  await page.mouse.up();
}
/** The words of each page. */
async function wordsOf(bytes: Buffer): Promise<string[]> {
  await writeFile(file('result.pdf'), bytes);
  const { stdout } = await run('pdftotext', [file('result.pdf'), '-']);
  return stdout
    .split('\f')
    .map((text) => text.trim())
    .filter((text) => text !== '');
}

describe('files of one result', () => {
  it('show their first page, how many they have and how large they are, and are joined in the order that they were dragged into', async () => {
    const visited = await visit(ground.browser, `${ground.url}/tools/merge-pdf`);
    const { page } = visited;
    await filesOf(page).setInputFiles(['birds.pdf', 'trees.pdf', 'stone.pdf'].map(file));
    const rows = page.locator('.pieces li');
    await expect.poll(() => page.locator('.pieces canvas').count(), { timeout: 20_000 }).toBe(3);
    expect(await rows.locator('.about .quiet').allTextContents()).toEqual([
      expect.stringMatching(/^4 pages, [\d.]+ (kB|bytes)$/),
      expect.stringMatching(/^2 pages, /),
      expect.stringMatching(/^1 page, /),
    ]);
    const names = () => page.locator('.pieces .name').allTextContents();
    await drag(page, rows.nth(2).locator('.looks'), rows.nth(0).locator('.looks'));
    await expect.poll(names).toEqual(['stone.pdf', 'birds.pdf', 'trees.pdf']);
    // By keys.
    await page.getByRole('button', { name: 'Move trees.pdf up' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(names).toEqual(['stone.pdf', 'trees.pdf', 'birds.pdf']);
    expect(await page.getByRole('status').allTextContents()).toContain('trees.pdf is now 2 of 3');
    // A press without a move changes nothing.
    await rows.nth(0).locator('.looks').click();
    expect(await names()).toEqual(['stone.pdf', 'trees.pdf', 'birds.pdf']);
    await start(page);
    await untilStates(page, ['done']);
    expect(await wordsOf(await result(page))).toEqual(['Slate', 'Alder', 'Rowan', 'Heron', 'Plover', 'Dunlin', 'Knot']);
    nothingOdd(visited);
    await visited.close();
  });

  it('give their pages one by one: in any order, and not all of them', async () => {
    const visited = await visit(ground.browser, `${ground.url}/tools/merge-pdf`);
    const { page } = visited;
    await filesOf(page).setInputFiles(['birds.pdf', 'trees.pdf'].map(file));
    await page.getByText('Put the pages of all files in order').click();
    const pages = page.getByRole('option');
    await pages.nth(5).locator('canvas').waitFor();
    const field = page.locator('[name=pages]');
    expect(await pages.nth(4).textContent()).toBe('1 · trees.pdf');
    // The first page of the second file goes between those of the first.
    await drag(page, pages.nth(4), pages.nth(1));
    await expect.poll(() => field.inputValue()).toBe('1,5,2-4,6');
    await pages.nth(5).focus();
    await page.keyboard.press('Shift+Home');
    await expect.poll(() => field.inputValue()).toBe('6,1,5,2-4');
    expect(await page.getByRole('status').allTextContents()).toContain('Page 2 · trees.pdf is now 1 of 6');
    await pages.nth(4).focus();
    await page.keyboard.press('Delete');
    await expect.poll(() => field.inputValue()).toBe('6,1,5,2,4');
    expect(await page.getByRole('status').allTextContents()).toContain('Page 3 · birds.pdf is left out');
    expect(await findings(page)).toEqual([]);
    await start(page);
    await untilStates(page, ['done']);
    expect(await wordsOf(await result(page))).toEqual(['Rowan', 'Heron', 'Alder', 'Plover', 'Knot']);
    // Other files have other numbers.
    await filesOf(page).setInputFiles(['stone.pdf', 'trees.pdf'].map(file));
    await expect.poll(() => field.inputValue()).toBe('');
    await pages.nth(2).locator('canvas').waitFor();
    nothingOdd(visited);
    await visited.close();
  });

  it('that this browser cannot show have their names alone', async () => {
    const visited = await visit(ground.browser, `${ground.url}/tools/gif-maker`);
    const { page } = visited;
    await writeFile(file('broken.png'), 'not a picture');
    await filesOf(page).setInputFiles([await picture(ground.folder, 'one.png', ['-resize', '60x40!']), file('broken.png')]);
    await page.locator('.pieces li canvas').waitFor();
    expect(await page.locator('.pieces .name').allTextContents()).toEqual(['one.png', 'broken.png']);
    nothingOdd(visited);
    await visited.close();
  });
});

describe('pages', () => {
  it('are dragged, moved and left out by keys, and follow what is typed', async () => {
    const visited = await visit(ground.browser, `${ground.url}/tools/organize-pdf`);
    const { page } = visited;
    await filesOf(page).setInputFiles(file('birds.pdf'));
    const pages = page.getByRole('option');
    await pages.nth(3).locator('canvas').waitFor();
    const field = page.locator('[name=pages]');
    await drag(page, pages.nth(3), pages.nth(0));
    await expect.poll(() => field.inputValue()).toBe('4,1-3');
    await pages.nth(1).focus();
    await page.keyboard.press('Shift+ArrowRight');
    await expect.poll(() => field.inputValue()).toBe('4,2,1,3');
    await page.keyboard.press('End');
    await expect.poll(() => page.evaluate('document.activeElement.ariaLabel')).toBe('Page 3, 4 of 4');
    await page.keyboard.press('Delete');
    await expect.poll(() => field.inputValue()).toBe('4,2,1');
    expect(await page.getByRole('status').allTextContents()).toContain('Page 3 is left out');
    expect(await findings(page)).toEqual([]);
    await start(page);
    await untilStates(page, ['done']);
    expect(await wordsOf(await result(page))).toEqual(['Knot', 'Plover', 'Heron']);
    await filesOf(page).setInputFiles(file('birds.pdf'));
    await pages.first().waitFor();
    await field.fill('2-3,1');
    await expect.poll(() => pages.evaluateAll((all) => all.map((each) => each.textContent))).toEqual(['2', '3', '1']);
    await page.getByRole('button', { name: 'Reverse' }).click();
    await expect.poll(() => field.inputValue()).toBe('1,3,2');
    await page.getByRole('button', { name: 'As in the file' }).click();
    await expect.poll(() => field.inputValue()).toBe('');
    nothingOdd(visited);
    await visited.close();
  });

  it.each(LOOKS)('fit in %s at %i px, %s', async (colorScheme, width, dir) => {
    const visited = await visit(ground.browser, `${ground.url}/tools/organize-pdf`, { colorScheme, viewport: { width, height: 900 } });
    const { page } = visited;
    await filesOf(page).setInputFiles(file('birds.pdf'));
    await page.locator('.thumb canvas').first().waitFor();
    await page.evaluate(`document.documentElement.dir = '${dir}'`);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(await findings(page)).toEqual([]);
    await visited.close();
  });
});
