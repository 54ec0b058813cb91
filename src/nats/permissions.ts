/** What each role may publish and subscribe to, and nothing else: for the users of a NATS server (https://docs.nats.io, "Authorization"). */
import { tokenOf } from './token.ts';

export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** Prefix of a role's reply subjects: no other role may subscribe to it. */
export const inboxOf = (role: 'api' | 'worker' | 'controller', pool?: string): string =>
  `_INBOX.${role}${pool === undefined ? '' : `.${tokenOf(pool)}`}`;

/** A worker may pull and ack the orders of one pool, put one that gives way behind the others, and write their records. NATS cannot restrict which records it reads. */
export function workerPermissions(pool: string): Permissions {
  const orders = `convert-${tokenOf(pool)}`;
  return {
    publish: [
      '$JS.API.STREAM.MSG.GET.KV_jobs',
      `$KV.jobs.${pool}.*`,
      // The declaration of its pool, and which pools exist.
      '$JS.API.STREAM.MSG.GET.KV_pools',
      '$JS.API.STREAM.INFO.KV_pools',
      `$JS.API.STREAM.MSG.GET.${orders}`,
      // For the servers' time.
      `$JS.API.STREAM.INFO.${orders}`,
      `$JS.API.CONSUMER.MSG.NEXT.${orders}.*`,
      // Whether others wait, and where an order waits that gave way to them.
      `$JS.API.CONSUMER.INFO.${orders}.*`,
      `convert.${tokenOf(pool)}.bulk-2.*`,
      // With the domain and the account before the stream, from version 2.15 on.
      `$JS.ACK.${orders}.>`,
      `$JS.ACK.*.*.${orders}.>`,
      `grant.${pool}`,
      `several.${tokenOf(pool)}`,
      `worker.${pool}.*`,
      'signal.progress.*',
      'signal.ended.*',
    ],
    subscribe: [`${inboxOf('worker', pool)}.>`, 'signal.cancel.*', `retire.${pool}.*`],
  };
}

/** Creates and updates streams too: every replica brings them to their current shape when it starts. */
export const apiPermissions: Permissions = {
  publish: ['$JS.API.>', '$KV.>', 'convert.>', 'signal.>', '_INBOX.api.>', '_INBOX.worker.>', '_INBOX.controller.>'],
  subscribe: [`${inboxOf('api')}.>`, 'changed.>', 'signal.>', 'worker.>', 'grant.*', 'several.*', 'submit.*'],
};

/** Declares pools, creates their streams and counts their orders; it may not pull orders, write records or delete streams. */
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
