/** The Kubernetes API as typed calls, each with a time limit: kinds of objects are described by data. */
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { apiVersion, type KubeObject, type ObjectRef, pathOf, type Resource } from '../resource.ts';
import { KubeError, kubeErrorOf } from './error.ts';
import { asKubeconfig } from './kubeconfig.ts';
import { asPod } from './service-account.ts';
import { type KubeRequest, openTransport, type Transport, unreachable } from './transport.ts';
import { readWatch, type WatchEvent } from './watch.ts';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** From sending the request to the last byte of the response, ms. */
  readonly limitMs?: number;
}

export interface Selection {
  /** Omitted: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** A watch continues from here. */
  readonly resourceVersion: string;
}

export interface Applying {
  /** Owns the fields that it sets; those that it no longer sets are removed. */
  readonly manager: string;
  /** Takes fields over from other managers; true by default. */
  readonly force?: boolean;
  readonly subresource?: string;
}

export interface Removal {
  /** With either set, an object that was changed or replaced since is kept: `Conflict`. */
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  readonly gracePeriodSeconds?: number;
}

/** All calls @throw KubeError, or the reason of the caller's signal if it aborted them. */
export interface Kube {
  /** Namespace of the current context, or of the pod. */
  readonly namespace: string;
  /** The API server's time, ms since the epoch: accurate to one second once it has responded. */
  now(): number;
  get<T extends KubeObject>(resource: Resource, ref: ObjectRef, call?: CallOptions): Promise<T>;
  /** All objects as of one moment. The time limit applies to each page. */
  pages<T extends KubeObject>(
    resource: Resource,
    selection?: Selection & { readonly limit?: number },
    call?: CallOptions,
  ): AsyncGenerator<Page<T>>;
  create<T extends KubeObject>(resource: Resource, object: T, call?: CallOptions): Promise<T>;
  /** @throws KubeError `Conflict` if it was written since the object's `metadata.resourceVersion` */
  replace<T extends KubeObject>(resource: Resource, object: T, options?: { readonly subresource?: string }, call?: CallOptions): Promise<T>;
  /** Server-side apply. */
  apply<T extends KubeObject>(resource: Resource, object: T, options: Applying, call?: CallOptions): Promise<T>;
  /** @param patch a JSON merge patch (RFC 7396) */
  patch<T extends KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    patch: object,
    options?: { readonly subresource?: string },
    call?: CallOptions,
  ): Promise<T>;
  remove(resource: Resource, ref: ObjectRef, options?: Removal, call?: CallOptions): Promise<void>;
  /**
   * Changes since a version, including bookmarks, until the server ends the watch.
   * @param call `silenceMs`: after this long without a byte it ends with `TimedOut`; `limitMs`: time to the response head
   */
  watch<T extends KubeObject>(
    resource: Resource,
    selection: Selection & { readonly resourceVersion: string; readonly timeoutSeconds?: number },
    call?: CallOptions & { readonly silenceMs?: number },
  ): AsyncGenerator<WatchEvent<T>>;
  /** Any other request. @returns the response's JSON, or its text if it is not JSON */
  request<T>(method: KubeRequest['method'], path: string, body?: unknown, call?: CallOptions): Promise<T>;
  /** Closes idle connections; callers end their open calls by their signals. */
  close(): void;
}

const LIMIT_MS = 10_000;
const PAGE = 500;
/** The server sends a bookmark every minute. */
const SILENCE_MS = 90_000;

export interface KubeSettings {
  /** Path of a kubeconfig file; unset: this process runs in a pod. */
  readonly kubeconfig?: string | undefined;
  /** Folder where the pod's service account is mounted; unset: the standard one. */
  readonly serviceAccount?: string | undefined;
}

/** Sends no request yet. @throws Error saying what is missing */
export async function connectKube({ kubeconfig, serviceAccount }: KubeSettings = {}): Promise<Kube> {
  const caller = kubeconfig === undefined ? asPod(serviceAccount) : await asKubeconfig(kubeconfig);
  const transport = openTransport(caller);
  const ask = <T>(request: KubeRequest, call: CallOptions = {}) => answer<T>(transport, request, call);
  const patchAs = <T>(contentType: string, path: string, body: object, call?: CallOptions) =>
    ask<T>({ method: 'PATCH', path, body, contentType }, call);

  return {
    namespace: caller.namespace ?? 'default',
    now: transport.now,

    get: async (resource, ref, call) => ask({ method: 'GET', path: pathOf(resource, ref) }, call),

    async *pages(resource, { namespace, limit = PAGE, ...selection } = {}, call) {
      for (let from: string | undefined; ; ) {
        const path = pathOf(resource, { namespace }) + query({ ...selection, limit, continue: from });
        const list = await ask<{ items?: never[]; metadata: { resourceVersion: string; continue?: string } }>(
          { method: 'GET', path },
          call,
        );
        yield { items: list.items ?? [], resourceVersion: list.metadata.resourceVersion };
        from = list.metadata.continue;
        if (from === undefined || from === '') return;
      }
    },

    create: async (resource, object, call) =>
      ask({ method: 'POST', path: pathOf(resource, { namespace: object.metadata.namespace }), body: typed(resource, object) }, call),

    replace: async (resource, object, { subresource } = {}, call) =>
      ask({ method: 'PUT', path: pathOf(resource, object.metadata, subresource), body: typed(resource, object) }, call),

    async apply(resource, object, { manager, force = true, subresource }, call) {
      const path = pathOf(resource, object.metadata, subresource) + query({ fieldManager: manager, force });
      // The media type is YAML; JSON is valid YAML.
      return patchAs('application/apply-patch+yaml', path, typed(resource, object), call);
    },

    patch: async (resource, ref, patch, { subresource } = {}, call) =>
      patchAs('application/merge-patch+json', pathOf(resource, ref, subresource), patch, call),

    async remove(resource, ref, { uid, resourceVersion, propagationPolicy = 'Background', gracePeriodSeconds } = {}, call) {
      const preconditions = { uid, resourceVersion };
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy, gracePeriodSeconds, preconditions };
      await ask({ method: 'DELETE', path: pathOf(resource, ref), body }, call);
    },

    async *watch<T extends KubeObject>(
      resource: Resource,
      { namespace, ...selection }: Selection & { readonly resourceVersion: string; readonly timeoutSeconds?: number },
      { signal, limitMs = LIMIT_MS, silenceMs = SILENCE_MS }: CallOptions & { readonly silenceMs?: number } = {},
    ) {
      const path = pathOf(resource, { namespace }) + query({ ...selection, watch: true, allowWatchBookmarks: true });
      const ending = new AbortController();
      const silent = new KubeError(0, 'TimedOut', `the API server sent nothing about ${resource.plural} in time`);
      let timer = setTimeout(() => ending.abort(silent), limitMs);
      const restartTimer = () => {
        clearTimeout(timer);
        timer = setTimeout(() => ending.abort(silent), silenceMs);
      };
      const until = signal === undefined ? ending.signal : AbortSignal.any([signal, ending.signal]);
      try {
        const response = await transport.send({ method: 'GET', path }, until);
        if (response.statusCode !== 200) throw await refused(response, until);
        restartTimer();
        yield* readWatch<T>(response, restartTimer);
      } catch (error) {
        if (until.aborted) throw until.reason;
        throw error instanceof KubeError ? error : unreachable(error);
      } finally {
        clearTimeout(timer);
        // A reader that stops early closes the connection too.
        ending.abort(silent);
      }
    },

    request: (method, path, body, call) => ask({ method, path, body }, call),
    close: () => transport.close(),
  };
}

async function answer<T>(transport: Transport, request: KubeRequest, { signal, limitMs = LIMIT_MS }: CallOptions): Promise<T> {
  // A limit may be the fractional rest of a deadline; Node takes only whole milliseconds.
  const limit = AbortSignal.timeout(Math.ceil(limitMs));
  const until = signal === undefined ? limit : AbortSignal.any([signal, limit]);
  try {
    const response = await transport.send(request, until);
    if ((response.statusCode ?? 0) >= 300) throw await refused(response, until);
    const body = await text(response);
    return (response.headers['content-type']?.startsWith('application/json') === true ? JSON.parse(body) : body) as T;
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason;
    if (limit.aborted) {
      const what = `${request.method} ${request.path.replace(/\?.*/, '')}`;
      throw new KubeError(0, 'TimedOut', `the API server did not answer ${what} within ${limitMs} ms`, { cause: error });
    }
    throw error instanceof KubeError ? error : unreachable(error);
  }
}

async function refused(response: IncomingMessage, signal: AbortSignal): Promise<KubeError> {
  const body = await text(response);
  signal.throwIfAborted();
  return kubeErrorOf(response.statusCode ?? 0, body, response.headers['retry-after']);
}

const typed = <T extends KubeObject>(resource: Resource, object: T): T => ({
  ...object,
  apiVersion: apiVersion(resource),
  kind: resource.kind,
});

function query(parameters: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}
