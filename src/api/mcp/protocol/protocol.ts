/** The one door to the protocol's library: a server object of its own for each message, so that no answer can reach another client. */
import {
  type CallToolResult,
  createMcpHandler,
  isLegacyRequest,
  type jsonSchemaValidator,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type Tool,
  validateHostHeader,
  validateOriginHeader,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { onAbort } from '../../../streams/abort.ts';

/** Those that begin with `initialize`; the first is answered to a client that asks for one that is none of them. */
export const HANDSHAKE_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26'];
/** The one in which each request says all about itself. */
export const STATELESS_VERSION = '2026-07-28';

/** How long a client may believe a list that changes with a restart only, ms. */
const LIST_TTL_MS = 300_000;
/** SSE comments keep proxies from closing what is silent, ms. */
const KEEP_ALIVE_MS = 15_000;

export type { CallToolResult, Tool };

export interface ToolCall {
  readonly name: string;
  /** As sent. */
  readonly args: Record<string, unknown>;
  /** Tells the client how far the work is, where it asked to be told. @param percent grows */
  readonly progress: ((percent: number, says: string) => void) | undefined;
  /** Aborted when the client is gone, or does not want it any more. */
  readonly signal: AbortSignal;
}

/** What one message meets. */
export interface Surface {
  readonly name: string;
  readonly title: string;
  readonly version: string;
  readonly instructions: string;
  readonly tools: readonly Tool[];
  readonly call: (call: ToolCall) => Promise<CallToolResult>;
}

export type Factory = () => Server;

/** Nothing is asked of clients, so nothing of theirs is judged; the library's own judge costs a millisecond to make. */
const noJudge: jsonSchemaValidator = {
  getValidator: () => () => ({ valid: false, data: undefined, errorMessage: 'not judged here' }),
};

export function serverFor({ name, title, version, instructions, tools, call }: Surface): Server {
  const cacheHint = { ttlMs: LIST_TTL_MS, cacheScope: 'public' } as const;
  const server = new Server(
    { name, title, version },
    {
      capabilities: { tools: {} },
      instructions,
      supportedProtocolVersions: [...HANDSHAKE_VERSIONS],
      jsonSchemaValidator: noJudge,
      cacheHints: { 'tools/list': cacheHint, 'server/discover': cacheHint },
    },
  );
  const known = new Set(tools.map((tool) => tool.name));
  server.setRequestHandler('tools/list', ({ params }) => {
    // The list has one page: nobody was given a cursor.
    if (params?.cursor !== undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such cursor.');
    return { tools: [...tools] };
  });
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    if (!known.has(params.name))
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no tool of this name; tools/list names all.');
    const token = mcpReq._meta?.progressToken;
    const tell = (progress: number, message: string) =>
      void mcpReq
        .notify({ method: 'notifications/progress', params: { progressToken: token, progress, total: 100, message } })
        // The client has gone: the signal says so too.
        .catch(() => undefined);
    return call({
      name: params.name,
      args: params.arguments ?? {},
      progress: token === undefined ? undefined : tell,
      signal: mcpReq.signal,
    });
  });
  return server;
}

/** An answer inside the protocol to what is no tool's own failure. @param data our error */
export const protocolError = (code: number, message: string, data?: unknown): Error => new ProtocolError(code, message, data);

export interface Endpoint {
  /** @param message parsed @param streams whether the client takes server-sent events, and this answer needs them */
  answer(message: unknown, headers: Headers, streams: boolean, gone: AbortSignal, make: Factory): Promise<Response>;
  close(): Promise<void>;
}

/** @param onError hears what clients did wrong, and what went wrong here */
export function createEndpoint(onError: (error: Error) => void): Endpoint {
  const factories = new WeakMap<Request, Factory>();
  const stateless = createMcpHandler(
    ({ requestInfo }) => {
      const make = requestInfo === undefined ? undefined : factories.get(requestInfo);
      if (make === undefined) throw new Error('a request without a server');
      return make();
    },
    { legacy: 'reject', onerror: onError, keepAliveMs: KEEP_ALIVE_MS },
  );
  return {
    async answer(message, headers, streams, gone, make) {
      // Only the path matters: which host was asked is judged before.
      const request = new Request('http://filemill.invalid/mcp', { method: 'POST', headers, signal: gone });
      if (await isLegacyRequest(request, message)) return afterHandshake(request, message, streams, gone, make, onError);
      factories.set(request, make);
      return stateless.fetch(request, { parsedBody: message });
    },
    close: () => stateless.close(),
  };
}

/** The versions before 2026-07-28, each request as if it were the only one of its session. */
async function afterHandshake(
  request: Request,
  message: unknown,
  streams: boolean,
  gone: AbortSignal,
  make: Factory,
  onError: (error: Error) => void,
): Promise<Response> {
  const server = make();
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: !streams, keepAliveMs: KEEP_ALIVE_MS });
  server.onerror = onError;
  await server.connect(transport);
  const close = () => void server.close().catch(onError);
  const closed = Promise.withResolvers<Response>();
  const unsubscribe = onAbort(gone, () => {
    close();
    // Whoever cancelled wants no answer (specification, "Cancellation"), and the transport would let them wait for ever.
    closed.resolve(new Response(null, { status: 202 }));
  });
  const response = await Promise.race([transport.handleRequest(request, { parsedBody: message }), closed.promise]);
  if (!streams || response.body === null || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
    unsubscribe();
    close();
  }
  return response;
}

/** @param host the header, or nothing @param allowed names without port */
export const isAllowedHost = (host: string | undefined, allowed: readonly string[]): boolean => validateHostHeader(host, [...allowed]).ok;

/** A caller that names no page is no browser. @param allowed host names without scheme and port */
export const isAllowedOrigin = (origin: string | undefined, allowed: readonly string[]): boolean =>
  allowed.includes('*') || validateOriginHeader(origin, [...allowed]).ok;
