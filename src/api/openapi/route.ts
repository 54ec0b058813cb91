/** `GET /openapi.json` and `/docs`: the API for programs and for people; the page loads nothing from other hosts. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import type { ApiDeps } from '../deps.ts';
import { baseUrl, prefixOf, withoutSlashes } from '../http/base-url.ts';
import { type EncodedBody, encodedBody, latestOf, pack, sendEncoded } from '../http/encoded.ts';
import { describeApi, EXAMPLE_BASE } from './document.ts';

const SCRIPT = 'openapi-explorer/dist/browser/openapi-explorer.min.js';
/** The page's script creates its styles. The page may connect to its own origin only, also when a reader tries a request. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
const PAGE_HEADERS = { 'content-security-policy': POLICY, 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' } as const;

/** @returns builds the answers that most clients fetch */
export function docsRoutes(app: FastifyInstance, { service: { settings, version } }: Pick<ApiDeps, 'service'>): () => Promise<void> {
  const base = withoutSlashes(settings.publicUrl ?? '');
  // Without a public address paths are appended to wherever the document came from (OpenAPI 3.1.1, "Server Object").
  const document = latestOf((prefix) => {
    const described = describeApi(version, base || prefix || '/', settings);
    return encodedBody('application/json; charset=utf-8', JSON.stringify(described));
  });
  app.get('/openapi.json', async (request, reply) => sendEncoded(request, reply, document(prefixOf(settings, request.raw))));

  // Where generators look for it.
  app.get('/api/v1/openapi.json', async (request, reply) =>
    reply.redirect(`${baseUrl(settings, request.raw, settings.port)}/openapi.json`, 308),
  );

  const page = latestOf((prefix) => encodedBody('text/html; charset=utf-8', pageBelow(prefix)));
  app.get('/docs', async (request, reply) => sendEncoded(request, reply.headers(PAGE_HEADERS), page(prefixOf(settings, request.raw))));
  app.get('/docs/page.js', async (request, reply) => sendEncoded(request, reply.headers(PAGE_HEADERS), PAGE_SCRIPT));

  let script: Promise<EncodedBody> | undefined;
  app.get('/docs/explorer.js', async (request, reply) => {
    script ??= readFile(fileURLToPath(import.meta.resolve(SCRIPT))).then((bytes) => encodedBody('text/javascript; charset=utf-8', bytes));
    return sendEncoded(request, reply.headers(PAGE_HEADERS), await script);
  });
  const usual = prefixOf(settings, { headers: {}, socket: { remoteAddress: undefined } });
  return async () => {
    for (const body of [document(usual), page(usual), PAGE_SCRIPT]) await pack(body);
  };
}

/** openapi-explorer 2.4.820 draws no input for an enum of numbers: it gets strings instead, which a form sends anyway. */
const PAGE_SCRIPT = encodedBody(
  'text/javascript; charset=utf-8',
  `const reader = document.querySelector('openapi-explorer');
const [answer] = await Promise.all([fetch(reader.dataset.document), customElements.whenDefined('openapi-explorer')]);
const asTexts = (name, value) => (name === 'enum' && Array.isArray(value) ? value.map(String) : value);
// Examples name the address that this page was read at.
const here = new URL('.', new URL(reader.dataset.document, location.href)).href.slice(0, -1);
await reader.loadSpec(JSON.parse((await answer.text()).replaceAll('${EXAMPLE_BASE}', here), asTexts));
`,
);

/** @param prefix what comes before every path of ours, where a proxy serves us below one: a URL's path, with no quote in it */
const pageBelow = (prefix: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>filemill: API reference</title>
<link rel="icon" href="data:,">
<style>body { margin: 0 } openapi-explorer { display: block; height: 100vh; --font-regular: system-ui, sans-serif }</style>
<script type="module" src="${prefix}/docs/explorer.js"></script>
<script type="module" src="${prefix}/docs/page.js"></script>
</head>
<body>
<openapi-explorer data-document="${prefix}/openapi.json" collapse hide-authentication hide-components></openapi-explorer>
</body>
</html>
`;
