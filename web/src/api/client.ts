/** Asks the service: waits where it says so, goes on by itself when a connection is lost, and throws what it refuses. */
import { computed, signal } from '@preact/signals';

/** An address of the service, wherever a proxy serves it. */
export const at = (path: string): string => new URL(path, document.baseURI).href;

/** Why the page waits at present; undefined while it does not. */
export interface Pause {
  readonly why: 'limit' | 'busy' | 'lost';
  /** When it tries again, ms since the epoch. */
  readonly until: number;
}
export const pause = signal<Pause | undefined>(undefined);

const isOffline = signal(false);
/** Whether nothing reaches the service at present, as far as the page and its browser know. */
export const isLost = computed(() => isOffline.value || pause.value?.why === 'lost');
export function watchConnection(): void {
  const tell = () => {
    isOffline.value = !navigator.onLine;
  };
  tell();
  for (const event of ['online', 'offline']) addEventListener(event, tell);
}

export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: string;
  readonly reason: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
  constructor({ code, message, details = {} }: ErrorBody) {
    super(message);
    this.code = code;
    this.details = details;
    this.reason = typeof details['reason'] === 'string' ? details['reason'] : undefined;
  }
}

/** A refusal by a limit, where the caller waits for it. */
export class Limited extends Error {
  override readonly name = 'Limited';
  readonly ms: number;
  /** Which limit, as the service calls it. */
  readonly tier: unknown;
  constructor(ms: number, tier: unknown) {
    super();
    this.ms = ms;
    this.tier = tier;
  }
}

/** @param untilOnline a connection that is back is tried at once @throws DOMException `AbortError` */
export function sleep(ms: number, cancel?: AbortSignal, untilOnline = false): Promise<void> {
  return new Promise((resolve, reject) => {
    cancel?.throwIfAborted();
    const wake = () => {
      clearTimeout(timer);
      removeEventListener('online', wake);
      cancel?.removeEventListener('abort', stop);
      resolve();
    };
    const stop = () => {
      clearTimeout(timer);
      removeEventListener('online', wake);
      reject(cancel?.reason as Error);
    };
    const timer = setTimeout(wake, ms);
    if (untilOnline) addEventListener('online', wake, { once: true });
    cancel?.addEventListener('abort', stop, { once: true });
  });
}

/** Without a connection no limit is over; of two that are alike, the longer one is told. */
function outranks(mine: Pause, other: Pause | undefined): boolean {
  if (other === undefined || (mine.why === 'lost') !== (other.why === 'lost')) return other === undefined || mine.why === 'lost';
  return mine.until > other.until;
}

/** Says why the page waits, and waits. */
export async function waitFor(why: Pause['why'], ms: number, cancel?: AbortSignal): Promise<void> {
  const mine: Pause = { why, until: Date.now() + ms };
  if (outranks(mine, pause.value)) pause.value = mine;
  try {
    await sleep(ms, cancel, why === 'lost');
  } finally {
    // One that is lost is over when something is answered.
    if (pause.value === mine && (why !== 'lost' || cancel?.aborted === true)) pause.value = undefined;
  }
}

/** How long to wait after the n-th loss of the connection, ms. */
export const backOff = (lost: number): number => Math.min(10_000, 500 * 2 ** lost);

/** How long the page waits at most before it asks again, ms. */
export const ASKED_AGAIN = 30_000;
/** Limits of what is held: there may be room long before anything expires. */
const OF_UPLOADS: readonly unknown[] = ['uploads', 'upload_bytes'];

/** What a refusal says of the time to wait, ms; undefined where waiting does not help. */
export function waitOf(response: Response, body: { error?: ErrorBody }): { why: Pause['why']; ms: number } | undefined {
  const seconds = Number(response.headers.get('retry-after'));
  const ms = Math.max(1, Number.isFinite(seconds) ? seconds : 1) * 1000;
  if (OF_UPLOADS.includes(body.error?.details?.['tier'])) return { why: 'limit', ms: Math.min(ms, ASKED_AGAIN) };
  if (response.status === 429 || body.error?.code === 'BANNED') return { why: 'limit', ms };
  // A proxy answers so, too, while the service starts again.
  return [502, 503, 504].includes(response.status) ? { why: 'busy', ms } : undefined;
}

export interface Answer<Data> {
  readonly data: Data;
  readonly status: number;
}

interface Asked extends RequestInit {
  /** Throws where a failure is not the connection's. */
  readonly unlessGone?: () => Promise<void>;
  /** Whether a limit is thrown, and not waited for. */
  readonly throwsLimited?: boolean;
}

/**
 * A request that may be repeated. @throws Refusal @throws Limited @throws DOMException `AbortError`
 * @param init its `signal` ends the waiting, too
 */
export async function ask<Data>(path: string, { unlessGone, throwsLimited = false, ...init }: Asked = {}): Promise<Answer<Data>> {
  const cancel = init.signal ?? undefined;
  for (let lost = 0; ; ) {
    let response: Response;
    let body: { data?: Data; error?: ErrorBody };
    try {
      response = await fetch(at(path), { ...init, headers: { accept: 'application/json', ...init.headers } });
      const text = await response.text();
      body = text.startsWith('{') ? (JSON.parse(text) as typeof body) : {};
    } catch (error) {
      if (cancel?.aborted === true) throw error;
      await unlessGone?.();
      await waitFor('lost', backOff(lost++), cancel);
      continue;
    }
    if (pause.value?.why === 'lost') pause.value = undefined;
    lost = 0;
    const wait = waitOf(response, body);
    if (wait?.why === 'limit' && throwsLimited) throw new Limited(wait.ms, body.error?.details?.['tier']);
    if (wait !== undefined) {
      await waitFor(wait.why, wait.ms, cancel);
      continue;
    }
    if (body.error !== undefined || !response.ok)
      throw new Refusal(body.error ?? { code: 'INTERNAL_ERROR', message: `${response.status} ${response.statusText}` });
    return { data: body.data as Data, status: response.status };
  }
}
