/**
 * Chromium in a process of its own: one line of JSON on stdin asks for one page as PDF or PNG, one line of JSON on stdout answers.
 *
 *   page.ts [--proxy=PORT]          serves requests until stdin ends; says {"ready":true} first
 *   page.ts [--proxy=PORT] --once   answers one request and exits: 0 done, 1 failed
 *
 * Without a proxy no page reaches anything but itself.
 */
import { createInterface } from 'node:readline';
import { startChromium } from './page/chromium.ts';
import { render } from './page/render.ts';
import { type PageRequest, refusalOf } from './page/request.ts';

/**
 * Without its zygote, Chromium forgets some of the processes that pages ran in, and they stay in the process table until it ends. They count
 * against the limit of processes, and none of them can be seen from in here: it is replaced after so many pages, between two requests.
 */
const PAGES_PER_BROWSER = 16;

const say = (words: object): boolean => process.stdout.write(`${JSON.stringify(words)}\n`);

async function main(words: readonly string[]): Promise<void> {
  const once = words.includes('--once');
  const port = words.map((word) => /^--proxy=(\d+)$/.exec(word)?.[1]).find(Boolean);
  // Whoever started us starts us anew: a browser that died took with it whatever brought it down.
  const start = () => startChromium(port === undefined ? undefined : Number(port), () => process.exit(1));
  let chromium = await start();
  let pages = 0;
  if (!once) say({ ready: true });
  for await (const line of createInterface({ input: process.stdin })) {
    const told = await render(chromium, JSON.parse(line) as PageRequest).catch(refusalOf);
    say(told);
    if (!once) {
      if (++pages % PAGES_PER_BROWSER === 0) {
        await chromium.close();
        chromium = await start();
      }
      continue;
    }
    process.exitCode = told.ok ? 0 : 1;
    break;
  }
  await chromium.close();
}

await main(process.argv.slice(2));
