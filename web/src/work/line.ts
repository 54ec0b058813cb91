/**
 * The line: which tasks may upload, and which may be sent, first come, first served. One asks the service for all, so that it is refused nothing;
 * what waits for a limit holds up no task that has another one.
 */
import { ASKED_AGAIN, ask, Limited, type Pause, pause, sleep } from '../api/client.ts';
import { bounds, hasRoom, type Limits, mostFiles, type Sizes, waitToSend, waitToUpload } from './limits.ts';
import { batchKeyOf, isAlone, type Order, send } from './orders.ts';
import type { Task } from './tasks.ts';

/** Tasks that are under way: of more, the service would refuse the uploads. */
const MOST_PLACES = 10;
/** A wait that a person need not be told of, ms. */
const SHORT = 1500;
/** How long uploads can wait, ms: the service keeps them for two hours. */
const KEPT = 5_400_000;

/** A limit lasts longer than uploads are kept. */
export class OutlivesUploads extends Error {
  override readonly name = 'OutlivesUploads';
}

/** A task's place among those that are under way. */
export interface Place {
  readonly task: Task;
}
interface Entry {
  readonly task: Task;
  readonly resolve: (place: Place) => void;
  readonly reject: (error: unknown) => void;
}
interface Waiting extends Order {
  readonly place: Place;
  /** Its uploads, ms since the epoch. */
  readonly keptUntil: number;
}

const entries: Entry[] = [];
const orders: Waiting[] = [];
const inside = new Set<Place>();
/** Those that have or had a place, and are not sent yet. */
const unsent = new Set<Place>();
/** When a limit that a refusal told of is asked for again, ms since the epoch: of a tool, or of all. */
const closed = new Map<string | undefined, number>();

let changed = new AbortController();
let serving = false;
function wake(): void {
  changed.abort();
  if (!serving) void serve();
}

/** Joins a list until it is taken out of it. @throws the reason of `cancel` */
function waitIn<Item, Result>(
  list: Item[],
  cancel: AbortSignal,
  item: (resolve: (result: Result) => void, reject: (error: unknown) => void) => Item,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    cancel.throwIfAborted();
    const mine = item(resolve, reject);
    list.push(mine);
    // It waits for nothing any more, and nothing waits for it.
    const leave = () => {
      const place = list.indexOf(mine);
      if (place < 0) return;
      list.splice(place, 1);
      reject(cancel.reason);
      wake();
    };
    cancel.addEventListener('abort', leave, { once: true });
    wake();
  });
}

/** Waits for a place. @throws DOMException `AbortError` */
export const enter = (task: Task, cancel: AbortSignal): Promise<Place> =>
  waitIn<Entry, Place>(entries, cancel, (resolve, reject) => ({ task, resolve, reject }));

export function leave(place: Place): void {
  inside.delete(place);
  unsent.delete(place);
  wake();
}

/**
 * Waits until the limits admit it: where that takes long, its place is another's until then.
 * @returns the job's id @throws Refusal @throws OutlivesUploads @throws DOMException `AbortError`
 */
export const submit = (order: Omit<Waiting, 'resolve' | 'reject' | 'keptUntil'>): Promise<string> =>
  waitIn<Waiting, string>(orders, order.cancel, (resolve, reject) => ({ ...order, keptUntil: Date.now() + KEPT, resolve, reject }));

/** What the service tells of its limits holds until it is asked again. A replica of the version before tells nothing of files. */
async function askLimits(): Promise<Limits> {
  const { data } = await ask<Partial<Pick<Limits, 'files'>> & Omit<Limits, 'files'>>('api/v1/limits');
  bounds.value = data.files ?? bounds.value;
  return { ...data, files: bounds.value };
}

let isAsking = false;
/** For what is shown before anything is sent; once at a time, and where it fails, what is known stays. */
export async function learnBounds(): Promise<void> {
  if (isAsking) return;
  isAsking = true;
  await askLimits().catch(() => {});
  isAsking = false;
}

async function serve(): Promise<void> {
  serving = true;
  try {
    while (orders.length > 0 || entries.some(mayEnter)) {
      changed = new AbortController();
      const limits = await askLimits();
      letIn(limits);
      sendBack(limits);
      const waits = orders.map((order) => waitOf(limits, order));
      const first = orders[waits.findIndex((wait) => wait <= 0)];
      if (first !== undefined) {
        tell(undefined);
        await sendWith(first, mostFiles(limits));
      } else await pauseFor(Math.min(...waits, ...entries.filter(mayEnter).map(({ task }) => waitToEnter(limits, task))));
    }
  } catch (error) {
    for (const { reject } of [...orders.splice(0), ...entries.splice(0)]) reject(error);
  } finally {
    serving = false;
    tell(undefined);
  }
}

const closedFor = ({ tool }: Task): number =>
  Math.max(0, ...[closed.get(undefined), closed.get(tool)].map((time = 0) => time - Date.now()));
function waitToEnter(limits: Limits, task: Task): number {
  const before = [...unsent].map((place) => place.task.tool);
  return Math.max(closedFor(task), waitToUpload(limits, task.tool, before));
}
const waitOf = (limits: Limits, { task }: Waiting): number => Math.max(closedFor(task), waitToSend(limits, task.tool));

const sizesOf = ({ task }: { readonly task: Task }): Sizes =>
  task.pieces.value.flatMap(({ file }) => (file === undefined ? [] : [file.size]));
/** Those that gave their place back still have their uploads. */
const mayEnter = (entry: Entry): boolean =>
  inside.size < MOST_PLACES && hasRoom([...new Set([...inside, ...unsent])].map(sizesOf), sizesOf(entry));

function letIn(limits: Limits): void {
  for (const entry of [...entries]) {
    if (!mayEnter(entry) || waitToEnter(limits, entry.task) > SHORT) continue;
    entries.splice(entries.indexOf(entry), 1);
    const place = { task: entry.task };
    inside.add(place);
    unsent.add(place);
    entry.resolve(place);
  }
}

/** Those whose uploads would be gone before they are sent: they wait without, and upload again. */
function sendBack(limits: Limits): void {
  for (const order of orders.filter((each) => Date.now() + waitOf(limits, each) > each.keptUntil)) {
    orders.splice(orders.indexOf(order), 1);
    order.reject(new OutlivesUploads());
  }
}

/** Conversions that are alike and wait together are one request, which the limits count as one. */
async function sendWith(first: Waiting, most: number): Promise<void> {
  const alike = isAlone(first) ? [first] : orders.filter((each) => batchKeyOf(each) === batchKeyOf(first)).slice(0, most);
  for (const each of alike) {
    orders.splice(orders.indexOf(each), 1);
    // Its job is under way, with or without a free place.
    inside.add(each.place);
    unsent.delete(each.place);
  }
  try {
    await send(alike);
  } catch (error) {
    // Those that last are known when the limits are asked again.
    if (error instanceof Limited)
      closed.set(error.tier === 'ai' ? first.task.tool : undefined, Date.now() + Math.min(error.ms, ASKED_AGAIN));
    const again = error instanceof Limited ? alike.filter(({ cancel }) => !cancel.aborted) : [];
    for (const { place } of again) unsent.add(place);
    orders.unshift(...again);
    for (const each of alike) if (!again.includes(each)) each.reject(error);
  }
}

/** What is said of the limits stays until something else is decided. */
let told: Pause | undefined;
function tell(next: Pause | undefined): void {
  if (pause.value === undefined || pause.value === told) pause.value = next;
  told = next;
}

/** @param wait ms; infinite where nothing waits any more */
async function pauseFor(wait: number): Promise<void> {
  if (wait === Number.POSITIVE_INFINITY || changed.signal.aborted) return;
  if (wait <= SHORT) {
    tell(undefined);
    return sleep(wait);
  }
  const freed = orders.filter(({ place }) => inside.delete(place));
  for (const { task } of freed) task.state.value = { at: 'queued' };
  // Their places may be for others.
  if (freed.length > 0 && entries.length > 0) return;
  tell({ why: 'limit', until: Date.now() + wait });
  await sleep(Math.min(wait, ASKED_AGAIN), changed.signal).catch(() => {});
}
