/** The page for people: one document at each address of a view, and its files, which a browser keeps for good. */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import type { ApiDeps, PlainViews } from '../deps.ts';
import { prefixOf } from '../http/base-url.ts';
import { encodedBody, latestOf, pack, sendEncoded, varyBy } from '../http/encoded.ts';

/** The policy's word for the script, or the style, that was built into the document (CSP 3, §2.3.1). */
function digestIn(document: string, start: string, end: string): string {
  const text = document.split(start, 2)[1]?.split(end, 1)[0] ?? '';
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
/** Nothing of another host, nothing in the document but what was built into it, and no text becomes script or markup. */
const policyOf = (document: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' ${digestIn(document, '<script type="module">', '</script>')}`,
    `style-src 'self' ${digestIn(document, '<style>', '</style>')}`,
    "img-src 'self' blob: data:",
    "media-src 'self' blob:",
    "connect-src 'self'",
    // A PDF is shown by the browser's own viewer.
    'frame-src blob:',
    "base-uri 'self'",
    // The form for browsers without JavaScript.
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    // The rule by which the page makes a thread for PDF.js (web/src/work/pdf.ts).
    'trusted-types filemill',
  ].join('; ');
/** The thread of PDF.js reads strangers' files. Its policy lets it fetch scripts from here, and nothing else. */
const THREAD_POLICY = "default-src 'none'; script-src 'self'";
const HEADERS = {
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

/** What the form for browsers without JavaScript is answered with. */
export interface PlainPage {
  readonly views: ReadonlyMap<string, PlainViews>;
  /** The document around a view, below the service's address, with its policy. */
  readonly around: (view: string, language: string, prefix: string) => string;
  readonly headers: Readonly<Record<string, string>>;
  /** One that there is. */
  readonly languageOf: (request: FastifyRequest) => string;
}

export interface PageRoutes {
  /** Undefined where there is no page. */
  readonly send: SendPage | undefined;
  /** The same with the first view in the document. */
  readonly sendFirst: SendPage | undefined;
  /** Undefined where there is no page. */
  readonly plain: PlainPage | undefined;
  /** Compresses what every visitor fetches, before anybody does. */
  readonly build: () => Promise<void>;
}

export function pageRoutes(app: FastifyInstance, deps: Pick<ApiDeps, 'page' | 'settings' | 'catalog'>): PageRoutes {
  const { page, settings } = deps;
  if (page === undefined) return { send: undefined, sendFirst: undefined, plain: undefined, build: async () => {} };
  const { document, firstViews, plainViews } = page;
  const assets = new Map([...page.assets].map(([name, { contentType, bytes }]) => [name, encodedBody(contentType, bytes)]));
  const headers = { ...HEADERS, 'content-security-policy': policyOf(document) };
  /** In the document's `noscript`. */
  const withForm = (shown: string, language: string, prefix: string): string =>
    shown.replace('<noscript>', (start) => start + linkedBelow(plainViews.get(language)?.form ?? '', prefix));
  const below = latestOf((prefix) => encodedBody('text/html; charset=utf-8', withForm(documentBelow(document, prefix), 'en', prefix)));
  const firstBelow = new Map(
    [...firstViews].map(([language, view]) => [
      language,
      latestOf((prefix) => {
        const shown = withForm(inLanguage(documentBelow(document, prefix), language), language, prefix);
        return encodedBody(
          'text/html; charset=utf-8',
          shown.replace('<div id="app">', (start) => start + linkedBelow(view, prefix)),
        );
      }),
    ]),
  );
  const send: SendPage = (request, reply) => sendEncoded(request, reply.headers(headers), below(prefixOf(settings, request.raw)));
  const languageOf = ({ headers }: FastifyRequest): string => languageFor(headers['accept-language'], [...firstBelow.keys()]) ?? 'en';
  const sendFirst: SendPage = (request, reply) => {
    const first = firstBelow.get(languageOf(request)) ?? below;
    return sendEncoded(request, varyBy(reply, 'Accept-Language').headers(headers), first(prefixOf(settings, request.raw)));
  };

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
    sendFirst,
    plain: {
      views: plainViews,
      // Without the script: what is shown needs none.
      around: (view, language, prefix) =>
        `${inLanguage(documentBelow(document, prefix), language).split('<body>', 1)[0]}<body>${linkedBelow(view, prefix)}</body></html>`,
      headers: { ...headers, vary: 'Accept-Language' },
      languageOf,
    },
    async build() {
      for (const body of [below, ...firstBelow.values()].map((document) => document(usual))) await pack(body);
      for (const body of assets.values()) await pack(body);
    },
  };
}

const documentBelow = (document: string, prefix: string): string => document.replace('<base href="/"', `<base href="${prefix}/"`);

const inLanguage = (document: string, language: string): string => document.replace('<html lang="en">', `<html lang="${language}">`);
const linkedBelow = (view: string, prefix: string): string =>
  view.replace(/ (href|action)="\//g, (_, name: string) => ` ${name}="${prefix}/`);

/** The first of a browser's languages that there is: browsers list them in their order (RFC 9110 §12.5.4), as `navigator.languages` does. */
const languageFor = (accepted: string | undefined, languages: readonly string[]): string | undefined =>
  (accepted ?? '')
    .slice(0, 1_000)
    .split(',')
    .map((range) => range.trim().toLowerCase().split(/[-;]/, 1)[0] ?? '')
    .find((language) => languages.includes(language));
