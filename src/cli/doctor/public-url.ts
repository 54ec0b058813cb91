/** PUBLIC_URL, asked as a client would: whether it leads here, through which proxy, and what that proxy lets pass. */
import { connect } from 'node:tls';
import { z } from 'zod';
import { parseAddress } from '../../limits/clients/network.ts';
import { broken, type Finding, fine, unseen, weak } from './finding.ts';
import { ASK_MS, healthAnswer } from './port.ts';

/** More than nginx accepts by default (`client_max_body_size`, 1 MiB), and quick to send. */
const BODY_BYTES = 2 * 1024 * 1024;
const limitsAnswer = z.object({ data: z.object({ client: z.string() }) });

export interface PublicFacts {
  readonly url: string;
  /** Why there was no answer, as the system says it. */
  readonly failed?: string;
  readonly status?: number;
  readonly health?: { readonly version: string; readonly commit?: string | undefined };
  /** How far this machine's clock is ahead of the answer's `Date`, ms. */
  readonly aheadMs?: number;
  /** Days until the certificate expires. */
  readonly certificateDays?: number;
  /** What the service takes this machine for, through the proxy. */
  readonly client?: string;
  /** The status of a request with a large body, and whether filemill gave it. */
  readonly body?: { readonly status: number; readonly isOurs: boolean };
}

/** From this machine: a name or a route that the Internet sees otherwise is not noticed. @param now ms since the epoch */
export async function readPublic(url: string, now: () => number): Promise<PublicFacts> {
  const base = url.replace(/\/$/, '');
  let response: Response;
  try {
    response = await fetch(`${base}/api/v1/health`, { signal: AbortSignal.timeout(ASK_MS), redirect: 'manual' });
  } catch (error) {
    return { url, failed: reasonOf(error) };
  }
  const date = Date.parse(response.headers.get('date') ?? '');
  const health = healthAnswer.safeParse(await response.json().catch(() => undefined));
  const certificateDays = base.startsWith('https:') ? await daysOfCertificate(new URL(base), now()) : undefined;
  const facts: PublicFacts = {
    url,
    status: response.status,
    ...(Number.isNaN(date) ? {} : { aheadMs: now() - date }),
    ...(certificateDays !== undefined && { certificateDays }),
    ...(health.success && { health: health.data.data }),
  };
  if (!health.success) return facts;
  const client = await clientSeen(base);
  const body = await bodySeen(base);
  return { ...facts, ...(client !== undefined && { client }), ...(body !== undefined && { body }) };
}

async function clientSeen(base: string): Promise<string | undefined> {
  const answer = await fetch(`${base}/api/v1/limits`, { signal: AbortSignal.timeout(ASK_MS) })
    .then((response) => response.json())
    .catch(() => undefined);
  const read = limitsAnswer.safeParse(answer);
  return read.success ? read.data.data.client : undefined;
}

/** To an address that does not exist: filemill says so in its own words, whatever the body. */
async function bodySeen(base: string): Promise<PublicFacts['body']> {
  const request = { method: 'POST', body: Buffer.alloc(BODY_BYTES), signal: AbortSignal.timeout(ASK_MS) };
  const response = await fetch(`${base}/api/v1/doctor`, request).catch(() => undefined);
  if (response === undefined) return undefined;
  const answer = (await response.json().catch(() => undefined)) as { error?: { code?: unknown } } | undefined;
  return { status: response.status, isOurs: typeof answer?.error?.code === 'string' };
}

const daysOfCertificate = ({ hostname, port }: URL, now: number): Promise<number | undefined> =>
  new Promise((settle) => {
    const socket = connect({ host: hostname, port: Number(port) || 443, servername: hostname, timeout: ASK_MS }, () => {
      const until = Date.parse(socket.getPeerCertificate().valid_to);
      socket.destroy();
      settle(Number.isNaN(until) ? undefined : Math.floor((until - now) / 86_400_000));
    });
    const fail = () => {
      socket.destroy();
      settle(undefined);
    };
    socket.once('error', fail).once('timeout', fail);
  });

function reasonOf(error: unknown): string {
  const { cause, message, name } = error as Error & { cause?: NodeJS.ErrnoException };
  if (name === 'TimeoutError') return `it gave no answer in ${ASK_MS / 1000} s`;
  return cause?.code ?? cause?.message ?? message;
}

const FEW_DAYS = 14;
const LOOPBACK = /^(?:127\.|::1(?:\/|$))/;

export function judgePublic(facts: PublicFacts | undefined, program: { readonly version: string }): readonly Finding[] {
  if (facts === undefined)
    return [
      unseen(
        'public-url',
        'PUBLIC_URL is not set: links name the host that a request was sent to',
        'set it to the URL that clients use, where there is one; for this machine alone this is as intended',
      ),
    ];
  const { url, failed, status, health, certificateDays, client, body } = facts;
  const about = { ...facts };
  if (failed !== undefined)
    return [
      broken(
        'public-url',
        `${url} cannot be reached from this machine: ${failed}`,
        'check its name (DNS), the proxy, its certificate, and that this machine may connect to it',
        about,
      ),
    ];
  if (health === undefined)
    return [
      broken(
        'public-url',
        `${url} answers ${status}, and not as filemill does`,
        'check that the proxy passes this path on to the service, and does not redirect it',
        about,
      ),
    ];
  const reached =
    health.version === program.version
      ? fine('public-url', `${url} leads to filemill ${health.version}; seen from this machine, not from the Internet`, about)
      : weak(
          'public-url',
          `${url} leads to filemill ${health.version}, and this is ${program.version}`,
          'check that it leads to this machine; restart the service after an upgrade',
          about,
        );
  return [reached, ...judgeCertificate(certificateDays), ...judgeClient(url, client), ...judgeBody(body)];
}

const judgeCertificate = (days: number | undefined): readonly Finding[] =>
  days === undefined
    ? []
    : days < FEW_DAYS
      ? [weak('certificate', `the certificate of PUBLIC_URL expires in ${days} days`, 'see why the proxy has not renewed it', { days })]
      : [fine('certificate', `the certificate of PUBLIC_URL is good for ${days} days`, { days })];

/** Through a proxy on this machine that is not trusted, every client has the proxy's address. */
function judgeClient(url: string, client: string | undefined): readonly Finding[] {
  const { hostname } = new URL(url);
  const isHere = hostname === 'localhost' || LOOPBACK.test(hostname.replace(/^\[|\]$/g, ''));
  if (client === undefined || isHere || parseAddress(hostname) !== undefined) return [];
  return LOOPBACK.test(client)
    ? [
        broken(
          'client',
          `through PUBLIC_URL, the service takes clients for ${client}, the proxy: they share the limits of one, or have none`,
          'set TRUST_PROXY to that address, and have the proxy send X-Forwarded-For',
          { client },
        ),
      ]
    : [fine('client', `through PUBLIC_URL, the service sees this machine as ${client}`, { client })];
}

const judgeBody = (body: PublicFacts['body']): readonly Finding[] =>
  body === undefined || !body.isOurs
    ? [
        broken(
          'body',
          `a request with ${BODY_BYTES / 1024 / 1024} MiB does not reach the service through PUBLIC_URL${body === undefined ? '' : `: ${body.status} from the proxy`}`,
          'let the proxy pass large bodies: client_max_body_size 4200m in nginx (docs/self-hosting.md)',
          { ...body },
        ),
      ]
    : [fine('body', 'the proxy lets large bodies pass', { ...body })];
