/** A range of time in Chromium: handles on a waveform, times that are typed, and times taken from the player say the same, and the tool obeys. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { filesOf, findings, LOOKS, nothingOdd, pageGround, result, start, untilStates, type Visit, visit } from './browser.ts';

const run = promisify(execFile);
const FFMPEG = '/usr/bin/ffmpeg';
const ground = pageGround('trim');

/** Four seconds: two of silence, then two of a tone. */
const HALF_LOUD = ['-f', 'lavfi', '-i', 'sine=frequency=440:duration=2', '-af', 'adelay=2000:all=1'];
async function recording(name: string, ...args: readonly string[]): Promise<string> {
  const path = join(ground.folder, name);
  await run(FFMPEG, ['-v', 'error', '-y', ...args, path]);
  return path;
}
async function opened(path: string, tool: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const visited = await visit(ground.browser, `${ground.url}/tools/${tool}`, options);
  await filesOf(visited.page).setInputFiles(path);
  return visited;
}
const handle = (page: Page, name: 'Start' | 'End') => page.getByRole('slider', { name: `${name} of the part` });
const field = (page: Page, name: string) => page.locator(`[name=${name}]`);
async function secondsOf(bytes: Buffer, name: string): Promise<number> {
  const path = join(ground.folder, name);
  await writeFile(path, bytes);
  const { stdout } = await run('/usr/bin/ffprobe', ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', path]);
  return Number(stdout);
}
/** How high the waveform is drawn in each quarter of the recording, as shares of the canvas. */
const heights = (page: Page): Promise<unknown> =>
  page.evaluate(`(() => {
    const canvas = document.querySelector('.range canvas');
    if (canvas === null || canvas.hidden) return undefined;
    const { width, height } = canvas;
    const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
    return [0, 1, 2, 3].map((quarter) => {
      const x = Math.floor((quarter + 0.5) * width / 4);
      return Array.from({ length: height }, (_, y) => data[(y * width + x) * 4 + 3]).filter((alpha) => alpha > 0).length / height;
    });
  })()`);

describe('a range of time', () => {
  it('is drawn over what can be heard, and dragged', async () => {
    const visited = await opened(await recording('half.wav', ...HALF_LOUD), 'audio-cutter');
    const { page } = visited;
    await expect
      .poll(() => heights(page))
      .toEqual([expect.closeTo(0, 1), expect.closeTo(0, 1), expect.closeTo(1, 0), expect.closeTo(1, 0)]);
    const box = await page.locator('.range').boundingBox();
    if (box === null) throw new Error('there is no range');
    const drag = async (from: number, to: number) => {
      await page.mouse.move(box.x + from * box.width, box.y + box.height / 2);
      await page.mouse.down();
      await page.mouse.move(box.x + to * box.width, box.y + box.height / 2, { steps: 5 });
      await page.mouse.up();
    };
    await drag(0.002, 0.5);
    await drag(0.998, 0.75);
    expect(Number(await field(page, 'start_time').inputValue())).toBeCloseTo(2, 1);
    expect(Number(await field(page, 'end_time').inputValue())).toBeCloseTo(3, 1);
    await page.getByText('0:02.0 to 0:03.0 (0:01.0)').waitFor();
    await start(page);
    await untilStates(page, ['done']);
    expect(await secondsOf(await result(page), 'cut.wav')).toBeCloseTo(1, 1);
    nothingOdd(visited);
    await visited.close();
  });

  it('is moved by keys, follows what is typed, and has a length', async () => {
    const visited = await opened(await recording('keys.wav', ...HALF_LOUD), 'audio-cutter');
    const { page } = visited;
    await handle(page, 'Start').focus();
    for (let press = 0; press < 20; press++) await page.keyboard.press('ArrowRight');
    expect(Number(await field(page, 'start_time').inputValue())).toBeCloseTo(0.2, 2);
    await page.keyboard.press('End');
    expect(Number(await field(page, 'start_time').inputValue())).toBeCloseTo(3.99, 2);
    await field(page, 'start_time').fill('00:00:01.5');
    await field(page, 'end_time').fill('2.5');
    expect([await handle(page, 'Start').inputValue(), await handle(page, 'End').inputValue()]).toEqual(['1.5', '2.5']);
    await page.getByText('0:01.5 to 0:02.5 (0:01.0)').waitFor();
    nothingOdd(visited);
    await visited.close();
  });

  it('of a video is taken from the player too', async () => {
    const video = await recording(
      'film.webm',
      '-f',
      'lavfi',
      '-i',
      'testsrc=duration=4:size=192x128:rate=25',
      ...HALF_LOUD,
      '-c:v',
      'libvpx',
      '-c:a',
      'libopus',
    );
    const visited = await opened(video, 'trim-video');
    const { page } = visited;
    await handle(page, 'Start').waitFor();
    await page.evaluate("document.querySelector('.trim video').currentTime = 1");
    await page.getByRole('button', { name: 'Start here' }).click();
    await page.evaluate("document.querySelector('.trim video').currentTime = 3");
    await page.getByRole('button', { name: 'End here' }).click();
    expect([await field(page, 'start_time').inputValue(), await field(page, 'end_time').inputValue()]).toEqual(['1.000', '3.000']);
    await start(page);
    await untilStates(page, ['done']);
    expect(await secondsOf(await result(page), 'part.webm')).toBeCloseTo(2, 0);
    nothingOdd(visited);
    await visited.close();
  });

  it('of what the browser cannot play is typed', async () => {
    const visited = await opened(await recording('odd.wma', ...HALF_LOUD), 'audio-cutter');
    const { page } = visited;
    await page.getByText('This browser cannot play this file').waitFor();
    await field(page, 'start_time').fill('1');
    await field(page, 'end_time').fill('2');
    await start(page);
    await untilStates(page, ['done']);
    nothingOdd(visited);
    await visited.close();
  });

  it.each(LOOKS)('has nothing that axe finds, and fits, in %s at %i px, %s', async (colorScheme, width, dir) => {
    const visited = await opened(await recording('look.wav', ...HALF_LOUD), 'audio-cutter', {
      colorScheme,
      viewport: { width, height: 800 },
    });
    const { page } = visited;
    await page.evaluate(`document.documentElement.dir = '${dir}'`);
    await expect.poll(() => heights(page)).toBeDefined();
    await field(page, 'start_time').fill('1');
    expect(await findings(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    const pictures = process.env['LOOK'];
    if (pictures !== undefined) await page.screenshot({ path: join(pictures, `trim-${colorScheme}-${width}-${dir}.png`), fullPage: true });
    await visited.close();
  });
});
