/** Addresses that are to go away: announced in every answer of theirs, long before they do (docs/versioning.md). */
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

export const retirements: readonly Retirement[] = [];

/** RFC 9745 and RFC 8594. To be called before the routes are added. */
export function announceRetirements(app: FastifyInstance, table: readonly Retirement[] = retirements): void {
  if (table.length === 0) return;
  app.addHook('onRequest', async ({ method, routeOptions: { url } }, reply) => {
    const row = table.find(({ route, method: meant }) => route === url && meant === method);
    if (row === undefined) return;
    reply
      .header('deprecation', `@${Math.floor(row.deprecated.getTime() / 1000)}`)
      .header('sunset', row.sunset.toUTCString())
      .header('link', `<${row.link}>; rel="deprecation"; type="text/html"`);
  });
}
