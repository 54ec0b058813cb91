/** The clients that assistants are made of: the first and the second generation of the official library, and the Inspector's command line. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client as SecondClient, StreamableHTTPClientTransport as SecondTransport } from '@modelcontextprotocol/client';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recording, type ToolResult, upload } from '../kit/assistant.ts';
import { checkout, type Service, startService } from '../kit/service.ts';
import { eventually, storedIn } from '../kit/wire.ts';

const run = promisify(execFile);
const inspector = join(checkout, 'test/mcp/node_modules/.bin/mcp-inspector');
const TABLE = 'name,size\nkestrel,7\n';

let service: Service;
let origin: Server;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-inspector-'));
  origin = createServer((_request, response) => response.end(TABLE));
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  const { port } = origin.address() as AddressInfo;
  service = await startService({ fetch: { http: true, ports: [port], allow: ['127.0.0.1/32'] } });
});
afterAll(async () => {
  await service?.stop();
  origin?.close();
  await rm(home, { recursive: true, force: true });
});

/** One client, however it speaks. */
interface Assistant {
  list(): Promise<readonly { readonly name: string }[]>;
  call(name: string, args: Readonly<Record<string, unknown>>, told?: (progress: number) => void, signal?: AbortSignal): Promise<ToolResult>;
  close(): Promise<void>;
}

async function first(): Promise<Assistant> {
  const client = new FirstClient({ name: 'first', version: '1' });
  await client.connect(new FirstTransport(new URL(`${service.url}/mcp`)) as Parameters<typeof client.connect>[0]);
  return {
    // It keeps what the list says of results, and judges each by it.
    list: async () => (await client.listTools()).tools,
    call: async (name, args, told, signal) =>
      (await client.callTool({ name, arguments: { ...args } }, undefined, {
        ...(told === undefined ? {} : { onprogress: ({ progress }) => told(progress) }),
        ...(signal === undefined ? {} : { signal }),
      })) as ToolResult,
    close: () => client.close(),
  };
}

const second = (mode: 'legacy' | 'auto' | { pin: string }) => async (): Promise<Assistant> => {
  const client = new SecondClient({ name: 'second', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(new SecondTransport(new URL(`${service.url}/mcp`)));
  return {
    list: async () => (await client.listTools()).tools,
    call: async (name, args, told, signal) =>
      (await client.callTool(
        { name, arguments: { ...args } },
        { ...(told === undefined ? {} : { onprogress: ({ progress }) => told(progress) }), ...(signal === undefined ? {} : { signal }) },
      )) as ToolResult,
    close: () => client.close(),
  };
};

async function commandLine(): Promise<Assistant> {
  const ask = async (...args: string[]) => {
    const options = { env: { PATH: process.env['PATH'], HOME: home }, maxBuffer: 1 << 24 };
    const command = [inspector, '--cli', `${service.url}/mcp`, '--transport', 'http', ...args];
    const { stdout } = await run(process.execPath, command, options).catch((error: { code?: number; stdout: string; stderr: string }) => {
      // The result was told, and is an error.
      if (error.stderr.includes('"tool_is_error"')) return error;
      throw error;
    });
    return JSON.parse(stdout) as { tools: { name: string }[] } & ToolResult;
  };
  return {
    // Strict: it fails where a schema would not be taken by every model's provider.
    list: async () => (await ask('--method', 'tools/list', '--strict')).tools,
    call: (name, args) =>
      ask('--method', 'tools/call', '--tool-name', name, '--tool-arg', ...Object.entries(args).map(([key, value]) => `${key}=${value}`)),
    close: async () => {},
  };
}

describe.each<[string, () => Promise<Assistant>]>([
  ['the client of sdk 1', first],
  ['the client of version 2 in 2026-07-28', second({ pin: '2026-07-28' })],
  ['the client of version 2 that finds out', second('auto')],
  ['the client of version 2 with initialize', second('legacy')],
  ['the Inspector', commandLine],
])('%s', (_, connect) => {
  let assistant: Assistant;
  beforeAll(async () => {
    assistant = await connect();
  });
  afterAll(() => assistant?.close());

  it('lists the 19 tools', async () => {
    const names = (await assistant.list()).map(({ name }) => name);
    expect(names).toHaveLength(19);
    expect(names).toEqual(expect.arrayContaining(['convert_file', 'merge_pdfs', 'get_job_status', 'list_supported_formats']));
  });

  it.each<[string, () => Promise<string>]>([
    ['base64', async () => Buffer.from(TABLE).toString('base64')],
    ['a URL', async () => `http://127.0.0.1:${(origin.address() as AddressInfo).port}/birds.csv`],
    ['an upload', () => upload(service.url, TABLE, 'birds.csv')],
  ])('converts a file given as %s, and downloads the result', async (_way, file) => {
    const result = await assistant.call('convert_file', { file: await file(), filename: 'birds.csv', to_format: 'html' });
    expect(result.structuredContent).toMatchObject({ status: 'done', output: { filename: 'birds-filemill.html' } });
    const link = result.content?.find(({ type }) => type === 'resource_link');
    expect(await (await fetch(link?.uri ?? '')).text()).toContain('kestrel');
  });

  it('is told what it can mend', async () => {
    const result = await assistant.call('convert_file', { file: Buffer.from(TABLE).toString('base64'), to_format: 'mp3' });
    expect(result).toMatchObject({ isError: true });
    expect(result.content?.[0]?.text).toContain('INVALID_FORMAT');
  });
});

describe.each<[string, () => Promise<Assistant>]>([
  ['the client of sdk 1', first],
  ['the client of version 2 in 2026-07-28', second({ pin: '2026-07-28' })],
])('%s, while it waits', (_, connect) => {
  it('hears of progress, and can stop the work', async () => {
    const assistant = await connect();
    const told: number[] = [];
    const file = await upload(service.url, recording(300), 'long.wav');
    const stop = new AbortController();
    const answer = assistant.call(
      'convert_file',
      { file, to_format: 'm4a', audio_bitrate: 512 },
      (progress) => told.push(progress),
      stop.signal,
    );
    const failed = answer.catch(() => 'stopped');
    await eventually(() => storedIn(service.dataDir).states.includes('running'), 'a job that runs');
    await eventually(() => told.length > 0, 'progress');
    stop.abort();
    expect(await failed).toBe('stopped');
    await eventually(() => !storedIn(service.dataDir).states.includes('running'), 'no job that runs');
    expect(storedIn(service.dataDir).states).toContain('cancelled');
    await assistant.close();
  });
});
