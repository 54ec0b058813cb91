/** One message and its answer: the client is admitted before a tool is called, and refunded where no work was done. */
import type { FastifyRequest } from 'fastify';
import { isRecord } from '../../../contracts/json.ts';
import type { Client } from '../../../limits/client.ts';
import { onAbort } from '../../../streams/abort.ts';
import { clientOf, refuseWhileStopping } from '../../admission/admission.ts';
import { NO_SHARE, REFUNDED_STATUSES, type ReservedShare, reserve } from '../../admission/share.ts';
import type { ApiDeps } from '../../deps.ts';
import { tooManyStreams } from '../../jobs/events-route.ts';
import { createEndpoint, STATELESS_VERSION } from './protocol.ts';
import { type Id, idOf } from './refusal.ts';
import type { Served } from './served.ts';

export interface Arrived {
  /** Whether the answer may come as server-sent events. */
  readonly streams: boolean;
  /** Aborted when the connection or the answer ends. */
  readonly gone: AbortSignal;
  /** Called when the files in it are stored. */
  readonly release: () => void;
}

/** How often it is seen whether other tools are available, ms. */
const CHANGE_CHECK_MS = 2_000;

export interface Exchanges {
  /** @throws Failure `RATE_LIMITED`, `BANNED`, `OVERLOADED` */
  answer(request: FastifyRequest, message: unknown, arrived: Arrived): Promise<Response>;
  close(): Promise<void>;
}

export function exchanges(deps: ApiDeps, served: Served): Exchanges {
  const { settings, log, limits } = deps;
  const endpoint = createEndpoint((error) => log.debug({ why: error.name }, 'an MCP message was refused by the library'));
  const calls = inFlight();
  /** Open streams by client, on which a changed list is told. */
  const listeners = new Map<string, number>();
  const watch = setInterval(() => served.hasChanged?.() && endpoint.toolsChanged(), CHANGE_CHECK_MS);
  watch.unref();

  /** Reserves a share for a job. */
  async function admit(request: FastifyRequest, job: string, tool: string): Promise<ReservedShare> {
    refuseWhileStopping(deps);
    return reserve(limits.limiter, clientOf(deps, request), { via: 'mcp', jobs: [job], tool });
  }

  /** @throws Failure `RATE_LIMITED` */
  async function listen(request: FastifyRequest, gone: AbortSignal): Promise<void> {
    const { key, multiple } = clientOf(deps, request);
    const open = listeners.get(key) ?? 0;
    if (limits.flood !== undefined && open >= settings.events.perClient * multiple) throw await tooManyStreams(deps, request);
    listeners.set(key, open + 1);
    onAbort(gone, () => {
      const left = (listeners.get(key) ?? 1) - 1;
      if (left > 0) listeners.set(key, left);
      else listeners.delete(key);
    });
  }

  return {
    async answer(request, message, { streams, gone, release }) {
      cancelNamed(request, message);
      if (isRecord(message) && message['method'] === 'subscriptions/listen') await listen(request, gone);
      const call = isToolCall(message) ? message : undefined;
      const id = deps.newId();
      const works = call !== undefined && served.works(call.params.name);
      const share = works ? await admit(request, id, call.params.name) : NO_SHARE;
      const cancelled = new AbortController();
      const caller = call === undefined ? undefined : callerFor(request, idOf(message));
      const forgetCall =
        caller === undefined ? () => {} : calls.add(caller, () => cancelled.abort(new Error('the client cancelled the call')));
      const refundFailed = (err: unknown) => request.log.warn({ err }, 'a reserved share could not be refunded');
      let began = false;
      const make = served.factoryFor(
        request,
        {
          id,
          client: clientOf(deps, request).key,
          takeArguments() {
            const args = call?.params.arguments ?? {};
            if (call !== undefined) call.params.arguments = {};
            return args;
          },
          streams,
          requestId: request.id,
          share,
          dueAt: performance.now() + settings.mcp.answerMs,
          release,
          log: (about) => request.log.info(about, 'files were received'),
        },
        {
          began() {
            began = true;
          },
          // A tool's own answer, or failure, is what the client is to read.
          ended: async (status) => (REFUNDED_STATUSES.has(status) ? share.refund().catch(refundFailed) : undefined),
        },
      );
      const over = async () => {
        forgetCall();
        // The library refused it before a tool was called.
        if (!began) await share.refund();
      };
      try {
        const response = await endpoint.answer(message, headersFor(request), streams, AbortSignal.any([gone, cancelled.signal]), make);
        if (!isStream(response)) await over();
        else if (gone.aborted) await over();
        else onAbort(gone, () => void over().catch(refundFailed));
        return response;
      } catch (error) {
        await over().catch(refundFailed);
        throw error;
      }
    },
    close() {
      clearInterval(watch);
      return endpoint.close();
    },
  };

  /** In the versions with `initialize` a call is cancelled by another message; in 2026-07-28 by closing its stream. */
  function cancelNamed(request: FastifyRequest, message: unknown): void {
    if (!isRecord(message) || message['method'] !== 'notifications/cancelled' || !isRecord(message['params'])) return;
    if (request.headers['mcp-protocol-version'] === STATELESS_VERSION) return;
    const caller = callerFor(request, idOf({ id: message['params']['requestId'] }));
    if (caller !== undefined) calls.cancel(caller);
  }

  function callerFor(request: FastifyRequest, id: ReturnType<typeof idOf>): string | undefined {
    return callerOf(clientOf(deps, request), request.headers['user-agent'], id);
  }
}

export const isStream = ({ headers }: Response): boolean => headers.get('content-type')?.startsWith('text/event-stream') === true;

/** The headers that the library reads. It requires both media types in Accept; ours was checked before. */
function headersFor({ headers }: FastifyRequest): Headers {
  const own = Object.entries(headers).filter(
    (header): header is [string, string] => header[0].startsWith('mcp-') && typeof header[1] === 'string',
  );
  return new Headers([['content-type', 'application/json'], ['accept', 'application/json, text/event-stream'], ...own]);
}

interface ToolCallMessage {
  readonly params: { readonly name: string; arguments?: Record<string, unknown> };
}

function isToolCall(message: unknown): message is ToolCallMessage {
  if (!isRecord(message) || message['method'] !== 'tools/call' || idOf(message) === null) return false;
  const { params } = message;
  return isRecord(params) && typeof params['name'] === 'string' && (params['arguments'] === undefined || isRecord(params['arguments']));
}

/** Calls in progress: a client of the older versions cancels one by another message, which names only the call's id. */
interface InFlight {
  /** @returns unsubscribe */
  add(caller: string, cancelled: () => void): () => void;
  /** Where several callers cannot be distinguished, none is cancelled: the message may be ignored (specification, "Cancellation"). */
  cancel(caller: string): void;
}

function inFlight(): InFlight {
  const calls = new Map<string, Set<() => void>>();
  return {
    add(caller, cancelled) {
      const same = calls.get(caller) ?? new Set();
      calls.set(caller, same.add(cancelled));
      return () => {
        same.delete(cancelled);
        if (same.size === 0) calls.delete(caller);
      };
    },
    cancel(caller) {
      const same = [...(calls.get(caller) ?? [])];
      if (same.length === 1) same[0]?.();
    },
  };
}

/** Without sessions a caller is identified by address, program and id. That is not enough where many people share an address. */
const callerOf = ({ key, multiple }: Client, program: string | undefined, id: Id): string | undefined =>
  multiple > 1 || id === null ? undefined : JSON.stringify([key, program ?? '', id]);
