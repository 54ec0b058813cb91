/** Starts Chromium without background activity, with our confinement of its processes instead of its sandbox, and with the proxy as its only connection. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { DevTools } from './devtools.ts';
import { rendererStarted, renderersIn } from './renderers.ts';

const SHELL = '/usr/lib/chromium/chromium-headless-shell';

export interface ChromiumOptions {
  /** Path of `native/chromium-child`, by which it starts its processes. */
  readonly child: string;
  /** On 127.0.0.1; undefined where sockets are refused anyway. */
  readonly proxyPort: number | undefined;
  /** Called when it ends without having been closed. */
  readonly onEnd: () => void;
}

export interface Chromium {
  readonly devtools: DevTools;
  /** The folder that it and its processes run in. */
  readonly home: string;
  /** Resolves when it has ended. */
  close(): Promise<void>;
}

/** @throws PageRefusal if its processes are not confined */
export async function startChromium({ child, proxyPort, onEnd }: ChromiumOptions): Promise<Chromium> {
  const home = process.cwd();
  const earlier = await renderersIn(home);
  const browser = spawn(SHELL, flags(home, child, proxyPort), { env: process.env, stdio: ['ignore', 'ignore', 'inherit', 'pipe', 'pipe'] });
  browser.once('error', onEnd).once('exit', onEnd);
  const [, , , to, from] = browser.stdio as unknown as [null, null, null, Writable, Readable];
  const devtools = new DevTools(to, from);
  await devtools.send('Browser.getVersion');
  // It starts with one empty page.
  await rendererStarted(home, earlier);
  return {
    devtools,
    home,
    async close() {
      browser.off('exit', onEnd);
      const ended = browser.exitCode === null && browser.signalCode === null ? once(browser, 'exit') : undefined;
      // Closing its pipe ends it. We may not be permitted to send it a signal.
      to.end();
      await ended;
    },
  };
}

const flags = (home: string, child: string, proxyPort: number | undefined): string[] => [
  '--remote-debugging-pipe',
  `--user-data-dir=${join(home, 'profile')}`,
  // Its sandbox needs user namespaces, which the launcher refuses to all converters. Instead, our program confines each process that it starts.
  '--no-sandbox',
  `--browser-subprocess-path=${child}`,
  // A process that its zygote forks would not be started by that program.
  '--no-zygote',
  // A GPU process needs its own /proc/self, which children cannot read here.
  '--in-process-gpu',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-crashpad-for-testing',
  '--disable-breakpad',
  '--log-level=3',

  // All connections go to the proxy, loopback included, and the proxy resolves names.
  `--proxy-server=http://127.0.0.1:${proxyPort ?? 9}`,
  '--proxy-bypass-list=<-loopback>',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  '--disable-quic',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--dns-prefetch-disable',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-domain-reliability',
  '--disable-sync',
  '--no-pings',
  '--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,CertificateTransparencyComponentUpdater',

  '--block-new-web-contents',
  '--deny-permission-prompts',
  '--disable-extensions',
  '--disable-default-apps',
  '--no-first-run',
  '--no-default-browser-check',
  '--mute-audio',
  '--hide-scrollbars',
  '--force-color-profile=srgb',
  '--lang=en-US',
  'about:blank',
];
