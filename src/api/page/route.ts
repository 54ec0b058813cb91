/** The page for people: one document at each address of a view, and its files, which a browser keeps for good. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import type { ApiDeps } from '../deps.ts';
import { prefixOf } from '../http/base-url.ts';
import { encodedBody, latestOf, pack, sendEncoded } from '../http/encoded.ts';

/** Nothing of another host, nothing in the document itself, and no text becomes script or markup. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  // A PDF is shown by the browser's own viewer.
  'frame-src blob:',
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  // The rule by which the page makes a thread for PDF.js (web/src/work/pdf.ts).
  'trusted-types filemill',
].join('; ');
/** The thread of PDF.js reads strangers' files. Its policy lets it fetch scripts from here, and nothing else. */
const THREAD_POLICY = "default-src 'none'; script-src 'self'";
const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  // The address of a job is its secret.
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'x-robots-tag': 'noindex',
} as const;
/** A year (RFC 9111 §5.2.2.1; RFC 8246): another content has another name. */
const FOR_GOOD = 'public, max-age=31536000, immutable';
const COSTS = { config: { costs: 'nothing' } } as const;

/** Answers with the page. */
export type SendPage = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Whether a browser will show the answer. */
export const isForBrowser = ({ headers }: FastifyRequest): boolean => /\btext\/html\b/i.test((headers.accept ?? '').slice(0, 1_000));

export interface PageRoutes {
  /** Undefined where there is no page. */
  readonly send: SendPage | undefined;
  /** Compresses what every visitor fetches, before anybody does. */
  readonly build: () => Promise<void>;
}

export function pageRoutes(app: FastifyInstance, deps: Pick<ApiDeps, 'page' | 'settings' | 'catalog'>): PageRoutes {
  const { page, settings } = deps;
  if (page === undefined) return { send: undefined, build: async () => {} };
  const { document } = page;
  const assets = new Map([...page.assets].map(([name, { contentType, bytes }]) => [name, encodedBody(contentType, bytes)]));
  const below = latestOf((prefix) =>
    encodedBody('text/html; charset=utf-8', document.replace('<base href="/"', `<base href="${prefix}/"`)),
  );
  const send: SendPage = (request, reply) => sendEncoded(request, reply.headers(HEADERS), below(prefixOf(settings, request.raw)));

  app.get('/tools', COSTS, send);
  app.get<{ Params: { slug: string } }>('/tools/:slug', COSTS, (request, reply) => {
    const { tools, absent } = deps.catalog;
    const { slug } = request.params;
    // The page says what is not there, and the status says so too.
    return send(request, tools.has(slug) || absent.has(slug) ? reply : reply.code(404));
  });
  app.get('/jobs', COSTS, send);
  app.get('/jobs/:id', COSTS, send);
  app.get<{ Params: { name: string } }>('/assets/:name', COSTS, async (request, reply) => {
    const body = assets.get(request.params.name);
    if (body === undefined) throw new Failure('NOT_FOUND');
    reply.headers({ 'x-content-type-options': 'nosniff', 'content-security-policy': THREAD_POLICY });
    return sendEncoded(request, reply, body, FOR_GOOD);
  });
  const usual = prefixOf(settings, { headers: {}, socket: { remoteAddress: undefined } });
  return {
    send,
    async build() {
      for (const body of [below(usual), ...assets.values()]) await pack(body);
    },
  };
}
