/** Deprecated addresses: each of their answers says when they will be removed, long before (docs/versioning.md). */
import type { FastifyInstance } from 'fastify';

export interface Retirement {
  readonly method: string;
  /** As the route is declared, as in `/api/v1/jobs/:id`. */
  readonly route: string;
  /** Since when it is not to be used any more. */
  readonly deprecated: Date;
  /** When it goes away. */
  readonly sunset: Date;
  /** A page that describes what to use instead. */
  readonly link: string;
}

const retirements: readonly Retirement[] = [];

/** Half a year: what docs/versioning.md promises. */
const LEAST_NOTICE_MS = 180 * 86_400_000;

/** RFC 9745 and RFC 8594. To be called before the routes are added. @throws Error where a row leaves clients less than half a year */
export function announceRetirements(app: FastifyInstance, table: readonly Retirement[] = retirements): void {
  if (table.length === 0) return;
  for (const { method, route, deprecated, sunset } of table)
    if (sunset.getTime() - deprecated.getTime() < LEAST_NOTICE_MS)
      throw new Error(`${method} ${route} goes away less than half a year after its notice`);
  app.addHook('onRequest', async ({ method, routeOptions: { url } }, reply) => {
    const row = table.find(({ route, method: meant }) => route === url && meant === method);
    if (row === undefined) return;
    reply
      .header('deprecation', `@${Math.floor(row.deprecated.getTime() / 1000)}`)
      .header('sunset', row.sunset.toUTCString())
      .header('link', `<${row.link}>; rel="deprecation"; type="text/html"`);
  });
}
