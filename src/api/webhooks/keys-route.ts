/** `GET /api/v1/webhooks/keys`: the public keys with which messages at the ends of jobs can be verified. */
import type { FastifyInstance } from 'fastify';
import { Failure } from '../../errors.ts';
import type { ApiDeps } from '../deps.ts';

export function webhookKeysRoute(app: FastifyInstance, { webhooks }: Pick<ApiDeps, 'webhooks'>): void {
  app.get('/api/v1/webhooks/keys', async () => {
    if (webhooks === undefined) throw new Failure('NOT_FOUND', { says: 'This service sends no webhooks.' });
    return { data: { keys: webhooks.publicKeys.map((public_key) => ({ algorithm: 'ed25519', public_key })) } };
  });
}
