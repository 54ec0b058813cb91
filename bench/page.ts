/** The page's first visit by a slow phone: when files can be chosen, and when something is shown. */
import { type Browser, chromium } from 'playwright-core';
import { startService } from '../test/kit/roles/service.ts';
import { median } from './rows.ts';

/** How many times slower than this machine a phone's processor is. */
const SLOWER = 4;
/** Mobile networks, bytes a second and ms: 4G as most have it, and the slow one by which Lighthouse judges (its `mobileSlow4G`, as developer tools apply it). */
const USUAL = { offline: false, downloadThroughput: 9e6 / 8, uploadThroughput: 9e6 / 8, latency: 60 };
const SLOW = { offline: false, downloadThroughput: (1.6e6 * 0.9) / 8, uploadThroughput: (750e3 * 0.9) / 8, latency: 150 * 3.75 };
const VISITS = 7;

interface Visit {
  readonly usable: number;
  readonly firstPaint: number;
  readonly bytes: number;
}

export async function page(): Promise<void> {
  const service = await startService();
  const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking'];
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args });
  try {
    console.log('\n| first visit, nothing cached | files can be chosen | first paint | fetched |\n|---|---|---|---|');
    for (const [what, network, slower] of [
      ['this machine', undefined, 1],
      [`9 Mbit/s, 60 ms, a processor ${SLOWER} times slower`, USUAL, SLOWER],
      [`1.4 Mbit/s, 560 ms, a processor ${SLOWER} times slower`, SLOW, SLOWER],
    ] as const) {
      const visits: Visit[] = [];
      for (let visit = 0; visit < VISITS; visit++) visits.push(await visitOnce(browser, service.url, network, slower));
      const [usable, firstPaint] = (['usable', 'firstPaint'] as const).map(
        (key) => `${Math.round(median(visits.map((each) => each[key])))} ms`,
      );
      console.log(`| ${what} | ${usable} | ${firstPaint} | ${Math.round((visits[0]?.bytes ?? 0) / 1000)} kB |`);
    }
  } finally {
    await browser.close();
    await service.stop();
  }
}

/** In a context of its own: its cache is empty. */
async function visitOnce(browser: Browser, url: string, network: typeof USUAL | undefined, slower: number): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
  try {
    const visited = await context.newPage();
    const chrome = await context.newCDPSession(visited);
    await chrome.send('Network.enable');
    let bytes = 0;
    chrome.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    if (network !== undefined) await chrome.send('Network.emulateNetworkConditions', network);
    await chrome.send('Emulation.setCPUThrottlingRate', { rate: slower });
    // Seen from within, frame by frame: a question from here would be throttled too.
    await visited.addInitScript(`const look = () => {
      if (document.querySelector('input[type=file]:not(:disabled)') === null) requestAnimationFrame(look);
      else globalThis.usable = performance.now();
    };
    requestAnimationFrame(look);`);
    await visited.goto(url);
    await visited.waitForFunction('globalThis.usable !== undefined');
    const [usable, firstPaint] = (await visited.evaluate(
      `[globalThis.usable, performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0]`,
    )) as [number, number];
    return { usable, firstPaint, bytes };
  } finally {
    await context.close();
  }
}
