/** Starts Chromium without background activity, without its own sandbox inside ours, and with the proxy as its only connection. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { DevTools } from './devtools.ts';

const SHELL = '/usr/lib/chromium/chromium-headless-shell';

export interface Chromium {
  readonly devtools: DevTools;
  /** Resolves when it has ended. */
  close(): Promise<void>;
}

/** @param proxyPort on 127.0.0.1; undefined where sockets are refused anyway @param onEnd called when it ends without having been closed */
export async function startChromium(proxyPort: number | undefined, onEnd: () => void): Promise<Chromium> {
  const home = process.cwd();
  const child = spawn(SHELL, flags(home, proxyPort), { env: process.env, stdio: ['ignore', 'ignore', 'inherit', 'pipe', 'pipe'] });
  child.once('error', onEnd).once('exit', onEnd);
  const [, , , to, from] = child.stdio as unknown as [null, null, null, Writable, Readable];
  const devtools = new DevTools(to, from);
  await devtools.send('Browser.getVersion');
  return {
    devtools,
    async close() {
      child.off('exit', onEnd);
      const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
      // Closing its pipe ends it. We may not be permitted to send it a signal.
      to.end();
      await ended;
    },
  };
}

const flags = (home: string, proxyPort: number | undefined): string[] => [
  '--remote-debugging-pipe',
  `--user-data-dir=${join(home, 'profile')}`,
  // Its sandbox needs user namespaces and its own filter, which the launcher refuses to all converters.
  '--no-sandbox',
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
