/** What a person asked for: each task goes from its files to a result, as many at once as the service likes. */
import { batch, type Signal, signal } from '@preact/signals';
import { honours, sourceOf } from '../api/catalog.ts';
import { ask, at, type ErrorBody, Refusal, waitFor } from '../api/client.ts';
import { follow, type Job } from './follow.ts';
import { forget, remember } from './history.ts';
import { discard, upload } from './upload.ts';

export interface Piece {
  readonly key: number;
  readonly name: string;
  readonly file?: File;
  readonly url?: string;
  /** Painted on the page, for the file before it: it is sent, and not shown as a file of the visitor. */
  readonly isMask?: true;
  /** By its name; undefined where the service has to look. */
  readonly format: string | undefined;
}

export type State =
  | { readonly at: 'ready' | 'queued' | 'submitting' | 'cancelled' }
  | { readonly at: 'uploading'; readonly share: number }
  | { readonly at: 'working'; readonly percent?: number | undefined }
  | { readonly at: 'done'; readonly job: Job }
  | { readonly at: 'failed'; readonly error: Refusal };

export interface Task {
  readonly key: number;
  readonly pieces: Signal<readonly Piece[]>;
  /** Undefined for a conversion. */
  readonly tool: string | undefined;
  readonly field: string;
  readonly target: Signal<string>;
  /** Of this task alone, such as its password. */
  readonly own: Signal<Readonly<Record<string, string>>>;
  readonly state: Signal<State>;
  jobId?: string | undefined;
  cancel?: AbortController | undefined;
}

/** What the visitor chose, without what the page made of it. */
export const shownOf = ({ pieces }: Pick<Task, 'pieces'>): readonly Piece[] => pieces.value.filter(({ isMask }) => !isMask);

let keys = 0;
export const pieceOf = (from: File | string): Piece => {
  const name = typeof from === 'string' ? decodeURIComponentSafely(new URL(from).pathname.split('/').pop() ?? '') || from : from.name;
  return { key: ++keys, name, format: sourceOf(name)?.format, ...(typeof from === 'string' ? { url: from } : { file: from }) };
};
function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function taskOf(pieces: readonly Piece[], to: { target?: string; tool?: string; field?: string }): Task {
  return {
    key: ++keys,
    pieces: signal(pieces),
    tool: to.tool,
    field: to.field ?? 'file',
    target: signal(to.target ?? ''),
    own: signal({}),
    state: signal<State>({ at: 'ready' }),
  };
}

export const isActive = ({ state }: Task): boolean => ['queued', 'uploading', 'submitting', 'working'].includes(state.value.at);

/** Tasks that are under way: of more, the service would refuse the uploads. */
const MOST_ACTIVE = 10;
const MOST_UPLOADS = 2;
/** Files in one request. */
const MOST_FILES = 20;

/** Lets so many in at a time. */
function gate(most: number): <Result>(cancel: AbortSignal, work: () => Promise<Result>) => Promise<Result> {
  let inside = 0;
  const waiting: (() => void)[] = [];
  return async (cancel, work) => {
    while (inside >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    inside++;
    try {
      cancel.throwIfAborted();
      return await work();
    } finally {
      inside--;
      waiting.shift()?.();
    }
  };
}
const active = gate(MOST_ACTIVE);
const uploads = gate(MOST_UPLOADS);

/** @param options shared by all that were started together; those without an effect on this file are left out */
export function start(task: Task, options: Readonly<Record<string, string>>): void {
  if (isActive(task)) return;
  const cancel = new AbortController();
  task.cancel = cancel;
  task.jobId = undefined;
  task.state.value = { at: 'queued' };
  active(cancel.signal, () => run(task, { ...options, ...task.own.value }, cancel.signal)).catch((error: unknown) => {
    if (task.cancel !== cancel) return;
    task.state.value = cancel.signal.aborted ? { at: 'cancelled' } : { at: 'failed', error: asRefusal(error) };
    if (task.jobId !== undefined && !cancel.signal.aborted) note(task, { failed: true });
  });
}

const asRefusal = (error: unknown): Refusal =>
  error instanceof Refusal
    ? error
    : new Refusal({ code: 'INTERNAL_ERROR', message: error instanceof Error ? error.message : String(error) });

export function stop(task: Task): void {
  task.cancel?.abort(new DOMException('cancelled', 'AbortError'));
  if (isActive(task)) task.state.value = { at: 'cancelled' };
  if (task.jobId !== undefined && task.state.value.at === 'cancelled') deleteJob(task.jobId);
}

export function deleteJob(id: string): void {
  void fetch(at(`api/v1/jobs/${id}`), { method: 'DELETE' }).catch(() => {});
  forget(id);
}

async function run(task: Task, fields: Readonly<Record<string, string>>, cancel: AbortSignal): Promise<void> {
  const ids: string[] = [];
  try {
    const pieces = task.pieces.value;
    const files = pieces.flatMap(({ file }) => (file === undefined ? [] : [file]));
    const total = Math.max(
      1,
      files.reduce((sum, { size }) => sum + size, 0),
    );
    let before = 0;
    for (const file of files) {
      const tell = (share: number) => {
        if (!cancel.aborted) task.state.value = { at: 'uploading', share: (before + share * file.size) / total };
      };
      ids.push(
        await uploads(cancel, () => {
          tell(0);
          return upload(file, tell, cancel);
        }),
      );
      before += file.size;
    }
    cancel.throwIfAborted();
    task.state.value = { at: 'submitting' };
    const urls = pieces.flatMap(({ url }) => (url === undefined ? [] : [url]));
    const id = await submit({ task, fields, ids, urls, cancel });
    task.jobId = id;
    if (cancel.aborted) deleteJob(id);
    cancel.throwIfAborted();
    note(task, {});
    task.state.value = { at: 'working' };
    const job = await follow(
      id,
      ({ progress }) => {
        if (!cancel.aborted && task.state.value.at === 'working') task.state.value = { at: 'working', percent: progress };
      },
      cancel,
    );
    const { output } = job;
    batch(() => {
      note(task, {
        expires: Date.parse(job.expires_at),
        ...(output === undefined ? {} : { result: { name: output.filename, bytes: output.size_bytes } }),
      });
      task.state.value = { at: 'done', job };
    });
  } finally {
    for (const id of ids) discard(id);
  }
}

/** Two hours, until the service says when. */
const UNTIL_TOLD = 7_200_000;
function note(task: Task, more: object): void {
  if (task.jobId === undefined) return;
  const pieces = shownOf(task);
  remember({
    id: task.jobId,
    name: pieces
      .map(({ name }) => name)
      .join(', ')
      .slice(0, 200),
    what: task.tool ?? task.target.value,
    bytes: pieces.reduce((sum, { file }) => sum + (file?.size ?? 0), 0) || undefined,
    expires: Date.now() + UNTIL_TOLD,
    ...more,
  });
}

interface Order {
  readonly task: Task;
  readonly fields: Readonly<Record<string, string>>;
  readonly ids: readonly string[];
  readonly urls: readonly string[];
  readonly cancel: AbortSignal;
}
interface Waiting extends Order {
  readonly resolve: (job: string) => void;
  readonly reject: (error: unknown) => void;
}
const orders: Waiting[] = [];
let sending = false;
/** Ends the wait for a limit when an order comes that may not have to wait. */
let newOrder = new AbortController();

/** Requests go one after the other; conversions that are alike and wait together are one request, which the limits count as one. */
function submit(order: Order): Promise<string> {
  return new Promise((resolve, reject) => {
    const waiting: Waiting = { ...order, resolve, reject };
    orders.push(waiting);
    newOrder.abort();
    // It waits for nothing any more, and nothing waits for it.
    const leave = () => {
      const place = orders.indexOf(waiting);
      if (place < 0) return;
      orders.splice(place, 1);
      reject(order.cancel.reason as Error);
      newOrder.abort();
    };
    order.cancel.addEventListener('abort', leave, { once: true });
    if (!sending) void sendAll();
  });
}

async function sendAll(): Promise<void> {
  sending = true;
  try {
    while (orders.length > 0) {
      const next = await firstAdmitted();
      // It may have been cancelled meanwhile.
      const first = orders.find((order) => order === next);
      if (first === undefined) continue;
      const alike =
        first.task.tool === undefined && first.ids.length === 1
          ? orders.filter((each) => kindOf(each) === kindOf(first)).slice(0, MOST_FILES)
          : [first];
      for (const each of alike) orders.splice(orders.indexOf(each), 1);
      await (alike.length > 1 ? sendBatch(alike) : sendOne(first)).catch((error: unknown) => {
        for (const { reject } of alike) reject(error);
      });
    }
  } finally {
    sending = false;
  }
}

const kindOf = ({ task, fields, ids }: Order): string =>
  task.tool === undefined && ids.length === 1 ? JSON.stringify([task.target.value, fieldsOf(task, fields)]) : `${task.key}`;

/** Those that have an effect on this file. */
export function fieldsOf(task: Task, fields: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (task.tool !== undefined) return fields;
  const format = task.pieces.value[0]?.format;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => honours(format, task.target.value, name)));
}

/** Where a request that is repeated would be a second one. */
const once = (): Record<string, string> => ({
  'idempotency-key': crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`,
  prefer: 'respond-async',
});

async function sendOne({ task, fields, ids, urls, cancel, resolve }: Waiting): Promise<void> {
  const form = new FormData();
  const many = task.field.endsWith('[]');
  for (const id of ids) form.append(many ? 'upload_ids[]' : 'upload_id', id);
  for (const url of urls) form.append(many ? 'urls[]' : 'url', url);
  if (task.tool === undefined) form.append('to_format', task.target.value);
  for (const [name, value] of Object.entries(fieldsOf(task, fields))) form.append(name, value);
  const path = task.tool === undefined ? 'api/v1/convert' : `api/v1/tools/${task.tool}`;
  const { data } = await ask<Job>(path, { method: 'POST', body: form, headers: once(), signal: cancel });
  resolve(data.job_id);
}

async function sendBatch(alike: readonly Waiting[]): Promise<void> {
  const [first] = alike;
  if (first === undefined) return;
  const form = new FormData();
  for (const { ids } of alike) for (const id of ids) form.append('upload_ids[]', id);
  form.append('to_format', first.task.target.value);
  for (const [name, value] of Object.entries(fieldsOf(first.task, first.fields))) form.append(name, value);
  const { data } = await ask<{ jobs: (Pick<Job, 'job_id'> & { error?: ErrorBody })[] }>('api/v1/batch', {
    method: 'POST',
    body: form,
    headers: once(),
  });
  alike.forEach(({ resolve, reject }, place) => {
    const entry = data.jobs[place];
    if (entry === undefined) reject(new Refusal({ code: 'INTERNAL_ERROR', message: '' }));
    else if (entry.error !== undefined) reject(new Refusal(entry.error));
    else resolve(entry.job_id);
  });
}

interface Tier {
  readonly remaining: number;
  readonly reset_seconds: number;
}
interface Limits {
  readonly enabled: boolean;
  readonly banned: boolean;
  readonly ban_expires_at: string | null;
  readonly tiers: Readonly<{ daily: Tier; hourly: Tier; cooldown: Tier; ai: Readonly<Record<string, Tier>> }>;
}

/** ms until a request would be admitted: one that is refused counts against its client */
function waitBefore({ tiers: { daily, hourly, cooldown, ai }, banned, ban_expires_at: until }: Limits, tool: string | undefined): number {
  const own = tool === undefined ? undefined : ai[tool];
  const ms = [daily, hourly, cooldown, ...(own === undefined ? [] : [own])]
    .filter(({ remaining }) => remaining < 1)
    .map(({ reset_seconds: seconds }) => Math.max(0.3, seconds) * 1000);
  const ban = banned && until !== null ? Date.parse(until) - Date.now() : 0;
  return Math.max(0, ban, ...ms);
}

/** Waits until one of the orders would be admitted: a tool at its daily limit holds up no other. @returns undefined where none is left */
async function firstAdmitted(): Promise<Waiting | undefined> {
  while (orders.length > 0) {
    newOrder = new AbortController();
    const { data } = await ask<Limits>('api/v1/limits');
    if (!data.enabled) return orders[0];
    const waits = orders.map(({ task }) => waitBefore(data, task.tool));
    const wait = Math.min(...waits);
    if (wait <= 0) return orders[waits.indexOf(wait)];
    // A second between two requests is no limit that a person has to be told of.
    if (wait <= 2000) await new Promise((resolve) => setTimeout(resolve, wait));
    // Others may be cancelled meanwhile, and a limit may be raised.
    else await waitFor('limit', Math.min(wait, 30_000), newOrder.signal, wait).catch(() => {});
  }
  return undefined;
}
