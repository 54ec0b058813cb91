/** The only importer of the MCP library. Each message gets its own server object, so that no answer can reach another client. */
import {
  type CallToolResult,
  createMcpHandler,
  type GetPromptResult,
  isLegacyRequest,
  type jsonSchemaValidator,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type ResourceTemplateType as ResourceTemplate,
  Server,
  type Tool,
  validateOriginHeader,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { onAbort } from '../../../streams/abort.ts';

/** Versions that begin with `initialize`; a client that asks for an unknown version is offered the first. */
export const HANDSHAKE_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26'];
/** The version without `initialize`: each request is self-contained. */
export const STATELESS_VERSION = '2026-07-28';

/** How long a client may cache a list that seldom changes, ms. */
const LIST_TTL_MS = 300_000;
/** Interval of SSE comments, which keep proxies from closing a silent stream, ms. */
const KEEP_ALIVE_MS = 15_000;

export type { CallToolResult, GetPromptResult, Prompt, ReadResourceResult, ResourceTemplate, Tool };

export interface ToolCall {
  readonly name: string;
  /** As sent. */
  readonly args: Record<string, unknown>;
  /** Sends progress to the client, where it asked for it. @param percent must grow */
  readonly progress: ((percent: number, says: string) => void) | undefined;
  /** Aborted when the client hangs up or cancels the call. */
  readonly signal: AbortSignal;
}

/** What serves one message. */
export interface McpSurface {
  readonly name: string;
  readonly title: string;
  readonly version: string;
  readonly instructions: string;
  readonly tools: readonly Tool[];
  readonly call: (call: ToolCall) => Promise<CallToolResult>;
  readonly prompts: readonly Prompt[];
  readonly prompt: (name: string, args: Readonly<Record<string, string>> | undefined) => GetPromptResult;
  readonly resourceTemplates: readonly ResourceTemplate[];
  readonly readResource: (uri: string) => Promise<ReadResourceResult>;
}

/** @param listens whether the client can be told of a changed list: the versions before 2026-07-28 have no stream for that here */
export type Factory = (listens: boolean) => Server;

/** We send clients no requests, so their answers need no validation; creating the library's validator costs a millisecond. */
const noJudge: jsonSchemaValidator = {
  getValidator: () => () => ({ valid: false, data: undefined, errorMessage: 'not validated' }),
};

export function serverFor(surface: McpSurface, listens: boolean): Server {
  const { name, title, version, instructions, tools, call } = surface;
  const cacheHint = { ttlMs: LIST_TTL_MS, cacheScope: 'public' } as const;
  const server = new Server(
    { name, title, version },
    {
      capabilities: { tools: listens ? { listChanged: true } : {}, prompts: {}, resources: {} },
      instructions,
      supportedProtocolVersions: [...HANDSHAKE_VERSIONS],
      jsonSchemaValidator: noJudge,
      cacheHints: {
        'tools/list': cacheHint,
        'prompts/list': cacheHint,
        'resources/list': cacheHint,
        'resources/templates/list': cacheHint,
        // A result has the address that its owner alone knows.
        'resources/read': { ttlMs: 0, cacheScope: 'private' },
        'server/discover': cacheHint,
      },
    },
  );
  const known = new Set(tools.map((tool) => tool.name));
  // Each list has one page: no cursor was ever issued.
  const onePage = (cursor: string | undefined) => {
    if (cursor !== undefined) throw invalidParams('There is no such cursor.');
  };
  server.setRequestHandler('tools/list', ({ params }) => {
    onePage(params?.cursor);
    return { tools: [...tools] };
  });
  server.setRequestHandler('prompts/list', ({ params }) => {
    onePage(params?.cursor);
    return { prompts: [...surface.prompts] };
  });
  server.setRequestHandler('prompts/get', ({ params }) => surface.prompt(params.name, params.arguments));
  server.setRequestHandler('resources/list', ({ params }) => {
    onePage(params?.cursor);
    // A result is known to those only who have its address.
    return { resources: [] };
  });
  server.setRequestHandler('resources/templates/list', ({ params }) => {
    onePage(params?.cursor);
    return { resourceTemplates: [...surface.resourceTemplates] };
  });
  server.setRequestHandler('resources/read', ({ params }) => surface.readResource(params.uri));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    if (!known.has(params.name))
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no tool with this name; tools/list lists all tools.');
    const token = mcpReq._meta?.progressToken;
    const tell = (progress: number, message: string) =>
      void mcpReq
        .notify({ method: 'notifications/progress', params: { progressToken: token, progress, total: 100, message } })
        // The client has hung up: the signal is aborted, too.
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

export const invalidParams = (message: string): Error => new ProtocolError(ProtocolErrorCode.InvalidParams, message);

/** "Resource not found" of the specification, "Resources". */
const RESOURCE_NOT_FOUND = -32_002;
/** @param data our error */
export const resourceNotFound = (message: string, data: unknown): Error => new ProtocolError(RESOURCE_NOT_FOUND, message, data);

/** A JSON-RPC error for failures outside a tool. @param data our error */
export const protocolError = (code: number, message: string, data?: unknown): Error => new ProtocolError(code, message, data);

export interface Endpoint {
  /** @param message parsed @param streams whether the client takes server-sent events, and this answer needs them */
  answer(message: unknown, headers: Headers, streams: boolean, gone: AbortSignal, make: Factory): Promise<Response>;
  /** Tells the clients that listen that `tools/list` has changed. */
  toolsChanged(): void;
  close(): Promise<void>;
}

/** @param onError called with clients' errors and internal ones */
export function createEndpoint(onError: (error: Error) => void): Endpoint {
  const factories = new WeakMap<Request, Factory>();
  const stateless = createMcpHandler(
    ({ requestInfo }) => {
      const make = requestInfo === undefined ? undefined : factories.get(requestInfo);
      if (make === undefined) throw new Error('a request without a server');
      return make(true);
    },
    { legacy: 'reject', onerror: onError, keepAliveMs: KEEP_ALIVE_MS },
  );
  return {
    async answer(message, headers, streams, gone, make) {
      // Only the path matters: the host was checked before.
      const request = new Request('http://filemill.invalid/mcp', { method: 'POST', headers, signal: gone });
      if (await isLegacyRequest(request, message)) return afterHandshake(request, message, streams, gone, make, onError);
      factories.set(request, make);
      return stateless.fetch(request, { parsedBody: message });
    },
    toolsChanged: () => stateless.notify.toolsChanged(),
    close: () => stateless.close(),
  };
}

/** The versions before 2026-07-28: each request is handled as the only one of its session. */
async function afterHandshake(
  request: Request,
  message: unknown,
  streams: boolean,
  gone: AbortSignal,
  make: Factory,
  onError: (error: Error) => void,
): Promise<Response> {
  const server = make(false);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: !streams, keepAliveMs: KEEP_ALIVE_MS });
  server.onerror = onError;
  await server.connect(transport);
  const close = () => void server.close().catch(onError);
  const closed = Promise.withResolvers<Response>();
  const unsubscribe = onAbort(gone, () => {
    close();
    // A cancelled call gets no answer (specification, "Cancellation"), and the transport would keep it open for ever.
    closed.resolve(new Response(null, { status: 202 }));
  });
  const response = await Promise.race([transport.handleRequest(request, { parsedBody: message }), closed.promise]);
  if (!streams || response.body === null || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
    unsubscribe();
    close();
  }
  return response;
}

/** A request without an Origin does not come from a browser. @param allowed host names without scheme and port */
export const isAllowedOrigin = (origin: string | undefined, allowed: readonly string[]): boolean =>
  allowed.includes('*') || validateOriginHeader(origin, [...allowed]).ok;
