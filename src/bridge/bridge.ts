/** MCP over standard input and output for assistants on this machine: forwards each message to a server's `/mcp`, and files on the way. */

import { isRecord } from '../contracts/json.ts';
import { type Folders, PathRefused } from './folders.ts';
import { saveResult, uploadLocal, withLocalFiles } from './local-files.ts';
import { parsed, refusalIn, ServerRefusal, serverUnreachable } from './refusal.ts';
import { askServer, type Server } from './server.ts';
import { forget } from './transfer.ts';

type Message = Readonly<Record<string, unknown>>;

export interface Bridge {
  /** One line of input. Never throws: what fails is answered. */
  take(line: string): Promise<void>;
  /** Stops what is under way. */
  close(): void;
}

/** Longest wait for the next byte of an answer, ms: a server answers a call within 25 s, and sends comments on an open stream. */
const SILENCE_MS = 90_000;
/** A message with files in it, characters. */
const MOST_LINE = 32 << 20;
/** In the versions that begin with it, a client learns here which version follows. */
const INITIALIZE = 'initialize';
const STATELESS_VERSION = '2026-07-28';
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';

/** @param server without `/mcp` @param send writes one message to the client @param failed called with what the client is told only in general */
export function bridgeTo(server: Server, folders: Folders, send: (message: unknown) => void, failed: (error: unknown) => void): Bridge {
  const under = new Map<unknown, AbortController>();
  let version: string | undefined;

  async function forward(message: Message, signal: AbortSignal, told: (answer: Message) => void): Promise<void> {
    const silence = new AbortController();
    const late = setTimeout(() => silence.abort(), SILENCE_MS);
    try {
      const response = await askServer(server, '/mcp', {
        method: 'POST',
        headers: mcpHeaders(message, version),
        body: JSON.stringify(message),
        signal: AbortSignal.any([signal, silence.signal]),
      });
      const streams = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
      let text = '';
      for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        late.refresh();
        text += chunk;
        if (!streams) continue;
        const events = text.split('\n\n');
        text = events.pop() ?? '';
        for (const event of events) for (const one of messagesIn(event)) told(one);
      }
      if (streams || (response.ok && text === '')) return;
      const answer = parsed(text);
      // A proxy in front, or another program, answers in its own way.
      if (!isRecord(answer) || answer['jsonrpc'] === undefined)
        throw refusalIn(server, { status: response.status, headers: response.headers, text });
      told(withId(answer, message['id']));
    } finally {
      clearTimeout(late);
    }
  }

  /** @returns once the message is answered */
  async function answer(message: Message, signal: AbortSignal): Promise<void> {
    const uploads: string[] = [];
    try {
      await answerWith(message, signal, uploads);
    } finally {
      await forget(server, uploads);
    }
  }

  async function answerWith(message: Message, signal: AbortSignal, uploads: string[]): Promise<void> {
    const { id, method, params } = message;
    const args = method === 'tools/call' && isRecord(params) && isRecord(params['arguments']) ? params['arguments'] : {};
    const sent = Object.keys(args).length === 0 ? args : await uploadLocal(server, folders, args, signal, uploads);
    const inner = method === 'tools/call' && isRecord(params) ? { ...message, params: { ...params, arguments: sent } } : message;
    let last: Message | undefined;
    await forward(inner, signal, (one) => {
      if (id !== undefined && one['id'] === id) last = one;
      else send(one);
    });
    if (last === undefined) return;
    const { result } = last;
    if (!isRecord(result)) return send(last);
    if (method === INITIALIZE) version = String(result['protocolVersion'] ?? '');
    if (method === 'tools/list') return send({ ...last, result: { ...result, tools: withLocalFiles(result['tools'], folders) } });
    if (method === 'tools/call') return send({ ...last, result: await saveResult(server, folders, args, result, signal) });
    send(last);
  }

  /** @returns undefined where the client wants no answer */
  function refusal({ id, method }: Message, error: unknown): Message | undefined {
    if (id === undefined) return undefined;
    if (error instanceof PathRefused && method === 'tools/call')
      return { jsonrpc: '2.0', id, result: { isError: true, content: [{ type: 'text', text: error.message }] } };
    return {
      jsonrpc: '2.0',
      id,
      error: { code: -32_603, message: error instanceof ServerRefusal ? error.message : serverUnreachable(server, error).message },
    };
  }

  return {
    async take(line) {
      const message = read(line);
      if (message === undefined)
        return send({ jsonrpc: '2.0', id: null, error: { code: -32_700, message: 'The line is not a JSON-RPC message.' } });
      const { id, method, params } = message;
      // Its connection is closed: that stops the work in every version.
      if (method === 'notifications/cancelled') return under.get(isRecord(params) ? params['requestId'] : undefined)?.abort();
      const stop = new AbortController();
      if (id !== undefined) under.set(id, stop);
      try {
        await answer(message, stop.signal);
      } catch (error) {
        if (!stop.signal.aborted && !(error instanceof PathRefused)) failed(error);
        const said = stop.signal.aborted ? undefined : refusal(message, error);
        if (said !== undefined) send(said);
      } finally {
        under.delete(id);
      }
    },
    close() {
      for (const stop of under.values()) stop.abort();
    },
  };
}

function read(line: string): Message | undefined {
  if (line.length > MOST_LINE) return undefined;
  try {
    const message: unknown = JSON.parse(line);
    return isRecord(message) ? message : undefined;
  } catch {
    return undefined;
  }
}

function mcpHeaders({ method, params }: Message, negotiated: string | undefined): Record<string, string> {
  const meta = isRecord(params) ? params['_meta'] : undefined;
  const own = isRecord(meta) ? meta[VERSION_KEY] : undefined;
  const version = typeof own === 'string' ? own : negotiated;
  const name = isRecord(params) ? (params['name'] ?? params['uri']) : undefined;
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(version === undefined || method === INITIALIZE ? {} : { 'mcp-protocol-version': version }),
    ...(version === STATELESS_VERSION ? { 'mcp-method': String(method), ...(typeof name === 'string' ? { 'mcp-name': name } : {}) } : {}),
  };
}

/** The messages of one server-sent event; a comment has none. */
function messagesIn(event: string): readonly Message[] {
  const data = event
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).trimStart())
    .join('\n');
  return data === '' ? [] : [JSON.parse(data) as Message];
}

/** A refusal before the message was read has no id. */
const withId = (answer: Message, id: unknown): Message => (answer['id'] === null && id !== undefined ? { ...answer, id } : answer);
