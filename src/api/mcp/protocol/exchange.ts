/** One message and its answer: the client is admitted before a tool is called, and refunded where no work was done. */
import type { FastifyRequest } from 'fastify';
import { isRecord } from '../../../contracts/json.ts';
import { onAbort } from '../../../streams/abort.ts';
import { clientOf, refuseWhileStopping } from '../../admission/admission.ts';
import { NO_SHARE, REFUNDED_STATUSES, type ReservedShare, reserve } from '../../admission/share.ts';
import type { ApiDeps } from '../../deps.ts';
import { tooManyStreams } from '../../jobs/events-route.ts';
import { createEndpoint, STATELESS_VERSION } from './protocol.ts';
import { type Id, idOf } from './refusal.ts';
import type { CallListener, Served, ToolCallContext } from './served.ts';

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

export function exchanges(deps: Pick<ApiDeps, 'limits' | 'telemetry' | 'service'>, served: Served): Exchanges {
  const { limits } = deps;
  const { settings } = deps.service;
  const { log } = deps.telemetry;
  const endpoint = createEndpoint((error) => log.debug({ why: error.name }, 'an MCP message was refused by the library'));
  const calls = callsInProgress();
  /** Open streams by client, on which a changed list is told. */
  const openStreams = new Map<string, number>();
  const changeTimer = setInterval(() => served.hasChanged?.() && endpoint.toolsChanged(), CHANGE_CHECK_MS);
  changeTimer.unref();

  return {
    async answer(request, message, arrived) {
      cancelNamedCall(request, message);
      if (isListen(message)) await admitStream(request, arrived.gone);
      return isToolCall(message) ? answerCall(request, message, arrived) : answerOther(request, message, arrived);
    },
    close() {
      clearInterval(changeTimer);
      return endpoint.close();
    },
  };

  /** In the versions with `initialize` a call is cancelled by another message; in 2026-07-28 by closing its stream. */
  function cancelNamedCall(request: FastifyRequest, message: unknown): void {
    if (!isRecord(message) || message['method'] !== 'notifications/cancelled' || !isRecord(message['params'])) return;
    if (request.headers['mcp-protocol-version'] === STATELESS_VERSION) return;
    calls.cancel(callKey(request, idOf({ id: message['params']['requestId'] })));
  }

  /** Counts the client's stream until it ends. @throws Failure `RATE_LIMITED` */
  async function admitStream(request: FastifyRequest, gone: AbortSignal): Promise<void> {
    const { key, multiple } = clientOf(deps, request);
    const open = openStreams.get(key) ?? 0;
    if (limits.flood !== undefined && open >= settings.events.perClient * multiple) throw await tooManyStreams(deps, request);
    openStreams.set(key, open + 1);
    onAbort(gone, () => {
      const left = (openStreams.get(key) ?? 1) - 1;
      if (left > 0) openStreams.set(key, left);
      else openStreams.delete(key);
    });
  }

  /** A call is charged before it begins, can be cancelled while it lasts, and is refunded at its end where no work was done. */
  async function answerCall(request: FastifyRequest, message: ToolCallMessage, arrived: Arrived): Promise<Response> {
    const { streams, gone } = arrived;
    const id = deps.service.newId();
    const share = await reserveShare(request, id, message.params.name);
    const logFailedRefund = (err: unknown) => request.log.warn({ err }, 'a reserved share could not be refunded');
    const charge = chargeOf(share, logFailedRefund);
    const cancelled = new AbortController();
    const forgetCall = calls.add(callKey(request, idOf(message)), () => cancelled.abort(new Error('the client cancelled the call')));
    const end = async () => {
      forgetCall();
      await charge.refundUnlessBegun();
    };
    try {
      const context = { ...contextOf(request, arrived, id), share, takeArguments: () => takeArguments(message) };
      const make = served.factoryFor(request, context, charge);
      const response = await endpoint.answer(message, headersFor(request), streams, AbortSignal.any([gone, cancelled.signal]), make);
      if (isStream(response) && !gone.aborted) onAbort(gone, () => void end().catch(logFailedRefund));
      else await end();
      return response;
    } catch (error) {
      await end().catch(logFailedRefund);
      throw error;
    }
  }

  /** What calls no tool costs nothing. */
  async function answerOther(request: FastifyRequest, message: unknown, arrived: Arrived): Promise<Response> {
    const context = { ...contextOf(request, arrived, deps.service.newId()), share: NO_SHARE, takeArguments: () => ({}) };
    const make = served.factoryFor(request, context, { began: () => {}, ended: async () => {} });
    return endpoint.answer(message, headersFor(request), arrived.streams, arrived.gone, make);
  }

  /** @throws Failure `RATE_LIMITED`, `BANNED`, `OVERLOADED` */
  async function reserveShare(request: FastifyRequest, job: string, tool: string): Promise<ReservedShare> {
    if (!served.works(tool)) return NO_SHARE;
    refuseWhileStopping(deps);
    return reserve(limits.limiter, clientOf(deps, request), { via: 'mcp', jobs: [job], tool });
  }

  function contextOf(request: FastifyRequest, { streams, release }: Arrived, id: string): Omit<ToolCallContext, 'share' | 'takeArguments'> {
    return {
      id,
      client: clientOf(deps, request).key,
      streams,
      requestId: request.id,
      dueAt: performance.now() + settings.mcp.answerMs,
      release,
      log: request.log,
    };
  }

  /** What a call is found by to be cancelled: its client's address and program, and its id. Undefined where many people share an address. */
  function callKey(request: FastifyRequest, id: Id): string | undefined {
    const { key, multiple } = clientOf(deps, request);
    return multiple > 1 || id === null ? undefined : JSON.stringify([key, request.headers['user-agent'] ?? '', id]);
  }
}

const isListen = (message: unknown): boolean => isRecord(message) && message['method'] === 'subscriptions/listen';

interface ToolCallMessage {
  readonly params: { readonly name: string; arguments?: Record<string, unknown> };
}

function isToolCall(message: unknown): message is ToolCallMessage {
  if (!isRecord(message) || message['method'] !== 'tools/call' || idOf(message) === null) return false;
  const { params } = message;
  return isRecord(params) && typeof params['name'] === 'string' && (params['arguments'] === undefined || isRecord(params['arguments']));
}

function takeArguments({ params }: ToolCallMessage): Record<string, unknown> {
  const args = params.arguments ?? {};
  params.arguments = {};
  return args;
}

interface Charge extends CallListener {
  /** For a call that the library refused before a tool was called. */
  readonly refundUnlessBegun: () => Promise<void>;
}

/** What a call costs its client. */
function chargeOf(share: ReservedShare, logFailedRefund: (error: unknown) => void): Charge {
  let hasBegun = false;
  return {
    began() {
      hasBegun = true;
    },
    // A tool's own answer, or failure, is what the client is to read.
    ended: async (status) => (REFUNDED_STATUSES.has(status) ? share.refund().catch(logFailedRefund) : undefined),
    refundUnlessBegun: async () => (hasBegun ? undefined : share.refund()),
  };
}

/** The headers that the library reads. It requires both media types in Accept; ours was checked before. */
function headersFor({ headers }: FastifyRequest): Headers {
  const own = Object.entries(headers).filter(
    (header): header is [string, string] => header[0].startsWith('mcp-') && typeof header[1] === 'string',
  );
  return new Headers([['content-type', 'application/json'], ['accept', 'application/json, text/event-stream'], ...own]);
}

export const isStream = ({ headers }: Response): boolean => headers.get('content-type')?.startsWith('text/event-stream') === true;

/** Calls in progress, by `callKey`: a client of the older versions cancels one by another message, which names only the call's id. */
interface CallsInProgress {
  /** @param key undefined: it cannot be cancelled @returns unsubscribe */
  add(key: string | undefined, cancel: () => void): () => void;
  /** Where several calls cannot be distinguished, none is cancelled: the message may be ignored (specification, "Cancellation"). */
  cancel(key: string | undefined): void;
}

function callsInProgress(): CallsInProgress {
  const calls = new Map<string, Set<() => void>>();
  return {
    add(key, cancel) {
      if (key === undefined) return () => {};
      const same = calls.get(key) ?? new Set();
      calls.set(key, same.add(cancel));
      return () => {
        same.delete(cancel);
        if (same.size === 0) calls.delete(key);
      };
    },
    cancel(key) {
      const same = key === undefined ? [] : [...(calls.get(key) ?? [])];
      if (same.length === 1) same[0]?.();
    },
  };
}
