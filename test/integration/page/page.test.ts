/** The page in Chromium, against a running service: what people do with it, by what comes of it. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { picture } from '../../kit/fixtures/pictures/photos.ts';
import { checkout, type Service, startService } from '../../kit/roles/service.ts';
import { filesOf, findings, nothingOdd, pageGround, saved, start, untilStates, visit } from './browser.ts';

const run = promisify(execFile);
/** Its head, cut off. */
const BROKEN_PNG = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 1, 0]);
/** Where the pictures of the docs are written, where they are wanted: `PICTURES=docs/images`. */
const PICTURES = process.env['PICTURES'];

const ground = pageGround('page');

/** The size of the result's picture, px. */
const sizeOf = (page: Page): Promise<unknown> =>
  page.evaluate("(({ naturalWidth, naturalHeight }) => [naturalWidth, naturalHeight])(document.querySelector('.compared img') ?? {})");
describe('convert', () => {
  it('converts a photo with an option, shows it and downloads it', async () => {
    const source = await picture(ground.folder, 'harbour.png', ['-resize', '300x200!']);
    const visited = await visit(ground.browser, ground.url);
    const { page } = visited;
    await filesOf(page).setInputFiles(source);
    await page.getByRole('button', { name: 'WEBP', exact: true }).click();
    await page.locator('summary', { hasText: 'Options' }).click();
    await page.locator('[name=img_resize_w]').fill('60');
    await start(page);
    await untilStates(page, ['done']);
    await page.getByRole('button', { name: 'Preview' }).click();
    await expect.poll(() => sizeOf(page)).toEqual([60, 40]);
    const bytes = await saved(page, () => page.getByRole('link', { name: /^Download/ }).click());
    expect(bytes.subarray(8, 12).toString()).toBe('WEBP');
    // It stays in this browser's list, and can be reopened by its address in another one.
    await page.getByRole('link', { name: /Jobs/ }).click();
    await page.getByRole('link', { name: 'Link to this job' }).click();
    const elsewhere = await visit(ground.browser, page.url());
    await elsewhere.page.getByRole('heading', { name: /harbour.*webp/ }).waitFor();
    nothingOdd(visited);
    nothingOdd(elsewhere);
    await elsewhere.close();
    await visited.close();
  });

  it('converts a folder in one request, with a target for each kind of file, into a ZIP', async () => {
    const photos = join(ground.folder, 'photos');
    await mkdir(photos);
    for (let n = 0; n < 8; n++) await picture(photos, `p${n}.png`);
    await rm(join(photos, 'stored-1.ppm'));
    await writeFile(join(photos, 'notes.md'), '# Kestrel\n');
    const visited = await visit(ground.browser, ground.url);
    const { page } = visited;
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push(new URL(request.url()).pathname);
    });
    await page.locator('input[webkitdirectory]').setInputFiles(photos);
    await page.locator('.task').nth(8).waitFor();
    await start(page);
    await untilStates(
      page,
      Array.from({ length: 9 }, () => 'done'),
    );
    expect(sent).toContain('/api/v1/batch');
    expect(sent.filter((path) => !path.includes('uploads')).length).toBeLessThan(9);
    await writeFile(
      join(ground.folder, 'all.zip'),
      await saved(page, () => page.getByRole('button', { name: 'Download all 9 as ZIP' }).click()),
    );
    const { stdout } = await run('unzip', ['-t', join(ground.folder, 'all.zip')]);
    expect(stdout.match(/p\d\.jpg +OK/g)).toHaveLength(8);
    expect(stdout).toMatch(/notes\.pdf +OK/);
    nothingOdd(visited);
    await visited.close();
  });

  it('says why a file fails, asks for a password, and goes on with the others', async () => {
    const [broken, plain, locked] = ['broken.png', 'plain.pdf', 'locked.pdf'].map((name) => join(ground.folder, name)) as [
      string,
      string,
      string,
    ];
    await writeFile(broken, BROKEN_PNG);
    await writeFile(plain, pdf([['Osprey']]));
    await run('qpdf', ['--encrypt', 'open', 'open', '256', '--', plain, locked]);
    const visited = await visit(ground.browser, ground.url);
    const { page } = visited;
    await filesOf(page).setInputFiles([broken, locked]);
    await page.getByRole('combobox', { name: /locked/ }).selectOption('txt');
    await start(page);
    await untilStates(page, ['failed', 'failed']);
    expect(await page.locator('.task').first().getByRole('alert').textContent()).toMatch(/damaged|refused/);
    await page.getByPlaceholder('Password').fill('wrong');
    await page.getByRole('button', { name: 'Use this password' }).click();
    await page.getByText('This password does not open the file').waitFor();
    await page.getByPlaceholder('Password').fill('open');
    await page.getByRole('button', { name: 'Use this password' }).click();
    await untilStates(page, ['failed', 'done']);
    await page.getByRole('button', { name: 'Preview' }).click();
    await expect.poll(() => page.locator('.preview pre').textContent()).toContain('Osprey');
    nothingOdd(visited);
    await visited.close();
  });

  it('shows HTML as text and SVG as a picture, and neither runs', async () => {
    const evil = '<script>top.document.title="taken";parent.stolen=1</script><img src=x onerror="parent.stolen=1">Bittern';
    await writeFile(join(ground.folder, 'evil.html'), `<!doctype html><html><body>${evil}</body></html>`);
    await writeFile(join(ground.folder, 'evil.md'), `Bittern\n\n${evil}\n`);
    await writeFile(
      join(ground.folder, 'evil.svg'),
      `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30" onload="parent.stolen=1"><script>parent.stolen=1</script><rect width="40" height="30" fill="red"/></svg>`,
    );
    const visited = await visit(ground.browser, ground.url);
    const { page } = visited;
    await filesOf(page).setInputFiles(['evil.html', 'evil.md', 'evil.svg'].map((name) => join(ground.folder, name)));
    await page.getByRole('combobox', { name: /evil.html/ }).selectOption('txt');
    await page.getByRole('combobox', { name: /evil.md/ }).selectOption('html');
    await page.getByRole('combobox', { name: /evil.svg/ }).selectOption('png');
    await start(page);
    await untilStates(page, ['done', 'done', 'done']);
    for (const button of await page.getByRole('button', { name: 'Preview' }).all()) await button.click();
    await expect.poll(() => page.locator('.preview pre').allTextContents()).toHaveLength(2);
    await expect
      .poll(async () => (await page.locator('.preview pre').allTextContents()).every((text) => text.includes('Bittern')))
      .toBe(true);
    await page.locator('.compared img').first().waitFor();
    expect(await page.evaluate('[window.stolen, document.title]')).toEqual([undefined, 'filemill: Convert']);
    expect(await page.locator('iframe').count()).toBe(0);
    nothingOdd(visited);
    await visited.close();
  });

  it('shows the request that does what was chosen, to a shell, in JavaScript and in Python', async () => {
    const folder = join(ground.folder, 'requests');
    await mkdir(folder);
    const names = [`it's a "kite".png`, 'red, blue; $(touch x).png'];
    for (const name of names) await copyFile(await picture(ground.folder, 'kite.png', ['-resize', '300x200!']), join(folder, name));
    // Tells what it is asked for: Python's library is not installed.
    await writeFile(
      join(folder, 'requests.py'),
      `import json
class post:
    def __init__(self, url, files, data): self.sent = [url, [[field, file.name] for field, file in files], [list(pair) for pair in data]]
    def json(self): return json.dumps(self.sent)
`,
    );
    const visited = await visit(ground.browser, ground.url);
    const { page } = visited;
    await filesOf(page).setInputFiles(names.map((name) => join(folder, name)));
    await page.getByRole('button', { name: 'WEBP', exact: true }).click();
    await page.locator('summary', { hasText: 'Options' }).click();
    await page.locator('[name=img_resize_w]').fill('60');
    await page.locator('summary', { hasText: 'As a request' }).click();
    const shownIn = async (language: string): Promise<string> => {
      await page.getByRole('button', { name: language, exact: true }).click();
      return `${await page.locator('.request pre').textContent()}`;
    };
    const at = { cwd: folder };
    /** Whether these jobs end in pictures of 60 × 40 pixels, in these formats. */
    const becameSmall = async (told: string, formats = ['webp', 'webp']): Promise<void> => {
      const ids = [...new Set([...told.matchAll(/job_id"?: ?["']([0-9a-f]{32})/g)].map(([, id]) => id))];
      const made: (string | undefined)[] = [];
      for (const id of ids) {
        const output = `${ground.url}/api/v1/jobs/${id}/output`;
        await expect.poll(async () => (await fetch(output)).status, { timeout: 20_000 }).toBe(200);
        const { format, width, height } = await sharp(await (await fetch(output)).arrayBuffer()).metadata();
        expect([width, height]).toEqual([60, 40]);
        made.push(format);
      }
      expect(made.sort()).toEqual(formats);
    };
    await becameSmall((await run('/bin/sh', ['-c', await shownIn('curl')], at)).stdout);
    await writeFile(join(folder, 'request.mjs'), await shownIn('JavaScript'));
    await becameSmall((await run(process.execPath, ['request.mjs'], at)).stdout);
    await writeFile(join(folder, 'request.py'), await shownIn('Python'));
    expect(JSON.parse((await run('/usr/bin/python3', ['request.py'], at)).stdout)).toEqual([
      `${ground.url}/api/v1/batch`,
      names.map((name) => ['files[]', name]),
      expect.toSatisfy((data: string[][]) => new Set(data.flat()).isSupersetOf(new Set(['to_format', 'webp', 'img_resize_w', '60']))),
    ]);
    // For each target a request.
    await page.locator('select.target').last().selectOption('jpg');
    expect((await shownIn('curl')).match(/^curl /gm)).toHaveLength(2);
    expect((await shownIn('Python')).match(/to_format", "(?:webp|jpg)/g)).toHaveLength(2);
    await writeFile(join(folder, 'requests.mjs'), await shownIn('JavaScript'));
    await becameSmall((await run(process.execPath, ['requests.mjs'], at)).stdout, ['jpeg', 'webp']);
    // For one file the shell gets the result itself.
    await page
      .locator('.task')
      .last()
      .getByRole('button', { name: /^Remove/ })
      .click();
    await run('/bin/sh', ['-c', await shownIn('curl')], at);
    const saved = (await readdir(folder)).filter((name) => name.endsWith('.webp'));
    expect(saved).toHaveLength(1);
    expect(await sharp(join(folder, saved[0] ?? '')).metadata()).toMatchObject({ format: 'webp', width: 60, height: 40 });
    expect(await readdir(folder)).not.toContain('x');
    nothingOdd(visited);
    await visited.close();
  });

  it('cancels a job, and deletes it on the server', async () => {
    const clip = join(ground.folder, 'long.mp4');
    await run('ffmpeg', ['-loglevel', 'error', '-f', 'lavfi', '-i', 'testsrc=d=60:s=640x480', '-c:v', 'mpeg4', clip]);
    const visited = await visit(ground.browser, ground.url);
    const { page } = visited;
    await filesOf(page).setInputFiles(clip);
    await start(page);
    await untilStates(page, ['working']);
    const id = await page.evaluate("JSON.parse(localStorage.getItem('filemill.jobs'))[0].id");
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await untilStates(page, ['cancelled']);
    await expect.poll(async () => (await fetch(`${ground.url}/api/v1/jobs/${id}`)).status).toBe(410);
    await page.goto(`${ground.url}/jobs/${id}`);
    await page.getByText('its files were deleted').waitFor();
    nothingOdd(visited);
    await visited.close();
  });

  it('cancels all that are under way, and tries all of them again', async () => {
    const visited = await visit(ground.browser, ground.url);
    const { page } = visited;
    let isHeld = true;
    await page.route('**/api/v1/uploads', (route) => (isHeld ? route.abort('connectionfailed') : route.continue()));
    await filesOf(page).setInputFiles(await Promise.all(['1.png', '2.png', '3.png'].map((name) => picture(ground.folder, name))));
    await page.getByRole('button', { name: 'Convert 3 files' }).click();
    await page.getByText('The connection is lost').waitFor();
    await page.getByRole('button', { name: 'Cancel all' }).click();
    await untilStates(page, ['cancelled', 'cancelled', 'cancelled']);
    isHeld = false;
    await page.getByRole('button', { name: 'Try 3 files again' }).click();
    await untilStates(page, ['done', 'done', 'done']);
    await visited.close();
  });

  it('sends nothing while an option is out of its bounds', async () => {
    const visited = await visit(ground.browser, ground.url);
    const { page } = visited;
    await filesOf(page).setInputFiles(await picture(ground.folder, 'bounds.png'));
    const options = page.locator('summary', { hasText: 'Options' });
    await options.click();
    await page.locator('[name=img_resize_w]').fill('3');
    await options.click();
    await start(page);
    // Opened again, at the field.
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('img_resize_w');
    expect(await page.locator('[name=img_resize_w]').isVisible()).toBe(true);
    await untilStates(page, ['ready']);
    await page.locator('[name=img_resize_w]').fill('30');
    await start(page);
    await untilStates(page, ['done']);
    await visited.close();
  });

  it('begins each name where its row begins, whatever its letters', async () => {
    const buffer = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>');
    const visited = await visit(ground.browser, ground.url);
    const { page } = visited;
    await filesOf(page).setInputFiles(['photo', 'صورة'].map((name) => ({ name: `${name}.svg`, mimeType: 'image/svg+xml', buffer })));
    await page.locator('.task').nth(1).waitFor();
    for (const dir of ['ltr', 'rtl']) {
      await page.evaluate(`document.documentElement.dir = '${dir}'`);
      const aligned = await page.evaluate("[...document.querySelectorAll('.task .name')].map((name) => getComputedStyle(name).textAlign)");
      const side = dir === 'ltr' ? 'left' : 'right';
      expect(aligned).toEqual([side, side]);
    }
    await visited.close();
  });

  it.each([
    ['its clipboard', undefined],
    ['no clipboard, as over plain HTTP', "Object.defineProperty(navigator, 'clipboard', { value: undefined })"],
  ])('copies the request where a browser gives it %s', async (_, before) => {
    const visited = await visit(ground.browser, `${ground.url}/tools/compress-pdf`);
    const { page } = visited;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.evaluate(`globalThis.paste = navigator.clipboard.readText.bind(navigator.clipboard); ${before ?? ''}`);
    await page.locator('summary', { hasText: 'As a request' }).click();
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('globalThis.paste()')).toBe(await page.locator('.request pre').textContent());
    await visited.close();
  });

  it('goes on with an upload by itself when the connection is back', async () => {
    const source = await picture(ground.folder, 'noise.png', ['-resize', '1100x1100!', '+noise', 'Random']);
    const visited = await visit(ground.browser, ground.url);
    const { page } = visited;
    let sent = 0;
    await page.route('**/api/v1/uploads/upl_*', (route) =>
      route.request().method() === 'PATCH' && sent++ === 0 ? route.abort('connectionfailed') : route.continue(),
    );
    await filesOf(page).setInputFiles(source);
    await start(page);
    await page.getByText('The connection is lost').waitFor();
    await untilStates(page, ['done']);
    expect(sent).toBe(2);
    await visited.close();
  });
});

describe('tools', () => {
  it('joins PDFs in the order that keys give them', async () => {
    for (const word of ['Avocet', 'Bunting']) await writeFile(join(ground.folder, `${word}.pdf`), pdf([[word]]));
    const visited = await visit(ground.browser, `${ground.url}/tools/merge-pdf`);
    const { page } = visited;
    await filesOf(page).setInputFiles(['Avocet.pdf', 'Bunting.pdf'].map((name) => join(ground.folder, name)));
    await page.getByRole('button', { name: 'Move Bunting.pdf up' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('As a request').click();
    expect(await page.locator('.request pre').textContent()).toMatch(/Bunting[\s\S]*Avocet[\s\S]*tools\/merge-pdf/);
    await start(page);
    await untilStates(page, ['done']);
    await writeFile(join(ground.folder, 'joined.pdf'), await saved(page, () => page.getByRole('link', { name: /^Download/ }).click()));
    const { stdout } = await run('pdftotext', [join(ground.folder, 'joined.pdf'), '-']);
    expect(stdout.match(/Avocet|Bunting/g)).toEqual(['Bunting', 'Avocet']);
    nothingOdd(visited);
    await visited.close();
  });

  it('crops to the rectangle that was drawn', async () => {
    const source = await picture(ground.folder, 'whole.png', ['-resize', '200x100!']);
    const visited = await visit(ground.browser, `${ground.url}/tools/crop-image`);
    const { page } = visited;
    await filesOf(page).setInputFiles(source);
    await page.locator('.mark').waitFor();
    const box = await page.locator('.canvas img').boundingBox();
    if (box === null) throw new Error('the picture is not shown');
    await page.mouse.move(box.x + box.width / 4, box.y + box.height / 4);
    await page.mouse.down();
    await page.mouse.move(box.x + (box.width * 3) / 4, box.y + box.height / 2, { steps: 3 });
    await page.mouse.up();
    expect(await page.locator('[name=img_crop_w]').inputValue()).toBe('100');
    await start(page);
    await untilStates(page, ['done']);
    await page.getByRole('button', { name: 'Preview' }).click();
    await expect.poll(() => sizeOf(page)).toEqual([100, 25]);
    nothingOdd(visited);
    await visited.close();
  });

  it('says why one is not installed', async () => {
    const { data } = (await (await fetch(`${ground.url}/api/v1/tools`)).json()) as {
      data: { tools: { slug: string; available: boolean; reason?: string }[] };
    };
    const absent = data.tools.find(({ available }) => !available);
    const visited = await visit(ground.browser, `${ground.url}/tools/${absent?.slug}`);
    await visited.page.getByText(`This server does not have this tool: ${absent?.reason}.`).waitFor();
    nothingOdd(visited);
    await visited.close();
  });
});

describe('the page', () => {
  it.each(['light', 'dark'] as const)('has nothing that axe finds in any view, in %s', async (colorScheme) => {
    const visited = await visit(ground.browser, ground.url, { colorScheme });
    const { page } = visited;
    expect(await findings(page)).toEqual([]);
    const broken = join(ground.folder, `broken-${colorScheme}.png`);
    await writeFile(broken, BROKEN_PNG);
    await filesOf(page).setInputFiles([await picture(ground.folder, `axe-${colorScheme}.png`), broken]);
    for (const summary of await page.locator('summary').all()) await summary.click();
    await page.getByRole('button', { name: 'All formats' }).click();
    expect(await findings(page)).toEqual([]);
    await start(page);
    await untilStates(page, ['done', 'failed']);
    await page.getByRole('button', { name: 'Preview' }).click();
    expect(await findings(page)).toEqual([]);
    for (const view of ['/tools', '/tools/compress-pdf', '/tools/remove-object', '/jobs', '/nowhere-at-all/x']) {
      await page.evaluate(`history.pushState(null, '', ${JSON.stringify(view)}); dispatchEvent(new PopStateEvent('popstate'))`);
      await page.locator('h1').first().waitFor();
      expect(await findings(page), view).toEqual([]);
    }
    nothingOdd(visited);
    await visited.close();
  });

  it('converts by the keyboard alone', async () => {
    const source = await picture(ground.folder, 'keys.png');
    const visited = await visit(ground.browser, ground.url);
    const { page } = visited;
    const tabTo = async (name: RegExp) => {
      for (let n = 0; n < 40; n++) {
        await page.keyboard.press('Tab');
        const text = await page.evaluate(
          '(({ labels, ariaLabel, textContent }) => labels?.[0]?.textContent ?? ariaLabel ?? textContent)(document.activeElement)',
        );
        if (name.test(String(text))) return;
      }
      throw new Error(`no key leads to ${name}`);
    };
    // Early: Chromium hands over a dialog only from a while after it was asked to.
    const chosen = page.waitForEvent('filechooser');
    await tabTo(/^Choose files$/);
    await page.keyboard.press('Enter');
    await (await chosen).setFiles(source);
    await page.locator('.task').waitFor();
    await tabTo(/^WEBP$/);
    await page.keyboard.press('Enter');
    await tabTo(/^Convert 1 file$/);
    await page.keyboard.press('Enter');
    await untilStates(page, ['done']);
    await tabTo(/^Download /);
    expect((await saved(page, () => page.keyboard.press('Enter'))).subarray(8, 12).toString()).toBe('WEBP');
    await visited.close();
  });

  it.each([
    [320, 'de-DE'],
    [320, 'es-ES'],
    [768, 'de-DE'],
    [1280, 'de-DE'],
  ])('fits %i px in %s without scrolling sideways, its menu in one line', async (width, locale) => {
    const visited = await visit(ground.browser, ground.url, { viewport: { width, height: 800 }, locale });
    const { page } = visited;
    const tops = await page.locator('nav a').evaluateAll((links) => links.map((link) => Math.round(link.getBoundingClientRect().top)));
    expect([tops.length, new Set(tops).size]).toEqual([4, 1]);
    await filesOf(page).setInputFiles(await picture(ground.folder, `a-name-that-is-longer-than-a-phone-is-wide-${width}.png`));
    for (const summary of await page.locator('summary').all()) await summary.click();
    for (const view of ['/', '/tools', '/tools/watermark-image', '/jobs']) {
      await page.evaluate(`history.pushState(null, '', ${JSON.stringify(view)}); dispatchEvent(new PopStateEvent('popstate'))`);
      await page.locator('h1').first().waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth'), view).toBeLessThanOrEqual(width);
    }
    await visited.close();
  });

  it.each([
    ['de-AT', 'Dateien umwandeln'],
    ['es-MX', 'Convertir archivos'],
    ['fr-FR', 'Convert files'],
  ])('speaks to a browser of %s: %s', async (locale, headline) => {
    const visited = await visit(ground.browser, ground.url, { locale });
    await visited.page.getByRole('heading', { name: headline }).waitFor();
    nothingOdd(visited);
    await visited.close();
  });

  it('names tools and options in its language, says what they do, and finds them by their English names too', async () => {
    const visited = await visit(ground.browser, `${ground.url}/tools`, { locale: 'de-DE' });
    const { page } = visited;
    await page.getByText('PDFs verbinden').waitFor();
    await page.getByRole('searchbox').fill('protect pdf');
    expect(await page.locator('.cards strong').allTextContents()).toEqual(['PDF schützen']);
    await page.getByRole('link', { name: /PDF schützen/ }).click();
    await page.getByRole('heading', { name: 'PDF schützen' }).waitFor();
    expect(await page.locator('h1').getAttribute('lang')).toBeNull();
    await page.getByText('Passwort').first().waitFor();
    expect(await page.locator('.does').allInnerTexts()).toContain('Mit ihm wird das PDF künftig geöffnet.');
    expect(await page.locator('main [lang=en]').count()).toBe(0);
    expect(await findings(page)).toEqual([]);
    nothingOdd(visited);
    await visited.close();
  });
});

describe('limits', () => {
  let limited: Service | undefined;
  beforeAll(async () => {
    limited = await startService({ limits: { cooldownMs: 20_000 } });
  });
  afterAll(() => limited?.stop());

  it('waits as long as it has to, says so, goes on by itself, and is refused nothing', async () => {
    const source = await picture(ground.folder, 'waits.png');
    const visited = await visit(ground.browser, limited?.url ?? '');
    const { page } = visited;
    await filesOf(page).setInputFiles(source);
    await start(page);
    await untilStates(page, ['done']);
    await filesOf(page).setInputFiles(source);
    await start(page);
    await page.getByText(/A limit of this server is reached. It goes on by itself in \d/).waitFor();
    await untilStates(page, ['done', 'done']);
    expect(await page.getByText('A limit of this server').count()).toBe(0);
    const { data } = (await (await fetch(`${limited?.url}/api/v1/limits`)).json()) as { data: { rejections_last_hour: number } };
    expect(data.rejections_last_hour).toBe(0);
    await visited.close();
  });

  it('are those of this service, also where it takes fewer files than most', async () => {
    const service = await startService({ api: { maxBatchFiles: 2 }, uploads: { maxPerClient: 3 } });
    const source = await readFile(await picture(ground.folder, 'few.png', ['-resize', '40x30!']));
    const visited = await visit(ground.browser, service.url);
    const { page } = visited;
    const names = Array.from({ length: 5 }, (_, n) => `few-${n}.png`);
    await filesOf(page).setInputFiles(names.map((name) => ({ name, mimeType: 'image/png', buffer: source })));
    await start(page);
    await untilStates(
      page,
      names.map(() => 'done'),
    );
    nothingOdd(visited);
    await visited.close();
    await service.stop();
  });

  it('of one tool keep its files where they are, and hold up nothing else', async () => {
    const service = await startService({ limits: { cooldownMs: 0, ai: { 'upscale-image': 1 } } });
    const source = await readFile(await picture(ground.folder, 'turn.png', ['-resize', '40x30!']));
    const visited = await visit(ground.browser, `${service.url}/tools/upscale-image`);
    const { page } = visited;
    let uploads = 0;
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.url().endsWith('/uploads')) uploads++;
    });
    const names = Array.from({ length: 12 }, (_, n) => `turn-${n}.png`);
    await filesOf(page).setInputFiles(names.map((name) => ({ name, mimeType: 'image/png', buffer: source })));
    await start(page);
    await page.getByText('A limit of this server is reached').waitFor();
    const waiting = Array.from({ length: 10 }, () => 'queued');
    await untilStates(page, ['done', 'queued', ...waiting]);
    expect(uploads).toBe(1);
    await page.locator('.task').nth(1).getByRole('button', { name: 'Cancel' }).click();
    await untilStates(page, ['done', 'cancelled', ...waiting]);
    await page.getByRole('link', { name: 'Convert', exact: true }).click();
    await filesOf(page).setInputFiles(join(ground.folder, 'turn.png'));
    await start(page);
    // One list, the newest first.
    await untilStates(page, ['done', 'done', 'cancelled', ...waiting]);
    const { data } = (await (await fetch(`${service.url}/api/v1/limits`)).json()) as { data: { rejections_last_hour: number } };
    expect(data.rejections_last_hour).toBe(0);
    nothingOdd(visited);
    await visited.close();
    await service.stop();
  });

  it('that only a refusal tells of are waited for by all that have them, in their turn', async () => {
    const source = await readFile(await picture(ground.folder, 'refused.png', ['-resize', '40x30!']));
    const visited = await visit(ground.browser, `${ground.url}/tools/upscale-image`);
    const { page } = visited;
    const sent: string[] = [];
    await page.route('**/api/v1/{convert,tools/upscale-image}', async (route) => {
      sent.push(new URL(route.request().url()).pathname.split('/').pop() ?? '');
      if (sent.length > 1) return route.continue();
      const error = { code: 'RATE_LIMITED', message: 'later', details: { tier: 'ai' } };
      return route.fulfill({ status: 429, headers: { 'retry-after': '10' }, json: { error } });
    });
    const names = ['first', 'second', 'third'];
    await filesOf(page).setInputFiles(names.map((name) => ({ name: `${name}.png`, mimeType: 'image/png', buffer: source })));
    await start(page);
    await page.getByText('A limit of this server is reached').waitFor();
    await page.getByRole('link', { name: 'Convert', exact: true }).click();
    await filesOf(page).setInputFiles(join(ground.folder, 'refused.png'));
    await start(page);
    await untilStates(page, ['done', 'queued', 'queued', 'queued']);
    expect(sent).toEqual(['upscale-image', 'convert']);
    await untilStates(page, ['done', 'done', 'done', 'done']);
    expect(sent).toEqual(['upscale-image', 'convert', 'upscale-image', 'upscale-image', 'upscale-image']);
    nothingOdd(visited);
    await visited.close();
  });

  it('goes on after a 429 as it is told to', async () => {
    const visited = await visit(ground.browser, ground.url);
    const { page } = visited;
    let refused = 0;
    await page.route('**/api/v1/convert', async (route) => {
      if (refused++ > 0) return route.continue();
      const error = { code: 'RATE_LIMITED', message: 'later', details: {} };
      return route.fulfill({ status: 429, headers: { 'retry-after': '2' }, json: { error } });
    });
    await filesOf(page).setInputFiles(await picture(ground.folder, 'later.png'));
    await start(page);
    await page.getByText('A limit of this server is reached').waitFor();
    await untilStates(page, ['done']);
    expect(refused).toBe(2);
    await visited.close();
  });
});

it('makes the pictures of the docs', async () => {
  const visited = await visit(ground.browser, ground.url, { viewport: { width: 1120, height: 760 } });
  const { page } = visited;
  const names = ['harbour.png', 'lighthouse.jpg', 'ferry.png'];
  for (const name of names) await picture(ground.folder, name, ['-resize', '900x600!']);
  await filesOf(page).setInputFiles(names.map((name) => join(ground.folder, name)));
  await page.getByRole('button', { name: 'WEBP', exact: true }).click();
  await start(page);
  await untilStates(page, ['done', 'done', 'done']);
  const bytes = await page.screenshot(PICTURES === undefined ? {} : { path: join(checkout, PICTURES, 'page.png') });
  expect(bytes.length).toBeGreaterThan(10_000);
  await visited.close();
});
