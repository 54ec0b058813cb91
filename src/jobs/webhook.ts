/** The message that a client wants at the end of its job: what the record keeps of it, and how its delivery moves. Pure. */
import { z } from 'zod';
import type { Encryption } from './encryption.ts';
import { visibility } from './lifecycle.ts';
import type { JobRecord } from './record.ts';

/** Encrypted in the record, for the one job: neither the store nor a log has any of it in the clear. */
const WebhookTarget = z.strictObject({
  url: z.string(),
  /** The client's own, `whsec_…`; without it the service signs with its keys. */
  secret: z.string().optional(),
  /** Start of the links in the message; where it is not known, that of the service. */
  base: z.string().optional(),
  /** The client's key, by which its deliveries are counted. */
  client: z.string(),
});
export type WebhookTarget = z.infer<typeof WebhookTarget>;

export type WebhookRecord = NonNullable<JobRecord['webhook']>;

/** Longer than one attempt may take, ms: until then no other process makes one. */
export const LEASE_MS = 60_000;

/** What a webhook's encryption is bound to: the text of a password cannot be taken for one. */
const boundTo = (jobId: string): string => `webhook\0${jobId}`;

export const newWebhook = (encryption: Encryption, jobId: string, messageId: string, target: WebhookTarget): WebhookRecord => ({
  state: 'waiting',
  attempts: 0,
  nextAt: 0,
  messageId,
  sealed: encryption.encrypt(JSON.stringify(target), boundTo(jobId)),
});

/** @throws if it was encrypted with a key that is not known here */
export const webhookTarget = (encryption: Encryption, jobId: string, sealed: string): WebhookTarget =>
  WebhookTarget.parse(JSON.parse(encryption.decrypt(sealed, boundTo(jobId))));

/** A message that is to be sent, now or later: never before the job's end, nor after it was deleted or has expired. */
export const isUndelivered = (record: JobRecord): record is JobRecord & { webhook: WebhookRecord & { sealed: string } } =>
  (record.state === 'done' || record.state === 'error') && record.webhook?.sealed !== undefined;

/**
 * When its next attempt may begin, ms since the epoch.
 * @param aloneSince since when no other process has used the store: attempts of processes before that have ended
 */
export const dueAt = ({ nextAt, begunAt }: Pick<WebhookRecord, 'nextAt' | 'begunAt'>, aloneSince = 0): number =>
  begunAt !== undefined && begunAt < aloneSince ? Math.min(nextAt, aloneSince) : nextAt;

/** An attempt begins: no other process begins one before it must have ended. Undefined where there is nothing to send now. */
export function claimDelivery(record: JobRecord, now: number, aloneSince?: number): JobRecord | undefined {
  if (!isUndelivered(record) || dueAt(record.webhook, aloneSince) > now || visibility(record, now) !== 'live') return undefined;
  const { webhook } = record;
  return { ...record, webhook: { ...webhook, state: 'pending', attempts: webhook.attempts + 1, nextAt: now + LEASE_MS, begunAt: now } };
}

/** How an attempt ended: the status of the answer, or why there was none. */
export interface Attempted {
  readonly status?: number | undefined;
  readonly error?: string | undefined;
}

/** @param outcome an attempt that is to follow, or the end @returns undefined where the job was deleted meanwhile */
export function endAttempt(
  record: JobRecord,
  { status, error }: Attempted,
  outcome: { readonly nextAt: number } | 'delivered' | 'failed',
): JobRecord | undefined {
  if (!isUndelivered(record)) return undefined;
  const { sealed, begunAt: _, lastStatus: __, lastError: ___, ...webhook } = record.webhook;
  const last = { ...(status === undefined ? {} : { lastStatus: status }), ...(error === undefined ? {} : { lastError: error }) };
  return typeof outcome === 'string'
    ? { ...record, webhook: { ...webhook, ...last, state: outcome } }
    : { ...record, webhook: { ...webhook, ...last, sealed, state: 'pending', nextAt: outcome.nextAt } };
}

/** No attempt may begin any more: what was encrypted goes. */
export const giveUpDelivery = (record: JobRecord): JobRecord | undefined =>
  isUndelivered(record) ? endAttempt(record, { status: record.webhook.lastStatus, error: record.webhook.lastError }, 'failed') : undefined;
