/** The page for people: one document at each address of a view, and its files, which a browser keeps for good. */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { countRead } from '../admission/admission.ts';
import type { ApiDeps } from '../deps.ts';
import { prefixOf } from '../http/base-url.ts';
import { type EncodedBody, encodedBody, latestOf, pack, packings, sendEncoded, varyBy } from '../http/encoded.ts';
import { findJob } from '../jobs/found.ts';
import { baseOf } from '../jobs/send.ts';
import { shown } from '../jobs/view.ts';
import type { PlainViews } from '../page-files.ts';
import { type AddressView, headFor, pairView, startView, toolView, withHead } from './heads.ts';
import { sitemapFor } from './sitemap.ts';

/** The policy's word for the script, or the style, that was built into the document (CSP 3, §2.3.1). */
function digestIn(document: string, start: string, end: string): string {
  const text = document.split(start, 2)[1]?.split(end, 1)[0] ?? '';
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
/** Loads nothing from other hosts, runs only the script and the style that were built into the document, and lets no text become script or markup. */
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
/** A year (RFC 9111 §5.2.2.1; RFC 8246): a file whose content changes gets another name. */
const FOR_GOOD = 'public, max-age=31536000, immutable';
const COSTS = { config: { costs: 'nothing' } } as const;

const HTML = 'text/html; charset=utf-8';
/** As in `png-to-webp`. */
const PAIR = '^[A-Za-z0-9]{1,12}-to-[A-Za-z0-9]{1,12}$';
/** Views that search engines may list, where the operator wants it. */
const LISTED: readonly AddressView['at'][] = ['start', 'tools', 'tool', 'pair'];
const listed = ({ 'x-robots-tag': _, ...others }: Readonly<Record<string, string>>): Record<string, string> => others;
/** Documents that were asked for last, each some 200 kB. */
const MOST_RECENT = 48;

interface MostRecent<Value> {
  has(key: string): boolean;
  get(key: string, build: () => Value): Value;
}

/** Keeps what was built for the keys that were asked for last. */
function mostRecent<Value>(most: number): MostRecent<Value> {
  const kept = new Map<string, Value>();
  return {
    has: (key) => kept.has(key),
    get(key, build) {
      const value = kept.get(key) ?? build();
      kept.delete(key);
      kept.set(key, value);
      for (const oldest of kept.keys()) if (kept.size > most) kept.delete(oldest);
      return value;
    },
  };
}

/** The status that the API would answer with; the page explains it in words. */
function statusOf(record: JobRecord | undefined, now: number): number {
  try {
    shown(record, now);
    return 200;
  } catch (error) {
    if (error instanceof Failure) return error.status;
    throw error;
  }
}

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
  /** A language that the page has. */
  readonly languageOf: (request: FastifyRequest) => string;
}

export interface PageRoutes {
  /** For an address that leads nowhere; undefined where there is no page. */
  readonly send: SendPage | undefined;
  /** The start page, which is in the document; undefined where there is no page. */
  readonly sendStart: SendPage | undefined;
  /** Undefined where there is no page. */
  readonly plain: PlainPage | undefined;
  /** Compresses what every visitor fetches, before the first one does. */
  readonly build: () => Promise<void>;
}

type Deps = Pick<ApiDeps, 'jobs' | 'catalogue' | 'limits' | 'service'>;

export function pageRoutes(app: FastifyInstance, deps: Deps): PageRoutes {
  const { page, settings } = deps.service;
  if (page === undefined) return { send: undefined, sendStart: undefined, plain: undefined, build: async () => {} };
  const { document, firstViews, plainViews, heads, searchable } = page;
  const assets = new Map(
    [...page.assets].map(([name, { contentType, bytes, packed }]) => {
      const body = encodedBody(contentType, bytes);
      for (const packing of packings) {
        const known = packed.get(packing);
        if (known !== undefined) body.packed.set(packing, Promise.resolve(known));
      }
      return [name, body];
    }),
  );
  const headers = { ...HEADERS, 'content-security-policy': policyOf(document) };
  const languageOf = ({ headers }: FastifyRequest): string => languageFor(headers['accept-language'], [...heads.keys()]) ?? 'en';
  /** The document with the view's title and description in its head, and the form in `noscript`. */
  const documentOf = (view: AddressView, language: string, prefix: string): string => {
    const head = heads.get(language);
    const shown = inLanguage(documentBelow(document, prefix), language);
    return (head === undefined ? shown : withHead(shown, headFor(head, view))).replace(
      '<noscript>',
      (start) => start + linkedBelow(plainViews.get(language)?.form ?? '', prefix),
    );
  };
  const firstBelow = new Map(
    [...firstViews].map(([language, first]) => [
      language,
      latestOf((prefix) => {
        const shown = documentOf({ at: 'start' }, language, prefix);
        return encodedBody(
          HTML,
          shown.replace('<div id="app">', (start) => start + linkedBelow(first, prefix)),
        );
      }),
    ]),
  );
  const recent = mostRecent<EncodedBody>(MOST_RECENT);
  const sendView = async (request: FastifyRequest, reply: FastifyReply, view: AddressView): Promise<FastifyReply> => {
    const [language, prefix] = [languageOf(request), prefixOf(settings, request.raw)];
    const first = view.at === 'start' ? firstBelow.get(language) : undefined;
    const key = JSON.stringify([prefix, language, view]);
    // Only the latest views are kept: building and compressing another one costs its client a read, although the page itself costs nothing.
    if (first === undefined && request.routeOptions.config.costs === 'nothing' && !recent.has(key)) await countRead(deps, request);
    const body = first?.(prefix) ?? recent.get(key, () => encodedBody(HTML, documentOf(view, language, prefix), true));
    const isListed = searchable && LISTED.includes(view.at);
    return sendEncoded(request, varyBy(reply, 'Accept-Language').headers(isListed ? listed(headers) : headers), body);
  };
  const send: SendPage = (request, reply) => sendView(request, reply, { at: 'missing' });

  app.get('/tools', COSTS, (request, reply) => sendView(request, reply, { at: 'tools' }));
  app.get<{ Params: { slug: string } }>('/tools/:slug', COSTS, (request, reply) => {
    const view = toolView(deps.catalogue.current, request.params.slug);
    // The page says that there is no such tool, and the status says so too.
    return sendView(request, view.at === 'missing' ? reply.code(404) : reply, view);
  });
  app.get('/jobs', COSTS, (request, reply) => sendView(request, reply, { at: 'jobs' }));
  app.get<{ Params: { id: string } }>('/jobs/:id', async (request, reply) =>
    sendView(request, reply.code(statusOf(await findJob(deps, request.params.id), deps.jobs.clock())), { at: 'job' }),
  );
  for (const address of [`/:pair(${PAIR})`, `/convert/:pair(${PAIR})`])
    app.get<{ Params: { pair: string } }>(address, (request, reply) => {
      const view = pairView(deps.catalogue.current, request.params.pair);
      if (view.at !== 'missing') return sendView(request, reply, view);
      if (!isForBrowser(request)) throw new Failure('NOT_FOUND');
      return sendView(request, reply.code(404), view);
    });
  if (searchable) {
    app.get('/sitemap.xml', async (request, reply) =>
      reply.type('application/xml; charset=utf-8').send(sitemapFor(deps.catalogue.current, baseOf(request, deps))),
    );
  }
  app.get<{ Params: { name: string } }>('/assets/:name', COSTS, async (request, reply) => {
    const body = assets.get(request.params.name);
    if (body === undefined) throw new Failure('NOT_FOUND');
    reply.headers({ 'x-content-type-options': 'nosniff', 'content-security-policy': THREAD_POLICY });
    return sendEncoded(request, reply, body, FOR_GOOD);
  });
  const usual = prefixOf(settings, { headers: {}, socket: { remoteAddress: undefined } });
  return {
    send,
    sendStart: (request, reply) => sendView(request, reply, startView(deps.catalogue.current, (request.query as { to?: unknown }).to)),
    plain: {
      views: plainViews,
      // Without the script: what is shown needs none.
      around: (view, language, prefix) =>
        `${inLanguage(documentBelow(document, prefix), language).split('<body>', 1)[0]}<body>${linkedBelow(view, prefix)}</body></html>`,
      headers: { ...headers, vary: 'Accept-Language' },
      languageOf,
    },
    async build() {
      for (const first of firstBelow.values()) await pack(first(usual));
      for (const body of assets.values()) await pack(body);
    },
  };
}

const documentBelow = (document: string, prefix: string): string => document.replace('<base href="/"', `<base href="${prefix}/"`);

const inLanguage = (document: string, language: string): string => document.replace('<html lang="en">', `<html lang="${language}">`);
const linkedBelow = (view: string, prefix: string): string =>
  view.replace(/ (href|action)="\//g, (_, name: string) => ` ${name}="${prefix}/`);

/** The first of a browser's languages that the page has: browsers list them in their order (RFC 9110 §12.5.4), as `navigator.languages` does. */
const languageFor = (accepted: string | undefined, languages: readonly string[]): string | undefined =>
  (accepted ?? '')
    .slice(0, 1_000)
    .split(',')
    .map((range) => range.trim().toLowerCase().split(/[-;]/, 1)[0] ?? '')
    .find((language) => languages.includes(language));
