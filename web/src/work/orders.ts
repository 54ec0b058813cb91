/** Requests for work: one for a task, or one for conversions that are alike. */
import { honours } from '../api/catalog.ts';
import { ask, type ErrorBody, Refusal } from '../api/client.ts';
import type { Job } from './follow.ts';
import type { Task } from './tasks.ts';

export interface Order {
  readonly task: Task;
  readonly fields: Readonly<Record<string, string>>;
  /** Ids of its uploads. */
  readonly ids: readonly string[];
  readonly urls: readonly string[];
  readonly cancel: AbortSignal;
  readonly resolve: (job: string) => void;
  readonly reject: (error: unknown) => void;
}

/** Those that have an effect on this file. */
export function fieldsOf(task: Task, fields: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (task.tool !== undefined) return fields;
  const format = task.pieces.value[0]?.format;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => honours(format, task.target.value, name)));
}

/** Whether it is no part of a batch. */
export const isAlone = ({ task, ids }: Order): boolean => task.tool !== undefined || ids.length !== 1;
/** The same text for conversions that may be one request. */
export const wantOf = (task: Task, fields: Readonly<Record<string, string>>): string =>
  JSON.stringify([task.target.value, fieldsOf(task, fields)]);
export const batchKeyOf = (order: Order): string => (isAlone(order) ? `${order.task.key}` : wantOf(order.task, order.fields));

/** Sends orders that are alike. @throws Limited @throws Refusal @throws DOMException `AbortError` */
export const send = (alike: readonly Order[]): Promise<void> => {
  const [first] = alike;
  return alike.length === 1 && first !== undefined ? sendOne(first) : sendBatch(alike);
};

/** With an idempotency key: a request that is repeated after a lost connection creates no second job. */
const requestHeaders = (): Record<string, string> => ({
  'idempotency-key': crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`,
  prefer: 'respond-async',
});

async function sendOne({ task, fields, ids, urls, cancel, resolve }: Order): Promise<void> {
  const form = new FormData();
  const many = task.field.endsWith('[]');
  for (const id of ids) form.append(many ? 'upload_ids[]' : 'upload_id', id);
  for (const url of urls) form.append(many ? 'urls[]' : 'url', url);
  if (task.tool === undefined) form.append('to_format', task.target.value);
  for (const [name, value] of Object.entries(fieldsOf(task, fields))) form.append(name, value);
  const path = task.tool === undefined ? 'api/v1/convert' : `api/v1/tools/${task.tool}`;
  const { data } = await ask<Job>(path, { method: 'POST', body: form, headers: requestHeaders(), signal: cancel, throwsLimited: true });
  resolve(data.job_id);
}

async function sendBatch(alike: readonly Order[]): Promise<void> {
  const [first] = alike;
  if (first === undefined) return;
  const form = new FormData();
  for (const { ids } of alike) for (const id of ids) form.append('upload_ids[]', id);
  form.append('to_format', first.task.target.value);
  for (const [name, value] of Object.entries(fieldsOf(first.task, first.fields))) form.append(name, value);
  const { data } = await ask<{ jobs: (Pick<Job, 'job_id'> & { error?: ErrorBody })[] }>('api/v1/batch', {
    method: 'POST',
    body: form,
    headers: requestHeaders(),
    throwsLimited: true,
  });
  alike.forEach(({ resolve, reject }, place) => {
    const entry = data.jobs[place];
    if (entry === undefined) reject(new Refusal({ code: 'INTERNAL_ERROR', message: '' }));
    else if (entry.error !== undefined) reject(new Refusal(entry.error));
    else resolve(entry.job_id);
  });
}
