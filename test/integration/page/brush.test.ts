/** The brush of `remove-object` in Chromium: what is painted over is gone from the result, and nothing else has changed. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { filesOf, findings, LOOKS, nothingOdd, pageGround, result, start, untilStates, type Visit, visit } from './browser.ts';

const run = promisify(execFile);
const CONVERT = '/usr/bin/convert-im6.q16';
/** How much each channel of a colour may differ: by JPEG, and by what the tool makes up. */
const NEAR = 24;

const ground = pageGround('brush');

type Colour = readonly [red: number, green: number, blue: number];
/** The left half is blue, the right half is green, and there are spots. */
const [BLUE, GREEN, RED]: readonly [Colour, Colour, Colour] = [
  [40, 70, 160],
  [60, 150, 80],
  [224, 0, 0],
];
const css = ([red, green, blue]: Colour) => `rgb(${red},${green},${blue})`;
type Box = readonly [left: number, top: number, right: number, bottom: number];
async function scene(name: string, [width, height]: readonly [number, number], spots: readonly Box[], args: readonly string[] = []) {
  const path = join(ground.folder, name);
  const halves = [
    '-size',
    `${width}x${height}`,
    `xc:${css(BLUE)}`,
    '-fill',
    css(GREEN),
    '-draw',
    `rectangle ${width / 2},0 ${width},${height}`,
  ];
  const draw = spots.flatMap(([left, top, right, bottom]) => ['-draw', `rectangle ${left},${top} ${right},${bottom}`]);
  await run(CONVERT, [...halves, '-fill', css(RED), ...draw, '-strip', ...args, path]);
  return path;
}
/** Writes an EXIF orientation into a JPEG, behind its first marker (CIPA DC-008, 4.5.4; TIFF 6.0, section 2). */
async function tagged(path: string, orientation: number): Promise<void> {
  const tag = [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0];
  const exif = [...Buffer.from('Exif\0\0MM\0*\0\0\0\x08', 'latin1'), 0, 1, ...tag, 0, 0, 0, 0];
  const jpeg = await readFile(path);
  await writeFile(path, Buffer.concat([jpeg.subarray(0, 2), Buffer.from([0xff, 0xe1, 0, exif.length + 2, ...exif]), jpeg.subarray(2)]));
}
/** All pixels of a picture, upright. */
async function pixelsOf(path: string): Promise<{ width: number; height: number; at: (x: number, y: number) => Colour }> {
  const { stdout } = await run(CONVERT, [path, '-auto-orient', '-depth', '8', 'ppm:-'], { encoding: 'buffer', maxBuffer: 1 << 28 });
  const [, width = 0, height = 0] = (/^P6\s+(\d+)\s+(\d+)/.exec(stdout.subarray(0, 64).toString('latin1')) ?? []).map(Number);
  const data = stdout.subarray(stdout.length - width * height * 3);
  return { width, height, at: (x, y) => [...data.subarray((y * width + x) * 3, (y * width + x) * 3 + 3)] as unknown as Colour };
}
const differ = (one: Colour, other: Colour): boolean => one.some((value, channel) => Math.abs(value - (other[channel] ?? 0)) > NEAR);

async function opened(file: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const visited = await visit(ground.browser, `${ground.url}/tools/remove-object`, options);
  await filesOf(visited.page).setInputFiles(file);
  await visited.page.locator('.brush canvas').waitFor();
  return visited;
}
/** From pixels of the picture to where they are on the screen. */
async function placed(page: Page, width: number): Promise<(x: number, y: number) => readonly [number, number]> {
  const canvas = page.locator('.brush canvas');
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  if (box === null) throw new Error('the picture is not shown');
  return (x, y) => [box.x + (x / width) * box.width, box.y + (y / width) * box.width];
}
async function stroke(page: Page, points: readonly (readonly [number, number])[]): Promise<void> {
  const [first, ...rest] = points;
  if (first === undefined) return;
  await page.mouse.move(...first);
  await page.mouse.down();
  for (const point of rest) await page.mouse.move(...point, { steps: 6 });
  await page.mouse.up();
}
async function saveResult(page: Page, name: string): Promise<string> {
  const path = join(ground.folder, name);
  await untilStates(page, ['done']);
  await writeFile(path, await result(page));
  return path;
}

describe('what is painted over', () => {
  it('is gone; what was erased, undone or left alone is as before', async () => {
    const size = [400, 200] as const;
    const [gone, kept, erased]: readonly [Box, Box, Box] = [
      [90, 90, 110, 110],
      [300, 40, 320, 60],
      [300, 140, 320, 160],
    ];
    const source = await scene('spots.png', size, [gone, kept, erased]);
    const visited = await opened(source);
    const { page } = visited;
    await page.getByRole('slider', { name: 'Size' }).fill('20');
    const at = await placed(page, 400);
    await stroke(page, [at(80, 90), at(120, 90), at(120, 110), at(80, 110)]);
    await stroke(page, [at(300, 150), at(320, 150)]);
    await page.getByRole('button', { name: 'Erase', exact: true }).click();
    await stroke(page, [at(280, 140), at(340, 140), at(340, 160), at(280, 160), at(280, 150), at(340, 150)]);
    await page.getByRole('button', { name: 'Paint', exact: true }).click();
    await stroke(page, [at(300, 50), at(320, 50)]);
    await page.getByRole('button', { name: 'Undo' }).click();
    expect(await page.getByRole('img', { name: 'Painted strokes: 3' }).count()).toBe(1);
    await page.getByText('As a request').click();
    expect(await page.locator('.request pre').textContent()).toMatch(/-F file=@spots\.png[\s\S]*-F mask=@mask\.png/);
    await start(page);
    // It is one file of the visitor's, which can be compared with what became of it.
    await page.locator('.task .name', { hasText: 'spots.png' }).waitFor();
    const [before, after] = [await pixelsOf(source), await pixelsOf(await saveResult(page, 'spotless.png'))];
    expect([after.width, after.height]).toEqual(size);
    // Everywhere as before, but for the spot, which is as blue as what is around it.
    const wrong: string[] = [];
    for (let y = 0; y < 200; y++)
      for (let x = 0; x < 400; x++) {
        const inSpot = x >= gone[0] && x <= gone[2] && y >= gone[1] && y <= gone[3];
        if (differ(after.at(x, y), inSpot ? BLUE : before.at(x, y))) wrong.push(`${x},${y}: ${after.at(x, y)}`);
      }
    expect(wrong.slice(0, 5)).toEqual([]);
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.locator('.compared .over').waitFor();
    nothingOdd(visited);
    await visited.close();
  });

  it('is where it is shown, in a photo that the camera turned', async () => {
    // Stored 200 × 400, shown 400 × 200.
    const upright = await scene('upright.png', [400, 200], [[90, 30, 110, 50]]);
    const turned = join(ground.folder, 'turned.jpg');
    await run(CONVERT, [upright, '-rotate', '-90', '-quality', '98', '-sampling-factor', '1x1', turned]);
    await tagged(turned, 6);
    const visited = await opened(turned);
    const { page } = visited;
    await page.getByRole('slider', { name: 'Size' }).fill('20');
    const at = await placed(page, 400);
    await stroke(page, [at(80, 30), at(120, 30), at(120, 50), at(80, 50)]);
    await start(page);
    const after = await pixelsOf(await saveResult(page, 'turned-spotless.jpg'));
    expect([after.width, after.height]).toEqual([400, 200]);
    for (let y = 25; y < 56; y += 3) for (let x = 85; x < 116; x += 3) expect(differ(after.at(x, y), BLUE), `${x},${y}`).toBe(false);
    expect(differ(after.at(390, 190), GREEN)).toBe(false);
    nothingOdd(visited);
    await visited.close();
  });

  it.each(['touch', 'pen'] as const)('may be painted by %s', async (pointer) => {
    const source = await scene(`${pointer}.png`, [400, 200], [[90, 90, 110, 110]]);
    const visited = await opened(source, { hasTouch: true, viewport: { width: 320, height: 640 } });
    const { page } = visited;
    await page.getByRole('slider', { name: 'Size' }).fill('40');
    const at = await placed(page, 400);
    const debug = await page.context().newCDPSession(page);
    const [from, to] = [at(80, 100), at(120, 100)];
    const points = [0, 0.25, 0.5, 0.75, 1].map((share) => from.map((start, axis) => start + share * ((to[axis] ?? 0) - start)));
    if (pointer === 'touch') {
      for (const [n, [x = 0, y = 0]] of points.entries())
        await debug.send('Input.dispatchTouchEvent', { type: n === 0 ? 'touchStart' : 'touchMove', touchPoints: [{ x, y }] });
      await debug.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    } else {
      const send = (type: 'mousePressed' | 'mouseMoved' | 'mouseReleased', [x = 0, y = 0]: readonly number[]) =>
        debug.send('Input.dispatchMouseEvent', { type, x, y, button: 'left', buttons: 1, pointerType: 'pen', clickCount: 1 });
      await send('mousePressed', points[0] ?? []);
      for (const point of points) await send('mouseMoved', point);
      await send('mouseReleased', points[4] ?? []);
    }
    await page.getByRole('img', { name: 'Painted strokes: 1' }).waitFor();
    // The finger drew: it did not scroll.
    expect(await page.locator('.brush canvas').boundingBox()).toMatchObject({ y: expect.closeTo(at(0, 0)[1], 0) });
    await start(page);
    const after = await pixelsOf(await saveResult(page, `${pointer}-spotless.png`));
    expect(differ(after.at(100, 100), BLUE)).toBe(false);
    expect(differ(after.at(390, 190), GREEN)).toBe(false);
    nothingOdd(visited);
    await visited.close();
  });

  it('may be a rectangle that was typed', async () => {
    const source = await scene('typed.png', [400, 200], [[90, 90, 110, 110]]);
    const visited = await opened(source);
    const { page } = visited;
    await page.locator('[name=x]').focus();
    for (const [value, next] of [
      ['86', 'Tab'],
      ['86', 'Tab'],
      ['29', 'Tab'],
      ['29', 'Enter'],
    ] as const) {
      await page.keyboard.type(value);
      await page.keyboard.press(next);
    }
    const after = await pixelsOf(await saveResult(page, 'typed-spotless.png'));
    expect(differ(after.at(100, 100), BLUE)).toBe(false);
    nothingOdd(visited);
    await visited.close();
  });

  it('of 16 megapixels holds the page up for less than half a second', async () => {
    const size = [4608, 3456] as const;
    const source = await scene('large.png', size, [[1100, 1100, 1150, 1150]]);
    const visited = await opened(source);
    const { page } = visited;
    await page.getByRole('slider', { name: 'Size' }).fill('3');
    const at = await placed(page, 4608);
    await page.evaluate(
      "window.held = []; new PerformanceObserver((list) => window.held.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask' })",
    );
    await stroke(page, [at(1080, 1100), at(1170, 1100), at(1170, 1150), at(1080, 1150)]);
    await start(page);
    const after = await pixelsOf(await saveResult(page, 'large-spotless.png'));
    expect([after.width, after.height]).toEqual(size);
    expect(differ(after.at(1125, 1125), BLUE)).toBe(false);
    const held = (await page.evaluate('window.held')) as number[];
    expect(Math.max(0, ...held)).toBeLessThan(500);
    nothingOdd(visited);
    await visited.close();
  });
});

describe('what may be painted at a time', () => {
  /** Only the method that repeats what is around counts the edge of what is painted, too, as the page does. */
  const byExample = (page: Page) => page.locator('select[name=model]').selectOption('classical');
  const shown = (page: Page) => page.locator('.painted [role=status]');

  it('is told as a share, and what is too much is not sent', async () => {
    // Half of it: 80,000 px.
    const source = await scene('share.png', [400, 400], []);
    const visited = await opened(source);
    const { page } = visited;
    expect(await shown(page).textContent()).toBe('');
    await page.getByRole('slider', { name: 'Size' }).fill('25');
    const at = await placed(page, 400);
    // 100 px wide, and 3 around: 200 × 106 and two halves of a disc.
    await stroke(page, [at(100, 100), at(300, 100)]);
    await expect.poll(() => shown(page).textContent()).toMatch(/^Painted: 3[78]% of/);
    expect(await page.getByRole('alert').count()).toBe(0);
    await stroke(page, [at(50, 200), at(350, 200)]);
    await stroke(page, [at(50, 300), at(350, 300)]);
    await page.getByRole('alert').getByText('This is more than can be removed at a time').waitFor();
    expect(await findings(page)).toEqual([]);
    const run = page.getByRole('button', { name: 'Run' });
    expect(await run.isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => run.isDisabled()).toBe(false);
    await visited.close();
  });

  it('is told of a rectangle too', async () => {
    const visited = await opened(await scene('box.png', [400, 400], []));
    await byExample(visited.page);
    for (const [name, value] of Object.entries({ x: 0, y: 10, w: 197, h: 194 }))
      await visited.page.locator(`[name=${name}]`).fill(`${value}`);
    await expect.poll(() => shown(visited.page).textContent()).toBe('The rectangle: 50% of what can be removed at a time');
    await visited.page.locator('[name=w]').fill('400');
    await visited.page.locator('[name=h]').fill('199');
    await visited.page.getByRole('alert').getByText('choose a smaller rectangle').waitFor();
    expect(await findings(visited.page)).toEqual([]);
    // Too near to tell: the service's own count decides.
    await start(visited.page);
    await untilStates(visited.page, ['failed']);
    await visited.page.locator('.task').getByText('This was more than can be removed at a time').waitFor();
    // Another rectangle may be typed.
    expect(await visited.page.getByRole('button', { name: 'Try again' }).count()).toBe(1);
    await visited.close();
  });

  it('leads back to the brush where the service refuses what was painted', async () => {
    const visited = await opened(await scene('again.png', [400, 400], [[190, 190, 210, 210]]));
    await byExample(visited.page);
    const { page } = visited;
    await page.getByRole('slider', { name: 'Size' }).fill('25');
    const at = await placed(page, 400);
    // Three times 176 × 106 and two halves of a disc: 103 %.
    for (const y of [65, 200, 335]) await stroke(page, [at(112, y), at(288, y)]);
    await expect.poll(() => shown(page).textContent()).toMatch(/^Painted: 10[34]% of/);
    await start(page);
    await untilStates(page, ['failed']);
    await page.locator('.task').getByText('This was more than can be removed at a time').waitFor();
    // The same strokes would be refused again.
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    expect(await findings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Paint again' }).press('Enter');
    await untilStates(page, []);
    expect(await page.locator('h1:focus').count()).toBe(1);
    await page.locator('.brush canvas').waitFor();
    const again = await placed(page, 400);
    await stroke(page, [again(180, 200), again(220, 200)]);
    await start(page);
    const after = await pixelsOf(await saveResult(page, 'painted-again.png'));
    expect(differ(after.at(200, 200), RED)).toBe(true);
    nothingOdd(visited);
    await visited.close();
  });
});

it('says what to do where the browser cannot show the picture', async () => {
  const source = await scene('unseen.tiff', [400, 200], [[90, 90, 110, 110]]);
  const visited = await visit(ground.browser, `${ground.url}/tools/remove-object`);
  await filesOf(visited.page).setInputFiles(source);
  await visited.page.getByText('This browser cannot show this picture').waitFor();
  expect(await findings(visited.page)).toEqual([]);
  nothingOdd(visited);
  await visited.close();
});

describe('the brush', () => {
  it.each(LOOKS)('has nothing that axe finds, and fits, in %s at %i px, %s', async (colorScheme, width, dir) => {
    const source = await scene(`looks-${width}.png`, [900, 600], [[300, 200, 380, 280]]);
    const visited = await opened(source, { colorScheme, viewport: { width, height: 900 } });
    const { page } = visited;
    await page.evaluate(`document.documentElement.dir = '${dir}'`);
    const at = await placed(page, 900);
    await stroke(page, [at(290, 200), at(390, 200), at(390, 280), at(290, 280)]);
    expect(await findings(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    // Painted where the pointer was, whichever way the text runs.
    const painted = await page.evaluate(
      "(() => { const c = document.querySelector('.brush canvas'); const d = (x, y) => c.getContext('2d').getImageData(c.width * x / 900, c.height * y / 600, 1, 1).data[3]; return [d(340, 200) > 0, d(600, 400) > 0]; })()",
    );
    expect(painted).toEqual([true, false]);
    const pictures = process.env['LOOKS'];
    if (pictures !== undefined) await page.screenshot({ path: join(pictures, `brush-${colorScheme}-${width}-${dir}.png`), fullPage: true });
    nothingOdd(visited);
    await visited.close();
  });
});
