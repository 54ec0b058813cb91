/** What a person asked for: each task goes from its files to a result, as many at once as the service likes. */
import { batch, type Signal, signal } from '@preact/signals';
import { sourceOf } from '../api/catalog.ts';
import { at, Refusal } from '../api/client.ts';
import { follow, type Job } from './follow.ts';
import { gate } from './gate.ts';
import { forget, remember } from './history.ts';
import { enter, leave, OutlivesUploads, submit } from './line.ts';
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
  /** Options of this task alone, such as its password. */
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

const MOST_UPLOADS = 2;
const uploads = gate(MOST_UPLOADS);

/** @param options shared by all that were started together; those without an effect on this file are left out */
export function start(task: Task, options: Readonly<Record<string, string>>): void {
  if (isActive(task)) return;
  const cancel = new AbortController();
  task.cancel = cancel;
  task.jobId = undefined;
  task.state.value = { at: 'queued' };
  runToEnd(task, { ...options, ...task.own.value }, cancel.signal).catch((error: unknown) => {
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

async function runToEnd(task: Task, fields: Readonly<Record<string, string>>, cancel: AbortSignal): Promise<void> {
  for (;;) {
    try {
      return await run(task, fields, cancel);
    } catch (error) {
      if (!(error instanceof OutlivesUploads) || cancel.aborted) throw error;
      task.state.value = { at: 'queued' };
    }
  }
}

async function run(task: Task, fields: Readonly<Record<string, string>>, cancel: AbortSignal): Promise<void> {
  const ids: string[] = [];
  const place = await enter(task, cancel);
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
    const id = await submit({ place, task, fields, ids, urls, cancel });
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
    leave(place);
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
