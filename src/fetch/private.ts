/** Origins that only ConversionJobs may reach: those that the operator lists, at public addresses or others. */
import type { Socket } from 'node:net';
import { within } from '../streams/deadline.ts';
import type { AddressJudge } from './address.ts';
import { addressJudge } from './address.ts';
import type { Connector } from './connector.ts';
import { type DirectConnectorDeps, directConnector } from './direct-connector.ts';
import type { Fetch } from './download/download.ts';
import { secured } from './download/tls.ts';
import { urlRefused } from './refusal.ts';
import type { FetchSettings } from './settings.ts';
import { type ConnectTarget, type JudgeUrl, judgeUrl } from './url.ts';

/** How sources and outputs of ConversionJobs are reached. */
export interface PrivateFetch {
  readonly fetch: Fetch;
  /**
   * @param origin of an S3 service
   * @returns a connection, with TLS where the origin's scheme asks for it
   * @throws Failure `URL_REFUSED`, `OVERLOADED` · the reason of `signal`
   */
  connect(origin: string, signal: AbortSignal): Promise<Socket>;
  readonly settings: FetchSettings;
}

/** Rules of URLs in which listed origins may have any scheme and port. */
export const privateUrls =
  ({ privateOrigins }: Pick<FetchSettings, 'privateOrigins'>): JudgeUrl =>
  (text, rules, base) => {
    const url = URL.parse(text, base);
    const isListed = url !== null && privateOrigins.includes(url.origin);
    return judgeUrl(text, isListed ? { http: true, ports: [portOf(url)] } : rules, base);
  };

/** The listed origins as `host:port`: a request for a tunnel names nothing more. */
export const privateAuthorities = ({ privateOrigins }: Pick<FetchSettings, 'privateOrigins'>): ReadonlySet<string> =>
  new Set(
    privateOrigins.map((origin) => {
      const url = new URL(origin);
      return `${url.hostname}:${portOf(url)}`;
    }),
  );

/** Connects to listed origins at any address that `fetch.deny` does not refuse, and to others by the rules of downloads. */
export function privateConnector(settings: FetchSettings, { resolve, judge }: DirectConnectorDeps): Connector {
  const anyAddress: AddressJudge = addressJudge({ allow: ['0.0.0.0/0', '::/0'], deny: settings.deny });
  const listed = privateAuthorities(settings);
  const strict = directConnector(settings, { resolve, judge });
  const open = directConnector(settings, { resolve, judge: anyAddress });
  const of = ({ url, port }: ConnectTarget): Connector => (listed.has(`${url.hostname}:${port}`) ? open : strict);
  return {
    judge: (target, signal) => of(target).judge(target, signal),
    connect: (target, signal) => of(target).connect(target, signal),
  };
}

export function privateConnect(settings: FetchSettings, connector: Connector): PrivateFetch['connect'] {
  const judge = privateUrls(settings);
  return async (origin, signal) => {
    const target = judge(origin, settings);
    const plain = await connector.connect(target, signal);
    if (!target.secure) return plain;
    const late = () => urlRefused('unreachable', { says: 'The server did not set up a secure connection in time.' });
    try {
      return await within(settings.connectMs, signal, late, (limited) => secured(plain, target, undefined, limited));
    } catch (error) {
      plain.destroy();
      throw error;
    }
  };
}

const portOf = ({ port, protocol }: URL): number => Number(port || (protocol === 'https:' ? 443 : 80));
