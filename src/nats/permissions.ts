/** What each role needs to say and to hear, and nothing else: for the users of a NATS server (https://docs.nats.io, "Authorization"). */
import { tokenOf } from './token.ts';

export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** Where a role's answers come in: nobody else may listen there. */
export const inboxOf = (role: 'api' | 'worker', pool?: string): string => `_INBOX.${role}${pool === undefined ? '' : `.${tokenOf(pool)}`}`;

/** Of its own pool a worker may take orders, end them, and write their records. Which records it reads, NATS cannot tell. */
export function workerPermissions(pool: string): Permissions {
  const orders = `convert-${tokenOf(pool)}`;
  return {
    publish: [
      '$JS.API.STREAM.MSG.GET.KV_jobs',
      `$KV.jobs.${pool}.*`,
      `$JS.API.STREAM.MSG.GET.${orders}`,
      `$JS.API.CONSUMER.MSG.NEXT.${orders}.*`,
      // With the domain and the account before the stream, from version 2.15 on.
      `$JS.ACK.${orders}.>`,
      `$JS.ACK.*.*.${orders}.>`,
      `grant.${pool}`,
      `worker.${pool}.*`,
      'signal.progress.*',
      'signal.ended.*',
    ],
    subscribe: [`${inboxOf('worker', pool)}.>`, 'signal.cancel.*'],
  };
}

/** Makes and changes streams too: every replica brings them to their present shape when it starts. */
export const apiPermissions: Permissions = {
  publish: ['$JS.API.>', '$KV.>', 'convert.>', 'signal.>', '_INBOX.api.>', '_INBOX.worker.>'],
  subscribe: [`${inboxOf('api')}.>`, 'changed.>', 'signal.>', 'worker.>', 'grant.*'],
};
