/** What answers on the port of the service, and the proxies around it. */
import { connect } from 'node:net';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { broken, type Finding, fine, unseen, weak } from './finding.ts';

/** One question, ms. */
export const ASK_MS = 10_000;

export const healthAnswer = z.object({
  data: z.object({
    status: z.string(),
    version: z.string(),
    commit: z.string().optional(),
    missing: z.array(z.object({ engine: z.string(), reason: z.string() })),
  }),
});

/** What answers at an address. `other`: it is no filemill; `nothing`: the address refuses connections. */
export type PortFacts =
  | { readonly answers: 'filemill'; readonly health: z.infer<typeof healthAnswer>['data'] }
  | { readonly answers: 'other' | 'nothing' | 'silence' };

/** @param host to connect to */
export async function readPort(host: string, port: number): Promise<PortFacts> {
  const base = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const response = await fetch(`${base}/api/v1/health`, { signal: AbortSignal.timeout(ASK_MS), redirect: 'manual' }).catch(() => undefined);
  if (response === undefined) return { answers: await whatListens(host, port) };
  const health = healthAnswer.safeParse(await response.json().catch(() => undefined));
  return health.success ? { answers: 'filemill', health: health.data.data } : { answers: 'other' };
}

const whatListens = (host: string, port: number): Promise<'other' | 'nothing' | 'silence'> =>
  new Promise((settle) => {
    const socket = connect({ host, port, timeout: ASK_MS });
    const end = (answer: 'other' | 'nothing' | 'silence') => {
      socket.destroy();
      settle(answer);
    };
    socket.once('connect', () => end('other')).once('timeout', () => end('silence'));
    socket.once('error', ({ code }: NodeJS.ErrnoException) => end(code === 'ECONNREFUSED' ? 'nothing' : 'silence'));
  });

/** Where a service that listens there can be asked from its own machine. */
export const hostToAsk = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

/** @param program this program's version, as `filemill --version` has it */
export function judgePort(
  port: number,
  facts: PortFacts,
  program: { readonly version: string; readonly commit: string | undefined },
): readonly Finding[] {
  switch (facts.answers) {
    case 'nothing':
      return [fine('port', `port ${port} is free: no service runs here now`, { port, answers: facts.answers })];
    case 'silence':
      return [
        unseen('port', `what listens on port ${port} gives no answer`, 'see what listens: ss -ltnp; set PORT to another', {
          port,
          answers: facts.answers,
        }),
      ];
    case 'other':
      return [
        broken(
          'port',
          `another program listens on port ${port}: filemill cannot start`,
          'stop it, or set PORT to another; ss -ltnp names it',
          { port, answers: facts.answers },
        ),
      ];
    case 'filemill':
      return judgeService(port, facts.health, program);
  }
}

function judgeService(
  port: number,
  { version, commit, status, missing }: z.infer<typeof healthAnswer>['data'],
  program: Parameters<typeof judgePort>[2],
): readonly Finding[] {
  const facts = { port, answers: 'filemill', version, commit: commit ?? null, status, missing };
  const isOther = version !== program.version || (commit !== undefined && program.commit !== undefined && commit !== program.commit);
  const port_ = isOther
    ? weak(
        'port',
        `filemill ${version} serves on port ${port}, and this is another one, ${program.version}`,
        'restart the service, which then is the one that is installed',
        facts,
      )
    : fine('port', `filemill ${version} serves on port ${port}`, facts);
  const state =
    status === 'ok'
      ? fine('service', 'the service says that all is well')
      : weak(
          'service',
          `the service is degraded: ${missing.length === 0 ? 'a queue does not answer, or its disk is full' : missing.map(({ engine, reason }) => `${engine}: ${reason}`).join('; ')}`,
          'fix what it names; its log says more',
        );
  return [port_, state];
}

/** Variables by which most programs find a proxy to the Internet. */
const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];

export function judgeProxies(
  { api, fetch: { rest } }: Pick<Config, 'api' | 'fetch'>,
  environment: Readonly<Record<string, string | undefined>>,
): readonly Finding[] {
  const set = PROXY_VARIABLES.filter((name) => (environment[name] ?? '') !== '');
  const outward =
    set.length > 0 && rest
      ? weak(
          'proxy',
          `${set.join(' and ')} ${set.length === 1 ? 'is' : 'are'} set, and filemill uses none: files by URL are fetched directly`,
          'let this machine connect to port 443 of public addresses, or set fetch.rest: false',
          { set },
        )
      : fine('proxy', rest ? 'files by URL are fetched directly, without a proxy' : 'fetching by URL is disabled', { set, rest });
  const facts = { public_url: api.publicUrl !== undefined, trust_proxy: api.trustProxy.length };
  const inward =
    api.publicUrl !== undefined && api.trustProxy.length === 0
      ? weak(
          'trust-proxy',
          'PUBLIC_URL is set and TRUST_PROXY is not: behind a proxy, all clients share the limits of one',
          'set TRUST_PROXY to the proxy’s addresses, such as 127.0.0.1; without a proxy, this is as intended',
          facts,
        )
      : fine(
          'trust-proxy',
          api.trustProxy.length === 0
            ? 'no proxy is trusted: clients connect directly'
            : 'the addresses of clients are those that the named proxies give',
          facts,
        );
  return [outward, inward];
}
