/**
 * Runs Chromium: each line of JSON on stdin requests one page as PDF or PNG, and one line of JSON on stdout answers it.
 *
 *   page.ts --child=PATH [--proxy=PORT]          serves requests until stdin ends; prints {"ready":true} first
 *   page.ts --child=PATH [--proxy=PORT] --once   answers one request and exits: 0 done, 1 failed
 *
 * PATH is that of `native/chromium-child`. Without a proxy no page can connect to anything.
 */
import { createInterface } from 'node:readline';
import { startChromium } from './page/chromium.ts';
import { render } from './page/render.ts';
import { renderersEnded, renderersIn } from './page/renderers.ts';
import { type PageRequest, pageFailure } from './page/request.ts';

/**
 * Without its zygote, Chromium does not reap some of the processes that pages ran in: they stay in the process table until it ends, and count
 * against the process limit. They are invisible from in here, so the browser is replaced after so many pages, between two requests.
 */
const PAGES_PER_BROWSER = 16;

const send = (message: object): boolean => process.stdout.write(`${JSON.stringify(message)}\n`);

async function main(args: readonly string[]): Promise<void> {
  const once = args.includes('--once');
  const optionOf = (name: string) => args.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3);
  const [child, port] = [optionOf('child'), optionOf('proxy')];
  if (child === undefined) throw new Error('--child is missing');
  // If the browser dies, this process ends too, and its owner starts a new one.
  const start = () => startChromium({ child, proxyPort: port === undefined ? undefined : Number(port), onEnd: () => process.exit(1) });
  let chromium = await start();
  let pages = 0;
  if (!once) send({ ready: true });
  for await (const line of createInterface({ input: process.stdin })) {
    const earlier = await renderersIn(chromium.home);
    const reply = await render(chromium, JSON.parse(line) as PageRequest, earlier).catch(pageFailure);
    send(reply);
    if (!once) {
      // Everything that we started ends with us.
      if (!(await renderersEnded(chromium.home, earlier))) process.exit(1);
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
