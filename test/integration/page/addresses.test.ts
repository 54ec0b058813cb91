/** Addresses that say what they open: conversions, targets and tools with options, with their head in the document, in the browser's language. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { picture } from '../../kit/fixtures/pictures/photos.ts';
import { convert, type Service, startService } from '../../kit/roles/service.ts';
import { filesOf, findings, nothingOdd, pageGround, start, untilStates, visit } from './browser.ts';

const ground = pageGround('addresses');
const HTML = { accept: 'text/html' };
const headOf = (html: string) => ({
  title: /<title>([^<]*)<\/title>/.exec(html)?.[1],
  description: /<meta name="description" content="([^"]*)">/.exec(html)?.[1],
  language: /<html lang="([^"]*)">/.exec(html)?.[1],
});
async function ask(path: string, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`${ground.url}${path}`, { headers: { ...HTML, ...headers } });
  const html = await response.text();
  return {
    status: response.status,
    html,
    robots: response.headers.get('x-robots-tag'),
    vary: response.headers.get('vary'),
    ...headOf(html),
  };
}

describe('the head of the document', () => {
  it.each([
    ['/', 'en', 'filemill: Convert', /^Pictures, sound/],
    ['/?to=pdf', 'en', 'filemill: Convert to PDF', /^Pictures, sound/],
    ['/png-to-webp', 'en', 'filemill: PNG to WEBP', /^Portable Network Graphics to WebP\./],
    ['/convert/docx-to-pdf', 'de-AT,en;q=0.5', 'filemill: DOCX in PDF', /^Microsoft Word in Portable Document Format\./],
    ['/jpeg-to-pdf', 'es', 'filemill: JPG a PDF', /^JPEG a Portable/],
    ['/tools', 'fr', 'filemill: Tools', /^Each/],
    ['/tools/merge-pdf?x=1', 'en', 'filemill: Merge PDF', /^Joins 2 to 20 PDFs/],
    ['/tools/merge-pdf', 'de', 'filemill: PDFs verbinden', /PDF/],
    ['/jobs', 'de', 'filemill: Aufträge', /./],
  ])('says of %s in %s: %s', async (path, language, title, description) => {
    const told = await ask(path, { 'accept-language': language });
    expect([told.status, told.title]).toEqual([200, title]);
    expect(told.description).toMatch(description);
    expect(told.vary).toContain('Accept-Language');
    expect(told.language).toBe(['de', 'es'].find((each) => language.startsWith(each)) ?? 'en');
    // As long as the operator does not want it.
    expect(told.robots).toBe('noindex');
  });

  it.each([
    ['/png-to-nothing', 'filemill: There is no such page'],
    ['/nothing-to-png', 'filemill: There is no such page'],
    ['/convert/mp3-to-docx', 'filemill: There is no such page'],
    ['/tools/no-such-tool', 'filemill: There is no such page'],
    [`/jobs/${'0'.repeat(32)}`, 'filemill: Job'],
    ['/jobs/x', 'filemill: Job'],
  ])('of what there is not, %s, has the status 404', async (path, title) => {
    const told = await ask(path);
    expect([told.status, told.title]).toEqual([404, title]);
  });
  it('of a job that is there, and of one that was deleted, has the status of the API', async () => {
    const answer = await convert(ground.url, await picture(ground.folder, 'there.png', ['-resize', '40x30!']), 'jpg');
    const id = `${answer.data?.job_id}`;
    expect((await ask(`/jobs/${id}`)).status).toBe(200);
    await fetch(`${ground.url}/api/v1/jobs/${id}`, { method: 'DELETE' });
    expect((await ask(`/jobs/${id}`)).status).toBe(410);
  });
  it('is asked in vain by programs', async () => {
    const answer = await fetch(`${ground.url}/png-to-nothing`);
    expect([answer.status, ((await answer.json()) as { error: { code: string } }).error.code]).toEqual([404, 'NOT_FOUND']);
  });
});

describe('what an address has', () => {
  const MARKUP = '"><script>alert(1)</script><img src=x onerror=alert(1)>';
  it.each([
    `/?to=${encodeURIComponent(MARKUP)}`,
    `/?to=pdf&to=${encodeURIComponent(MARKUP)}`,
    `/?to[]=${encodeURIComponent(MARKUP)}`,
    `/${encodeURIComponent(MARKUP)}-to-pdf`,
    `/png-to-${encodeURIComponent(MARKUP)}`,
    `/png-to-webp?${encodeURIComponent(MARKUP)}=${encodeURIComponent(MARKUP)}`,
    `/convert/${encodeURIComponent(MARKUP)}`,
    `/tools/${encodeURIComponent(MARKUP)}`,
    `/tools/resize-image?img_resize_w=${encodeURIComponent(MARKUP)}`,
    `/jobs/${encodeURIComponent(MARKUP)}`,
    '/png-to-png-to-png',
    '/constructor-to-__proto__',
    '/?to=__proto__',
  ])('is not in the document: %s', async (path) => {
    const { html, status } = await ask(path);
    expect(status).toBeLessThan(500);
    expect(html).not.toContain('alert(1)');
    expect(html).not.toContain('onerror');
  });
  it('may be long: the answer is no slower, and no larger', async () => {
    const [short, long] = [await ask('/'), await ask(`/?to=${'p'.repeat(8_000)}`)];
    expect([long.status, long.html]).toEqual([200, short.html]);
    expect((await ask(`/${'a'.repeat(4_000)}-to-${'b'.repeat(4_000)}`)).status).toBe(404);
  });
  it('does not run in the page either', async () => {
    const visited = await visit(ground.browser, `${ground.url}/tools/watermark-image?text=${encodeURIComponent(MARKUP)}&password=secret`);
    await expect.poll(() => visited.page.locator('[name=text]').inputValue()).toBe(MARKUP);
    expect(await visited.page.locator('img, main script').count()).toBe(0);
    nothingOdd(visited);
    await visited.close();
  });
});

describe('in the browser', () => {
  it('a conversion is what the next file becomes, with the options of the address', async () => {
    const visited = await visit(ground.browser, `${ground.url}/png-to-webp?img_quality=35&password=x&video_crf=3`);
    const { page } = visited;
    await page.getByRole('heading', { name: 'Convert PNG to WEBP' }).waitFor();
    await page.getByText('Portable Network Graphics to WebP.').waitFor();
    expect(await page.title()).toBe('filemill: PNG to WEBP');
    await filesOf(page).setInputFiles(await picture(ground.folder, 'harbour.png', ['-resize', '60x40!']));
    expect(await page.getByRole('button', { name: 'WEBP', exact: true }).getAttribute('aria-pressed')).toBe('true');
    await page.locator('summary', { hasText: 'Options' }).click();
    expect(await page.locator('[name=img_quality]').inputValue()).toBe('35');
    await start(page);
    await untilStates(page, ['done']);
    expect(await findings(page)).toEqual([]);
    nothingOdd(visited);
    await visited.close();
  });
  it.each([
    ['/?to=pdf', 'Convert to PDF', 'PDF'],
    ['/convert/png-to-avif', 'Convert PNG to AVIF', 'AVIF'],
    ['/?to=zzz', 'Convert files', 'JPG'],
  ])('%s opens %s', async (path, heading, target) => {
    const visited = await visit(ground.browser, `${ground.url}${path}`);
    const { page } = visited;
    await filesOf(page).setInputFiles(await picture(ground.folder, 'plain.png', ['-resize', '60x40!']));
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
    await expect.poll(() => page.getByRole('button', { name: target, exact: true }).getAttribute('aria-pressed')).toBe('true');
    nothingOdd(visited);
    await visited.close();
  });
  it('an address without such a conversion says so, in German', async () => {
    const visited = await visit(ground.browser, `${ground.url}/mp3-to-docx`, { locale: 'de-DE' });
    await visited.page.getByText('Dieser Server wandelt MP3 nicht in DOCX um.').waitFor();
    await visited.page.getByRole('link', { name: 'Zur Startseite' }).click();
    await visited.page.getByRole('heading', { name: 'Dateien umwandeln' }).waitFor();
    nothingOdd(visited);
    await visited.close();
  });
  it('a tool begins with the options of the address, and with none that it does not have', async () => {
    const visited = await visit(ground.browser, `${ground.url}/tools/resize-image?img_resize_w=320&img_rotate=90`);
    const { page } = visited;
    await expect.poll(() => page.locator('[name=img_resize_w]').inputValue()).toBe('320');
    await page.goto(`${ground.url}/tools/rotate-image?img_rotate=sideways`);
    expect(await page.locator('[name=img_rotate]').inputValue()).toBe('');
    nothingOdd(visited);
    await visited.close();
  });
  it('the start page leads to what people do most, and a search to tools and formats by everyday words', async () => {
    const visited = await visit(ground.browser, ground.url);
    const { page } = visited;
    expect(await page.locator('.popular a').count()).toBe(8);
    await page.getByRole('link', { name: 'HEIC to JPG' }).click();
    await page.getByRole('heading', { name: 'Convert HEIC to JPG' }).waitFor();
    await page.getByRole('link', { name: 'Tools', exact: true }).click();
    const search = page.getByRole('searchbox');
    const links = () => page.locator('.cards a').evaluateAll((all) => all.map((each) => each.getAttribute('href')));
    await search.fill('cut out background');
    await expect.poll(links).toEqual(['/tools/remove-background']);
    await search.fill('photoshop');
    await expect.poll(links).toContain('/?to=psd');
    await page.getByText('Adobe Photoshop', { exact: true }).click();
    await page.getByRole('heading', { name: 'Convert to PSD' }).waitFor();
    // The formats say what they are.
    await filesOf(page).setInputFiles(await picture(ground.folder, 'p.png', ['-resize', '60x40!']));
    await page.getByRole('button', { name: 'All formats' }).click();
    await page.getByRole('button', { name: 'AAI Dune HD image' }).waitFor();
    await page.getByRole('searchbox').fill('jpeg');
    await page.getByRole('searchbox').press('Enter');
    expect(await page.getByRole('combobox', { name: /Target format/ }).inputValue()).toBe('jpg');
    nothingOdd(visited);
    await visited.close();
  });
});

describe('a sitemap', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ web: { sitemap: true }, api: { publicUrl: 'https://mill.example.org/a&b/' } });
  });
  afterAll(() => service.stop());
  it('is not there unless the operator wants it', async () => {
    expect((await fetch(`${ground.url}/sitemap.xml`)).status).toBe(404);
  });
  it('lists pages that are there, which search engines may list then', async () => {
    const response = await fetch(`${service.url}/sitemap.xml`);
    expect(response.headers.get('content-type')).toBe('application/xml; charset=utf-8');
    const listed = [...(await response.text()).matchAll(/<loc>https:\/\/mill\.example\.org\/a&#38;b([^<]*)<\/loc>/g)].map(
      ([, view = '']) => view,
    );
    expect(listed).toEqual(expect.arrayContaining(['/', '/tools', '/tools/merge-pdf', '/png-to-webp', '/docx-to-pdf']));
    expect(listed.length).toBeGreaterThan(200);
    expect(listed.length).toBeLessThan(10_000);
    for (const view of ['/', '/tools', '/tools/merge-pdf', '/png-to-webp', ...listed.filter((_, at) => at % 150 === 0)]) {
      const page = await fetch(`${service.url}${view}`, { headers: HTML });
      expect([view, page.status, page.headers.get('x-robots-tag')]).toEqual([view, 200, null]);
    }
    for (const view of ['/jobs', `/jobs/${'0'.repeat(32)}`, '/?to=pdf', '/png-to-nothing'])
      expect((await fetch(`${service.url}${view}`, { headers: HTML })).headers.get('x-robots-tag')).toBe('noindex');
  });
});
