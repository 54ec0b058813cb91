/** Answers that are built before anybody asks for them: soon after the start, and again when what they describe has changed. */
import type { FastifyInstance } from 'fastify';
import type { ApiDeps } from '../deps.ts';

/** How often it is seen whether the catalog has changed, ms: a start has other work first. */
const CHECK_MS = 2_000;

/** @param builds one after the other, so that no client waits for them at a start; a client that comes first waits for the same work */
export function prepareAnswers(
  app: FastifyInstance,
  deps: Pick<ApiDeps, 'catalog' | 'log'>,
  builds: readonly (() => Promise<void>)[],
): void {
  let prepared: unknown;
  const prepare = async () => {
    const { catalog } = deps;
    if (prepared === catalog) return;
    prepared = catalog;
    for (const build of builds) await build();
  };
  app.addHook('onListen', async () => {
    const timer = setInterval(
      () => void prepare().catch((err: unknown) => deps.log.warn({ err }, 'an answer could not be prepared')),
      CHECK_MS,
    );
    timer.unref();
    app.server.once('close', () => clearInterval(timer));
  });
}
