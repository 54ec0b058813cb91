/** Distinguishes an unknown address (404) from a known one with the wrong method (405, with Allow). */
import type { FastifyInstance } from 'fastify';

export type Methods = (url: string) => readonly string[];

/** Listens to routes as they are added: call it before the first. */
export function methodsOf(app: FastifyInstance): Methods {
  const routes: { readonly pattern: RegExp; readonly methods: readonly string[] }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    const pattern = new RegExp(`^${url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:[a-z]+/g, '[^/]+')}/?$`);
    routes.push({ pattern, methods: [method].flat() });
  });
  return (url) => {
    const [path = ''] = url.split('?');
    return [...new Set(routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods))].sort();
  };
}
