/** An assistant's side of `/mcp`, written by hand: what is sent is what a test says, in every version of the protocol. */
import { waveHead } from '../catalog/wave.ts';

export const VERSIONS = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const;
export type Version = (typeof VERSIONS)[number];

export interface RpcAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The last message: the answer itself. */
  readonly body: RpcBody | undefined;
  /** All of them, where they came as events. */
  readonly events: readonly RpcBody[];
}

export interface RpcBody {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>> & ToolResult;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: { readonly code: string; readonly details: Readonly<Record<string, unknown>> };
  };
}

export interface ToolResult {
  readonly isError?: boolean;
  readonly content?: readonly {
    readonly type: string;
    readonly text?: string;
    readonly uri?: string;
    readonly name?: string;
    readonly size?: number;
  }[];
  readonly structuredContent?: Readonly<Record<string, unknown>> & {
    readonly job_id?: string;
    readonly status?: string;
    readonly output?: { readonly url: string; readonly filename: string; readonly size_bytes: number };
  };
}

/** What a request of this version carries beside itself. */
export function asVersion(
  version: Version,
  message: Readonly<Record<string, unknown>>,
): { readonly message: object; readonly headers: Record<string, string> } {
  if (version === '2025-03-26') return { message, headers: {} };
  if (version !== '2026-07-28') return { message, headers: { 'mcp-protocol-version': version } };
  const params = (message['params'] ?? {}) as Record<string, unknown>;
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
    ...((params['_meta'] ?? {}) as object),
  };
  const name = params['name'];
  return {
    message: { ...message, params: { ...params, _meta } },
    headers: {
      'mcp-protocol-version': version,
      'mcp-method': String(message['method']),
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
    },
  };
}

/** @param body a message, or a text or bytes that are sent as they are */
export async function post(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<RpcAnswer> {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
  return readRpc(response);
}

export async function readRpc(response: Response): Promise<RpcAnswer> {
  const { status, headers } = response;
  const text = await response.text();
  if (text === '') return { status, headers, body: undefined, events: [] };
  if (!headers.get('content-type')?.startsWith('text/event-stream'))
    return { status, headers, body: JSON.parse(text) as RpcBody, events: [] };
  const events = text.split('\n\n').flatMap((block) => {
    const data = /^data: (.*)$/m.exec(block)?.[1];
    return data === undefined || data === '' ? [] : [JSON.parse(data) as RpcBody];
  });
  return { status, headers, body: events.at(-1), events };
}

export const send = (
  url: string,
  version: Version,
  message: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<RpcAnswer> => {
  const dressed = asVersion(version, message);
  return post(url, dressed.message, { ...dressed.headers, ...headers });
};

/** Calls a tool in the version most clients speak. @throws when the protocol refuses */
export async function call(
  url: string,
  name: string,
  args: object = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<ToolResult> {
  const { body, status } = await send(
    url,
    '2025-11-25',
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
    headers,
  );
  if (body?.result === undefined) throw new Error(`${name}: ${status} ${JSON.stringify(body)}`);
  return body.result;
}

/** The code of a refusal that a model reads, and its details. */
export function refusalIn({ isError, content }: ToolResult): {
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
} {
  const text = content?.[0]?.text ?? '';
  if (isError !== true) throw new Error(`this is no refusal: ${text}`);
  const at = text.lastIndexOf('\n');
  const { error } = JSON.parse(text.slice(at + 1)) as { error: Omit<ReturnType<typeof refusalIn>, 'message'> };
  return { ...error, message: text.slice(0, at) };
}

/** Sends a file ahead of the call that uses it. @returns its upload id */
export async function upload(url: string, content: string | Uint8Array, name: string): Promise<string> {
  const body = new FormData();
  body.set('file', new Blob([typeof content === 'string' ? content : new Uint8Array(content)]), name);
  const response = await fetch(`${url}/api/v1/uploads`, { method: 'POST', body });
  return ((await response.json()) as { data: { upload_id: string } }).data.upload_id;
}

/** Noise at 48 kHz, 16 bit, one channel: it takes a while to encode. */
export function recording(seconds: number): Buffer {
  const size = seconds * 96_000;
  const wave = Buffer.concat([waveHead({ dataBytes: size, rate: 48_000 }), Buffer.alloc(size)]);
  for (let at = 44; at < wave.length; at += 4) wave.writeInt32LE((at * 2_654_435_761) | 0, at);
  return wave;
}
