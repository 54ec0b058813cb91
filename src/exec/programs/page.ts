/**
 * Runs Chromium: each line of JSON on stdin requests one page as PDF or PNG, and one line of JSON on stdout answers it.
 *
 *   page.ts [--proxy=PORT]          serves requests until stdin ends; prints {"ready":true} first
 *   page.ts [--proxy=PORT] --once   answers one request and exits: 0 done, 1 failed
 *
 * Without a proxy no page can connect to anything.
 */
import { createInterface } from 'node:readline';
import { startChromium } from './page/chromium.ts';
import { render } from './page/render.ts';
import { type PageRequest, refusalOf } from './page/request.ts';

/**
 * Without its zygote, Chromium does not reap some of the processes that pages ran in: they stay in the process table until it ends, and count
 * against the process limit. They are invisible from in here, so the browser is replaced after so many pages, between two requests.
 */
const PAGES_PER_BROWSER = 16;

const send = (message: object): boolean => process.stdout.write(`${JSON.stringify(message)}\n`);

async function main(args: readonly string[]): Promise<void> {
  const once = args.includes('--once');
  const port = args.map((argument) => /^--proxy=(\d+)$/.exec(argument)?.[1]).find(Boolean);
  // If the browser dies, this process ends too, and its owner starts a new one.
  const start = () => startChromium(port === undefined ? undefined : Number(port), () => process.exit(1));
  let chromium = await start();
  let pages = 0;
  if (!once) send({ ready: true });
  for await (const line of createInterface({ input: process.stdin })) {
    const reply = await render(chromium, JSON.parse(line) as PageRequest).catch(refusalOf);
    send(reply);
    if (!once) {
      if (++pages % PAGES_PER_BROWSER === 0) {
        await chromium.close();
        chromium = await start();
      }
      continue;
    }
    process.exitCode = reply.ok ? 0 : 1;
    break;
  }
  await chromium.close();
}

await main(process.argv.slice(2));
