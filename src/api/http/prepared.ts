/** Answers that are built before a client asks for them: soon after the start, and again when what they describe has changed. */
import type { FastifyInstance } from 'fastify';
import type { ApiDeps } from '../deps.ts';

/**
 * How often it is seen whether the catalog has changed, ms. Not soon: engines are tried at a start, and workers come and go, each of which changes
 * it, and a client that comes first waits some 100 ms.
 */
const CHECK_MS = 15_000;

/** @param builds one after the other, so that no client waits for them at a start; a client that comes first waits for the same work */
export function prepareAnswers(
  app: FastifyInstance,
  { catalogue, telemetry }: Pick<ApiDeps, 'catalogue' | 'telemetry'>,
  builds: readonly (() => Promise<void>)[],
): void {
  let prepared: unknown;
  const prepare = async () => {
    const { current } = catalogue;
    if (prepared === current) return;
    prepared = current;
    for (const build of builds) await build();
  };
  app.addHook('onListen', async () => {
    const timer = setInterval(
      () => void prepare().catch((err: unknown) => telemetry.log.warn({ err }, 'an answer could not be prepared')),
      CHECK_MS,
    );
    timer.unref();
    app.server.once('close', () => clearInterval(timer));
  });
}
