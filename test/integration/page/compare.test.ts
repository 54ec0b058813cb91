/** Before and after: a line on the picture that is moved by pointer and keys, and the pixels as they are, for pictures, pages and films. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Locator } from 'playwright-core';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { filesOf, findings, nothingOdd, pageGround, start, untilStates, visit } from './browser.ts';

const run = promisify(execFile);
const ground = pageGround('compare');
const file = (name: string) => join(ground.folder, name);

/** The colour that is seen at a share of the width, in the middle of the height. */
async function colourAt(seen: Locator, share: number): Promise<'red' | 'blue' | 'other'> {
  const { data, info } = await sharp(await seen.screenshot())
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const at = (Math.floor(info.height / 2) * info.width + Math.floor(info.width * share)) * info.channels;
  const [r = 0, g = 0, b = 0] = data.subarray(at, at + 3);
  if (r > 180 && g < 80 && b < 80) return 'red';
  return b > 180 && r < 80 && g < 80 ? 'blue' : 'other';
}

describe('before and after', () => {
  it('of a picture: left of the line it is as it was, right of it as it is', async () => {
    await sharp({ create: { width: 900, height: 600, channels: 3, background: '#ff0000' } })
      .png()
      .toFile(file('red.png'));
    const visited = await visit(ground.browser, `${ground.url}/png-to-jpg?img_resize_w=450`);
    const { page } = visited;
    // What the service made is shown as blue, to tell it from its source.
    const blue = await sharp({ create: { width: 450, height: 300, channels: 3, background: '#0000ff' } })
      .jpeg()
      .toBuffer();
    await page.route('**/output?name=source', (route) => route.fulfill({ contentType: 'image/jpeg', body: blue }));
    await filesOf(page).setInputFiles(file('red.png'));
    await start(page);
    await untilStates(page, ['done']);
    await page.getByRole('button', { name: 'Preview' }).click();
    const [both, line] = [page.locator('.both'), page.getByRole('slider', { name: 'How much of the result is shown' })];
    await expect.poll(() => colourAt(both, 0.25), { timeout: 20_000 }).toBe('red');
    expect(await colourAt(both, 0.75)).toBe('blue');
    // By keys, to both ends.
    await line.focus();
    await page.keyboard.press('End');
    await expect.poll(() => colourAt(both, 0.75)).toBe('red');
    await page.keyboard.press('Home');
    await expect.poll(() => colourAt(both, 0.25)).toBe('blue');
    // By a pointer, on the line itself.
    const box = await both.boundingBox();
    if (box === null) throw new Error('nothing is shown');
    await page.mouse.move(box.x + 1, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2, { steps: 8 });
    await page.mouse.up();
    await expect.poll(() => colourAt(both, 0.5), { timeout: 10_000 }).toBe('red');
    expect(await colourAt(both, 0.75)).toBe('blue');
    // A pixel of the larger one is one of the screen.
    await page.getByRole('button', { name: 'Actual size' }).click();
    await expect.poll(async () => (await both.boundingBox())?.width).toBe(900);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(await findings(page)).toEqual([]);
    nothingOdd(visited);
    await visited.close();
  });

  it('of a PDF: page by page', async () => {
    await writeFile(file('two.pdf'), pdf([['Heron'], ['Plover']]));
    const visited = await visit(ground.browser, `${ground.url}/tools/compress-pdf`);
    const { page } = visited;
    await filesOf(page).setInputFiles(file('two.pdf'));
    await start(page);
    await untilStates(page, ['done']);
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('button', { name: 'Compare pages' }).click();
    await expect.poll(() => page.locator('.drawn canvas').count(), { timeout: 20_000 }).toBe(2);
    await page.getByText('Page 1 of 2').waitFor();
    await page.getByRole('button', { name: 'Page 2', exact: true }).click();
    await page.getByRole('img', { name: 'Page 2: After' }).locator('canvas').waitFor();
    expect(await findings(page)).toEqual([]);
    // Its own viewer of PDF is Chromium's.
    expect(visited.complaints).toEqual([]);
    await visited.close();
  });

  it('of a film: the same moment of both', async () => {
    await run('ffmpeg', [
      '-v',
      'error',
      '-f',
      'lavfi',
      '-i',
      'testsrc2=size=320x180:rate=25:duration=2',
      '-pix_fmt',
      'yuv420p',
      file('film.mp4'),
    ]);
    const visited = await visit(ground.browser, `${ground.url}/mp4-to-webm`);
    const { page } = visited;
    await filesOf(page).setInputFiles(file('film.mp4'));
    await start(page);
    await untilStates(page, ['done']);
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('button', { name: 'Compare frames' }).click();
    const moment = page.getByRole('slider', { name: 'Time of the frame' });
    await expect.poll(async () => Number(await moment.getAttribute('max')), { timeout: 20_000 }).toBeGreaterThan(1.5);
    await moment.fill('1.2');
    const times = () =>
      page.locator('.both video').evaluateAll((films) => films.map((film) => (film as unknown as { currentTime: number }).currentTime));
    await expect.poll(times).toEqual([1.2, 1.2]);
    nothingOdd(visited);
    await visited.close();
  });
});
