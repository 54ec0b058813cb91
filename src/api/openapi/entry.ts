/** `GET /` and `GET /api/v1`: where everything is; a browser at `/` gets the page for people, or is sent to the reference where there is none. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Entry } from '../../contracts/api/entry.ts';
import type { ApiDeps } from '../deps.ts';
import { prefixOf } from '../http/base-url.ts';
import { baseOf } from '../jobs/send.ts';
import { isForBrowser } from '../page/route.ts';

/** @param page answers a browser with the page; undefined where there is none */
export function entryRoutes(
  app: FastifyInstance,
  deps: Pick<ApiDeps, 'service'>,
  page: ((request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>) | undefined,
): void {
  const entry = (request: FastifyRequest): { readonly data: Entry } => {
    const base = baseOf(request, deps);
    const api = `${base}/api/v1`;
    return {
      data: {
        name: 'filemill',
        version: deps.service.version,
        links: {
          docs: `${base}/docs`,
          openapi: `${base}/openapi.json`,
          formats: `${api}/formats`,
          tools: `${api}/tools`,
          convert: `${api}/convert`,
          batch: `${api}/batch`,
          uploads: `${api}/uploads`,
          limits: `${api}/limits`,
          health: `${api}/health`,
          mcp: `${base}/mcp`,
        },
      },
    };
  };
  app.get('/', async (request, reply) => {
    reply.header('vary', 'Accept');
    if (!isForBrowser(request)) return entry(request);
    if (page !== undefined) return page(request, reply);
    return reply.redirect(`${prefixOf(deps.service.settings, request.raw)}/docs`, 302);
  });
  app.get('/api/v1', async (request) => entry(request));
}
