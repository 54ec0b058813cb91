/** Thumbnails of a PDF's pages in Chromium: what is ticked is what the tool is told, and what is typed is ticked. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { filesOf, findings, LOOKS, nothingOdd, pageGround, result, start, untilStates, type Visit, visit } from './browser.ts';

const run = promisify(execFile);
const CONVERT = '/usr/bin/convert-im6.q16';
const BIRDS = ['Avocet', 'Bunting', 'Curlew', 'Dunlin', 'Egret'];

const ground = pageGround('pages');

async function file(name: string, bytes: Uint8Array): Promise<string> {
  const path = join(ground.folder, name);
  await writeFile(path, bytes);
  return path;
}
const birds = (name = 'birds.pdf') => file(name, pdf(BIRDS.map((bird) => [bird])));
const textOf = async (path: string) => (await run('pdftotext', [path, '-'])).stdout.match(/[A-Z][a-z]+/g);

/** The coded picture in a TIFF of one strip: where it is and how long, tags 273 and 279 (TIFF 6.0, section 3), little-endian. */
async function stripOf(path: string): Promise<Buffer> {
  const tiff = await readFile(path);
  const at = tiff.readUInt32LE(4);
  const tags = Array.from({ length: tiff.readUInt16LE(at) }, (_, n) => tiff.subarray(at + 2 + n * 12, at + 14 + n * 12));
  const read = (tag: number) => {
    const entry = tags.find((each) => each.readUInt16LE(0) === tag);
    return entry?.readUInt16LE(2) === 3 ? entry.readUInt16LE(8) : (entry?.readUInt32LE(8) ?? 0);
  };
  return tiff.subarray(read(273), read(273) + read(279));
}
/** A PDF of one page that shows one grey picture of 400 × 566 pixels. */
function scanned(picture: Buffer, filter: string, bits: number): Buffer {
  const drawn = 'q 400 0 0 566 0 0 cm /I Do Q';
  const image = `/Type /XObject /Subtype /Image /Width 400 /Height 566 /ColorSpace /DeviceGray /BitsPerComponent ${bits} /Filter ${filter}`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 566] /Resources << /XObject << /I 5 0 R >> >> /Contents 4 0 R >>',
    `<< /Length ${drawn.length} >>\nstream\n${drawn}\nendstream`,
    `<< ${image} /Length ${picture.length} >>\nstream\n${picture.toString('latin1')}\nendstream`,
  ];
  // Without a table of places: readers look for the objects.
  const text = objects.map((object, index) => `${index + 1} 0 obj\n${object}\nendobj\n`).join('');
  return Buffer.from(`%PDF-1.5\n${text}trailer\n<< /Size 6 /Root 1 0 R >>\n%%EOF\n`, 'latin1');
}

async function opened(path: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const visited = await visit(ground.browser, `${ground.url}/tools/pdf-page-remover`, options);
  await filesOf(visited.page).setInputFiles(path);
  return visited;
}
const box = (page: Page, number: number) => page.getByRole('checkbox', { name: `Page ${number}`, exact: true });
const field = (page: Page) => page.locator('[name=pages]');
const ticked = (page: Page): Promise<number[]> =>
  page
    .locator('.thumb')
    .evaluateAll((all) =>
      all.flatMap((each, at) =>
        (each as unknown as { querySelector(of: string): { checked: boolean } }).querySelector('input').checked ? [at + 1] : [],
      ),
    );
/** Where a page's thumbnail is not white, as shares of its sides; undefined where it is not drawn. */
const inkOf = (page: Page, number: number): Promise<unknown> =>
  page.evaluate(`(() => {
    const canvas = document.querySelectorAll('.thumb')[${number - 1}]?.querySelector('canvas');
    if (!canvas) return undefined;
    const { width, height } = canvas;
    const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
    const inked = Array.from({ length: width * height }, (_, at) => at).filter((at) => data[at * 4] < 128);
    return { share: inked.length / (width * height), top: Math.floor((inked[0] ?? -1) / width) / height, ratio: width / height, colour: [...data.subarray((inked[0] ?? 0) * 4, (inked[0] ?? 0) * 4 + 3)] };
  })()`);
const untilDrawn = (page: Page, number: number) => expect.poll(() => inkOf(page, number), { timeout: 30_000 }).toBeTruthy();

describe('thumbnails', () => {
  it('of five pages remove the first and the third', async () => {
    const visited = await opened(await birds());
    const { page } = visited;
    for (const number of [1, 5]) await untilDrawn(page, number);
    // The word is a tenth below the upper edge of an A4 page.
    expect(await inkOf(page, 1)).toMatchObject({ ratio: expect.closeTo(595 / 842, 1), top: expect.closeTo(0.07, 1) });
    await page.locator('.thumb').nth(0).click();
    await box(page, 3).click();
    expect(await field(page).inputValue()).toBe('1,3');
    await page.getByText('Chosen: 2 of 5 pages').waitFor();
    await start(page);
    await untilStates(page, ['done']);
    expect(await textOf(await file('left.pdf', await result(page)))).toEqual(['Bunting', 'Dunlin', 'Egret']);
    nothingOdd(visited);
    await visited.close();
  });

  it('follow what is typed, and the field follows them', async () => {
    const visited = await opened(await birds());
    const { page } = visited;
    await box(page, 1).waitFor();
    await field(page).fill('2-4, 9');
    expect(await ticked(page)).toEqual([2, 3, 4]);
    await field(page).fill('2-');
    expect(await ticked(page)).toEqual([]);
    await field(page).fill('all');
    expect(await ticked(page)).toEqual([1, 2, 3, 4, 5]);
    await box(page, 3).click();
    expect(await field(page).inputValue()).toBe('1-2,4-5');
    await page.getByRole('button', { name: 'All others instead' }).click();
    expect(await field(page).inputValue()).toBe('3');
    await page.getByRole('button', { name: 'None' }).click();
    expect(await field(page).inputValue()).toBe('');
    await box(page, 2).click();
    await box(page, 4).click({ modifiers: ['Shift'] });
    expect(await field(page).inputValue()).toBe('2-4');
    nothingOdd(visited);
    await visited.close();
  });

  it.each(['ltr', 'rtl'] as const)('are ticked by keys, %s', async (dir) => {
    const visited = await opened(await birds());
    const { page } = visited;
    await page.evaluate(`document.documentElement.dir = '${dir}'`);
    await box(page, 1).focus();
    await page.keyboard.press(dir === 'ltr' ? 'ArrowRight' : 'ArrowLeft');
    await page.keyboard.press('Space');
    await page.keyboard.press('End');
    await page.keyboard.press('Shift+Space');
    expect(await field(page).inputValue()).toBe('2-5');
    await page.keyboard.press('Home');
    await page.keyboard.press('Space');
    await page.keyboard.press('Space');
    expect(await field(page).inputValue()).toBe('2-5');
    // One stop for the Tab key.
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('All others instead');
    nothingOdd(visited);
    await visited.close();
  });

  it('choose the pages of a conversion', async () => {
    const visited = await visit(ground.browser, `${ground.url}/`);
    const { page } = visited;
    await filesOf(page).setInputFiles(await birds());
    await page.getByRole('combobox', { name: /birds/ }).selectOption('txt');
    await page.locator('summary', { hasText: 'Options' }).click();
    await box(page, 2).click();
    await box(page, 4).click();
    await start(page);
    await untilStates(page, ['done']);
    expect((await result(page)).toString().match(/[A-Z][a-z]+/g)).toEqual(['Bunting', 'Dunlin']);
    nothingOdd(visited);
    await visited.close();
  });

  it.each([
    ['JPEG 2000', 'scan.jp2', '/JPXDecode'],
    ['CCITT Group 4', 'scan.g4', '/CCITTFaxDecode /DecodeParms << /K -1 /Columns 400 /Rows 566 >>'],
    ['JPEG', 'scan.jpg', '/DCTDecode'],
  ])('show a scan in %s', async (_, name, filter) => {
    const [scan, coded] = [join(ground.folder, 'scan.png'), join(ground.folder, name)];
    await run(CONVERT, ['-size', '400x566', 'xc:white', '-fill', 'black', '-draw', 'rectangle 100,283 299,423', scan]);
    if (name.endsWith('jp2')) await run('ffmpeg', ['-loglevel', 'error', '-y', '-i', scan, '-pix_fmt', 'gray', '-c:v', 'jpeg2000', coded]);
    else if (name.endsWith('g4')) await run(CONVERT, [scan, '-monochrome', '-compress', 'Group4', `tiff:${coded}.tif`]);
    else await run(CONVERT, [scan, coded]);
    const bytes = name.endsWith('g4') ? await stripOf(`${coded}.tif`) : await readFile(coded);
    const visited = await opened(await file(`${name}.pdf`, scanned(bytes, filter, name.endsWith('g4') ? 1 : 8)));
    await untilDrawn(visited.page, 1);
    expect(await inkOf(visited.page, 1)).toMatchObject({
      share: expect.closeTo((200 * 141) / (400 * 566), 1),
      top: expect.closeTo(0.5, 1),
    });
    nothingOdd(visited);
    await visited.close();
  });

  it('are drawn as they come into view, of the first 200 pages', async () => {
    const visited = await opened(await file('long.pdf', pdf(Array.from({ length: 230 }, (_, at) => [`Leaf ${at + 1}`]))));
    const { page } = visited;
    await untilDrawn(page, 1);
    expect(await page.locator('.thumb').count()).toBe(200);
    await page.getByText('The first 200 of 230 pages are shown').waitFor();
    await page.waitForTimeout(500);
    expect(await page.locator('.thumb canvas').count()).toBeLessThan(80);
    await box(page, 200).scrollIntoViewIfNeeded();
    await untilDrawn(page, 200);
    expect(await page.locator('.thumb canvas').count()).toBeLessThan(160);
    // Pages without a thumbnail stay in the field.
    await field(page).fill('1,215-220');
    await box(page, 200).click();
    expect(await field(page).inputValue()).toBe('1,200,215-220');
    nothingOdd(visited);
    await visited.close();
  });

  it('of a protected file wait for its password', async () => {
    const locked = join(ground.folder, 'locked.pdf');
    await run('qpdf', ['--encrypt', 'open', 'open', '256', '--', await birds(), locked]);
    const visited = await opened(locked);
    const { page } = visited;
    await page.getByText('The file is protected').waitFor();
    await page.locator('[name=password]').fill('wrong');
    await page.getByText('This password does not open the file, so its pages are not shown.').waitFor();
    await page.locator('[name=password]').fill('open');
    await untilDrawn(page, 1);
    await box(page, 2).click();
    await start(page);
    await untilStates(page, ['done']);
    nothingOdd(visited);
    await visited.close();
  });

  it('of a damaged file are replaced by a sentence, and the field works', async () => {
    const whole = pdf(BIRDS.map((bird) => [bird]));
    const visited = await opened(await file('damaged.pdf', whole.subarray(0, 60)));
    const { page } = visited;
    await page.getByText('The file is damaged, or is no PDF').waitFor();
    expect(await findings(page)).toEqual([]);
    // What only the server can read is still at hand.
    await page.getByRole('button', { name: 'Remove damaged.pdf' }).click();
    await filesOf(page).setInputFiles(await birds());
    await page.route('**/assets/pdf-*.js', (route) => route.abort());
    await field(page).fill('5');
    await start(page);
    await untilStates(page, ['done']);
    expect(await textOf(await file('four.pdf', await result(page)))).toEqual(BIRDS.slice(0, 4));
    nothingOdd(visited);
    await visited.close();
  });

  it('that cannot be fetched are replaced by a sentence', async () => {
    const visited = await visit(ground.browser, `${ground.url}/tools/pdf-page-remover`);
    const { page } = visited;
    await page.route('**/assets/pdf-*.js', (route) => route.abort());
    await filesOf(page).setInputFiles(await birds());
    await page.getByText('The pages cannot be shown now').waitFor();
    await visited.close();
  });
});

it('fetches what draws pages only for a PDF', async () => {
  const asked: string[] = [];
  const visited = await visit(ground.browser, `${ground.url}/tools/pdf-page-remover`);
  const { page } = visited;
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  const sizeOf = () => page.evaluate("performance.getEntriesByType('resource').reduce((sum, { transferSize }) => sum + transferSize, 0)");
  expect(await sizeOf()).toBeLessThan(130_000);
  await filesOf(page).setInputFiles(await file('a.txt', Buffer.from('Avocet')));
  await page.locator('.pieces li').waitFor();
  expect(asked.filter((path) => path.includes('/assets/'))).toEqual([]);
  await page.getByRole('button', { name: 'Remove a.txt' }).click();
  await filesOf(page).setInputFiles(await birds());
  await untilDrawn(page, 1);
  // A thread for the thumbnail of the file, and one for its pages.
  expect([...new Set(asked.filter((path) => path.includes('/assets/')))].toSorted()).toEqual([
    expect.stringMatching(/^\/assets\/pdf-(?!worker).*\.js$/),
    expect.stringMatching(/^\/assets\/pdf-worker-.*\.js$/),
    expect.stringMatching(/^\/assets\/thumbnail-.*\.js$/),
  ]);
  // The file is read in a separate thread, which ends with it; no script makes another.
  await expect.poll(() => page.workers().length).toBe(1);
  await page.getByRole('button', { name: 'Remove birds.pdf' }).click();
  await expect.poll(() => page.workers().length).toBe(0);
  const made = (source: string) => page.evaluate(`(() => { try { ${source} } catch (error) { return error.name } return 'made' })()`);
  expect(await made("new Worker('/assets/pdf.js')")).toBe('TypeError');
  expect(await made("trustedTypes.createPolicy('other', {})")).toBe('TypeError');
  expect(await made("trustedTypes.createPolicy('filemill', {})")).toBe('TypeError');
  await visited.close();
});

describe('the pages to choose', () => {
  it.each(LOOKS)('have nothing that axe finds, and fit, in %s at %i px, %s', async (colorScheme, width, dir) => {
    const lines = (at: number) =>
      Array.from({ length: 18 }, (_, line) => (line === 0 ? `Chapter ${at + 1}` : 'wading birds of the northern shores'));
    const source = await file('chapters.pdf', pdf(Array.from({ length: 23 }, (_, at) => lines(at))));
    const visited = await opened(source, { colorScheme, viewport: { width, height: 900 } });
    const { page } = visited;
    await page.evaluate(`document.documentElement.dir = '${dir}'`);
    await box(page, 1).scrollIntoViewIfNeeded();
    await untilDrawn(page, 2);
    await box(page, 2).click();
    await box(page, 3).click();
    expect(await findings(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    const pictures = process.env['LOOKS'];
    if (pictures !== undefined) {
      await page.waitForTimeout(1500);
      await page.screenshot({ path: join(pictures, `pages-${colorScheme}-${width}-${dir}.png`), fullPage: true });
    }
    nothingOdd(visited);
    await visited.close();
  });
});
