/** What each role needs to say and to hear, and nothing else: for the users of a NATS server (https://docs.nats.io, "Authorization"). */
import { tokenOf } from './token.ts';

export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** Where a role's answers come in: nobody else may listen there. */
export const inboxOf = (role: 'api' | 'worker' | 'controller', pool?: string): string =>
  `_INBOX.${role}${pool === undefined ? '' : `.${tokenOf(pool)}`}`;

/** Of its own pool a worker may take orders, end them, and write their records. Which records it reads, NATS cannot tell. */
export function workerPermissions(pool: string): Permissions {
  const orders = `convert-${tokenOf(pool)}`;
  return {
    publish: [
      '$JS.API.STREAM.MSG.GET.KV_jobs',
      `$KV.jobs.${pool}.*`,
      // How its pool is declared, and which pools there are.
      '$JS.API.STREAM.MSG.GET.KV_pools',
      '$JS.API.STREAM.INFO.KV_pools',
      `$JS.API.STREAM.MSG.GET.${orders}`,
      // For the servers' time.
      `$JS.API.STREAM.INFO.${orders}`,
      `$JS.API.CONSUMER.MSG.NEXT.${orders}.*`,
      // With the domain and the account before the stream, from version 2.15 on.
      `$JS.ACK.${orders}.>`,
      `$JS.ACK.*.*.${orders}.>`,
      `grant.${pool}`,
      `worker.${pool}.*`,
      'signal.progress.*',
      'signal.ended.*',
    ],
    subscribe: [`${inboxOf('worker', pool)}.>`, 'signal.cancel.*', `retire.${pool}.*`],
  };
}

/** Makes and changes streams too: every replica brings them to their present shape when it starts. */
export const apiPermissions: Permissions = {
  publish: ['$JS.API.>', '$KV.>', 'convert.>', 'signal.>', '_INBOX.api.>', '_INBOX.worker.>', '_INBOX.controller.>'],
  subscribe: [`${inboxOf('api')}.>`, 'changed.>', 'signal.>', 'worker.>', 'grant.*', 'submit.*'],
};

/** Declares pools, makes their streams and counts what is in them; takes no order and writes no record. It may not delete a stream. */
export const controllerPermissions: Permissions = {
  publish: [
    ...['STREAM.INFO', 'STREAM.CREATE', 'STREAM.UPDATE', 'STREAM.MSG.GET'].map((verb) => `$JS.API.${verb}.*`),
    ...['CONSUMER.INFO', 'CONSUMER.CREATE'].map((verb) => `$JS.API.${verb}.>`),
    '$KV.pools.>',
    'retire.*.*',
    'submit.*',
  ],
  subscribe: [`${inboxOf('controller')}.>`, 'changed.pools.>', 'worker.>', 'convert.>'],
};
