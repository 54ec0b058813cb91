/** No answer tells of a job, or of its end, that a crash could take back (docs/decisions/0077). */
import { pipeline, Readable, Transform } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Durability } from '../../jobs/store.ts';

/** @param durability undefined where each change is durable when it is made */
export function answerWhatIsDurable(app: FastifyInstance, durability: Durability | undefined): void {
  if (durability === undefined) return;
  const losses = new WeakMap<FastifyRequest, number>();
  app.addHook('onRequest', (request, _reply, done) => {
    losses.set(request, durability.losses);
    done();
  });
  app.addHook('onSend', async (request, reply, payload) => {
    const since = losses.get(request);
    if (reply.statusCode < 500) durability.commit(since);
    else commitIfPossible(durability);
    const isEvents = String(reply.getHeader('content-type')).startsWith('text/event-stream');
    return isEvents && payload instanceof Readable ? eachDurable(payload, () => durability.commit(since)) : payload;
  });
}

/** The answer is an error already, and may be that of a job which has failed. */
function commitIfPossible(durability: Durability): void {
  try {
    durability.commit();
  } catch {
    // The disk is full: the job is done again.
  }
}

/** Each event may tell of a change since the one before. */
function eachDurable(events: Readable, commit: () => void): Readable {
  const told = new Transform({
    transform(event: Buffer, _encoding, done) {
      try {
        commit();
      } catch (error) {
        return done(error as Error);
      }
      done(null, event);
    },
  });
  // Where one ends, so does the other.
  return pipeline(events, told, () => {});
}
