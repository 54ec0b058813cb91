/** The page in a real Chromium: a visit that remembers what the browser complained of, and which other hosts it asked. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { checkout, type Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const AXE = join(checkout, 'node_modules/axe-core/axe.min.js');

/** What a file of tests works with. */
export interface Ground {
  readonly url: string;
  readonly browser: Browser;
  /** Absolute path of an empty folder. */
  readonly folder: string;
}

/** A service, a browser and a folder for all tests of a file: there while they run, and gone afterwards. */
export function pageGround(name: string): Ground {
  let [service, browser, folder] = [undefined, undefined, ''] as [Pick<Service, 'url'> | undefined, Browser | undefined, string];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), `filemill-${name}-`));
    service = await sharedService();
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    get url() {
      return service?.url ?? '';
    },
    get browser() {
      return browser as Browser;
    },
    get folder() {
      return folder;
    },
  };
}

/** Themes, widths and directions in which each part of the page is looked at. */
export const LOOKS = [
  ['light', 320, 'ltr'],
  ['light', 1280, 'ltr'],
  ['dark', 320, 'rtl'],
  ['dark', 1280, 'ltr'],
] as const;

export function openBrowser(): Promise<Browser> {
  const args = ['--disable-gpu', '--disable-background-networking', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])];
  return chromium.launch({ executablePath: '/usr/bin/chromium', args });
}

export interface Visit {
  readonly page: Page;
  /** Violations of the policy, and errors that no code caught. */
  readonly complaints: readonly string[];
  /** Addresses outside the service that it asked for. */
  readonly strangers: readonly string[];
  close(): Promise<void>;
}

/** @param url of a view, with its service @param until when the visit begins: with all of the document, or with its first bytes @param shows what is there then */
export async function visit(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
  until: 'load' | 'commit' = 'load',
  shows = 'h1',
): Promise<Visit> {
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const complaints: string[] = [];
  const strangers: string[] = [];
  page.on('console', (message) => {
    // A refusal that the page shows is an answer with a status.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(new URL(url).origin) && !/^(data|blob):/.test(request.url())) strangers.push(request.url());
  });
  await page.goto(url, { waitUntil: until });
  await page.locator(shows).first().waitFor();
  return { page, complaints, strangers, close: () => context.close() };
}

/** The field behind the button that chooses files. */
export const filesOf = (page: Page) => page.locator('input[type=file][multiple]:not([webkitdirectory])');

/** Each task's state, in the order shown. */
export const statesOf = (page: Page): Promise<string[]> =>
  page
    .locator('.task')
    .evaluateAll((rows) => rows.map((row) => (row as unknown as { dataset: Record<string, string> }).dataset['state'] ?? ''));
export const untilStates = (page: Page, states: readonly string[]) =>
  expect.poll(() => statesOf(page), { timeout: 60_000 }).toEqual(states);

/** Presses the button that runs what was chosen. */
export const start = (page: Page) => page.locator('.button.main.large').click();

/** The browser complained of nothing, and asked no other host. */
export const nothingOdd = ({ complaints, strangers }: Visit) =>
  expect({ complaints, strangers }).toEqual({ complaints: [], strangers: [] });

export async function saved(page: Page, press: () => Promise<void>): Promise<Buffer> {
  const [download] = await Promise.all([page.waitForEvent('download'), press()]);
  return readFile(await download.path());
}
/** The first result. */
export const result = (page: Page): Promise<Buffer> =>
  saved(page, () =>
    page
      .getByRole('link', { name: /^Download/ })
      .first()
      .click(),
  );

/** What axe finds: the rules and the places. */
export async function findings(page: Page): Promise<readonly string[]> {
  // Evaluated by the debugger, which the policy of the page does not hold.
  const found: unknown = await page.evaluate(
    `${await readFile(AXE, 'utf8')}; axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ target }) => target.join(' ')).join(', ')))`,
  );
  return found as readonly string[];
}
