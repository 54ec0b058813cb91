/** What a person asked for: each task goes from its files to a result, as many at once as the service likes. */
import { batch, type Signal, signal } from '@preact/signals';
import { sourceOf } from '../api/catalog.ts';
import { at, Refusal } from '../api/client.ts';
import { follow, type Job } from './follow.ts';
import { gate } from './gate.ts';
import { forget, type Known, remember } from './history.ts';
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
  /** All that was chosen, bytes. */
  readonly size: number;
  /** When its files are deleted, ms since the epoch; undefined before it is a job. */
  readonly expires: Signal<number | undefined>;
  /** When it was started, with the others of its run, ms since the epoch. */
  run: number;
  /** Whether it was chosen here, and not at an earlier visit or in another tab. */
  readonly isHere: boolean;
  /** What it was started with, besides its own. */
  options: Readonly<Record<string, string>>;
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

interface To {
  readonly target?: string;
  readonly tool?: string;
  readonly field?: string;
}
export function taskOf(pieces: readonly Piece[], to: To, size = pieces.reduce((sum, { file }) => sum + (file?.size ?? 0), 0)): Task {
  return {
    key: ++keys,
    pieces: signal(pieces),
    tool: to.tool,
    field: to.field ?? 'file',
    target: signal(to.target ?? ''),
    own: signal({}),
    state: signal<State>({ at: 'ready' }),
    size,
    expires: signal(undefined),
    run: 0,
    isHere: true,
    options: {},
  };
}

/** A job of an earlier visit, or of another tab, as far as the browser knows it: its file is not kept. */
export function taskOfKnown({ id, name, what, bytes, result, failed, expires, run = 0 }: Known): Task {
  // Names of tools have a hyphen, and those of formats have none.
  const to = what.includes('-') ? { tool: what } : { target: what };
  const task: Task = { ...taskOf([{ key: ++keys, name, format: sourceOf(name)?.format }], to, bytes ?? 0), run, isHere: false };
  task.jobId = id;
  task.expires.value = expires;
  const job = { job_id: id, created_at: new Date().toISOString(), expires_at: new Date(expires).toISOString(), warnings: [] };
  const { name: filename = '', bytes: size_bytes = 0, type: content_type = '', files = 1 } = result ?? {};
  if (result !== undefined)
    task.state.value = { at: 'done', job: { ...job, status: 'done', output: { filename, size_bytes, content_type, files } } };
  else if (failed === true) task.state.value = { at: 'failed', error: new Refusal({ code: 'CONVERSION_FAILED', message: '' }) };
  else task.state.value = { at: 'working' };
  return task;
}

/** Whether what it was made of is still at hand. */
export const canStart = ({ pieces }: Task): boolean => pieces.value.every(({ file, url }) => file !== undefined || url !== undefined);
/** Whether it would be refused again, however often it is tried. */
export const isHopeless = ({ state: { value } }: Task): boolean => value.at === 'failed' && value.error.code === 'FILE_TOO_LARGE';
export const isActive = ({ state }: Task): boolean => ['queued', 'uploading', 'submitting', 'working'].includes(state.value.at);

/** How far it is on its way to a result, of 1; undefined where that is not known. */
export function shareOf(state: State): number | undefined {
  if (state.at === 'uploading') return state.share / 2;
  return state.at === 'working' && state.percent !== undefined ? 0.5 + state.percent / 200 : undefined;
}

const MOST_UPLOADS = 2;
const uploads = gate(MOST_UPLOADS);

let run = 0;
let active = 0;
/** Tasks that are started while others are under way belong to those. One that is tried again stays where it is. */
function joinRun(task: Task): void {
  if (task.run > 0) return;
  if (active === 0) run = Date.now();
  task.run = run;
}

/** @param options shared by all that were started together; those without an effect on this file are left out */
export function start(task: Task, options: Readonly<Record<string, string>>): void {
  if (isActive(task)) return;
  joinRun(task);
  // One that failed is replaced.
  if (task.jobId !== undefined) deleteJobs([task.jobId]);
  task.options = options;
  task.jobId = undefined;
  task.expires.value = undefined;
  task.state.value = { at: 'queued' };
  active++;
  void toEnd(task, (cancel) => runToEnd(task, { ...options, ...task.own.value }, cancel)).finally(() => {
    active--;
  });
}

/** Those that are over show what is known of them, and are asked after so many at a time. */
const asking = gate(2);

/** Asks what has become of a job of an earlier visit, or of another tab, and follows it to its end. @param gone called where the service has it no more */
export function resume(task: Task, gone: () => void): void {
  const { jobId: id } = task;
  if (id === undefined) return;
  const isOver = !isActive(task);
  void toEnd(task, async (cancel) => {
    try {
      const asked = () => follow(id, (told) => showProgress(task, told, cancel), cancel);
      finish(task, await (isOver ? asking(cancel, asked) : asked()));
    } catch (error) {
      if (!(error instanceof Refusal) || !GONE.includes(error.code)) throw error;
      gone();
    }
  });
}
const GONE = ['JOB_NOT_FOUND', 'JOB_EXPIRED'];

async function toEnd(task: Task, work: (cancel: AbortSignal) => Promise<void>): Promise<void> {
  const cancel = new AbortController();
  task.cancel = cancel;
  await work(cancel.signal).catch((error: unknown) => {
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
  if (task.jobId !== undefined && task.state.value.at === 'cancelled') {
    deleteJobs([task.jobId]);
    task.jobId = undefined;
  }
}

const deletions = gate(4);
export function deleteJobs(ids: readonly string[]): void {
  const { signal } = new AbortController();
  for (const id of ids) void deletions(signal, () => fetch(at(`api/v1/jobs/${id}`), { method: 'DELETE' })).catch(() => {});
  forget(ids);
}

async function runToEnd(task: Task, fields: Readonly<Record<string, string>>, cancel: AbortSignal): Promise<void> {
  for (;;) {
    try {
      return await runOnce(task, fields, cancel);
    } catch (error) {
      if (!(error instanceof OutlivesUploads) || cancel.aborted) throw error;
      task.state.value = { at: 'queued' };
    }
  }
}

async function runOnce(task: Task, fields: Readonly<Record<string, string>>, cancel: AbortSignal): Promise<void> {
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
      const showShare = (share: number) => {
        if (!cancel.aborted) task.state.value = { at: 'uploading', share: (before + share * file.size) / total };
      };
      ids.push(
        await uploads(cancel, () => {
          showShare(0);
          return upload(file, showShare, cancel);
        }),
      );
      before += file.size;
    }
    cancel.throwIfAborted();
    task.state.value = { at: 'submitting' };
    const urls = pieces.flatMap(({ url }) => (url === undefined ? [] : [url]));
    const id = await submit({ place, task, fields, ids, urls, cancel });
    task.jobId = id;
    if (cancel.aborted) deleteJobs([id]);
    cancel.throwIfAborted();
    note(task, {});
    task.state.value = { at: 'working' };
    finish(task, await follow(id, (told) => showProgress(task, told, cancel), cancel));
  } finally {
    leave(place);
    for (const id of ids) discard(id);
  }
}

function showProgress(task: Task, { progress }: Job, cancel: AbortSignal): void {
  if (!cancel.aborted && task.state.value.at === 'working') task.state.value = { at: 'working', percent: progress };
}

function finish(task: Task, job: Job): void {
  const { output } = job;
  const result = output && { name: output.filename, bytes: output.size_bytes, type: output.content_type, files: output.files };
  batch(() => {
    note(task, { expires: Date.parse(job.expires_at), ...(result === undefined ? {} : { result }) });
    task.state.value = { at: 'done', job };
  });
}

/** Two hours, until the service says when. */
const UNTIL_TOLD = 7_200_000;
function note(task: Task, more: Partial<Known>): void {
  if (task.jobId === undefined) return;
  const expires = more.expires ?? task.expires.value ?? Date.now() + UNTIL_TOLD;
  task.expires.value = expires;
  remember({
    id: task.jobId,
    name: shownOf(task)
      .map(({ name }) => name)
      .join(', ')
      .slice(0, 200),
    what: task.tool ?? task.target.value,
    bytes: task.size || undefined,
    run: task.run,
    place: task.key,
    ...more,
    expires,
  });
}
