/** The clients that assistants are made of: the first and the second generation of the official library, and the Inspector's command line. */
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Client as SecondClient, StreamableHTTPClientTransport as SecondTransport } from '@modelcontextprotocol/client';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recording, type ToolResult, upload } from '../../kit/api/assistant.ts';
import { startGuard } from '../../kit/api/guard.ts';
import { eventually, storedIn } from '../../kit/api/wire.ts';
import { checkout, type Service, startService } from '../../kit/roles/service.ts';

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
  /** A result by its address. The Inspector's clients are tested by the others. */
  readonly read?: (uri: string) => Promise<readonly { readonly mimeType?: string | undefined; readonly text?: string }[]>;
  readonly prompts?: () => Promise<readonly { readonly name: string }[]>;
  readonly prompt?: (name: string, args: Record<string, string>) => Promise<object>;
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
    read: async (uri) => (await client.readResource({ uri })).contents,
    prompts: async () => (await client.listPrompts()).prompts,
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
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
    read: async (uri) => (await client.readResource({ uri })).contents,
    prompts: async () => (await client.listPrompts()).prompts,
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
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

  it('lists the 20 tools', async () => {
    const names = (await assistant.list()).map(({ name }) => name);
    expect(names).toHaveLength(20);
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

  it('reads a result as a resource, and has prompts', async () => {
    const { read, prompts, prompt } = assistant;
    if (read === undefined || prompts === undefined || prompt === undefined) return;
    const file = Buffer.from(TABLE).toString('base64');
    const { structuredContent } = await assistant.call('convert_file', { file, filename: 'birds.csv', to_format: 'html' });
    const [content] = await read(structuredContent?.output?.url ?? '');
    expect(content).toMatchObject({ mimeType: 'text/html', text: expect.stringContaining('kestrel') });
    await expect(read(`${service.url}/api/v1/jobs/0123456789abcdef0123456789abcdef/output`)).rejects.toThrow('There is no such job.');
    await expect(read(`${service.url}/api/v1/health`)).rejects.toThrow('not to the output of a job');
    expect((await prompts()).map(({ name }) => name)).toEqual(expect.arrayContaining(['convert', 'make_smaller', 'read_document']));
    const asked = JSON.stringify(await prompt('convert', { file: 'https://example.org/a.docx', to_format: 'pdf' }));
    expect(asked).toContain('Convert https://example.org/a.docx to pdf with convert_file.');
    await expect(prompt('convert', { file: 'https://example.org/a.docx' })).rejects.toThrow('to_format');
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

describe('filemill mcp, which an assistant starts', () => {
  let files: string;
  beforeAll(async () => {
    // As the command line names it: a link to the folder itself is followed.
    await mkdir(join(home, 'really'));
    files = join(home, 'files');
    await symlink(join(home, 'really'), files);
    await writeFile(join(files, 'my birds.csv'), TABLE);
    await writeFile(join(home, 'secret.csv'), 'name\nhidden\n');
    await symlink(join(home, 'secret.csv'), join(files, 'way-out.csv'));
    await symlink(home, join(files, 'out'));
    await symlink(join(home, 'really', 'my birds.csv'), join(files, 'way-in.csv'));
    await writeFile(join(files, '.env'), TABLE);
    await mkdir(join(files, '.keys'));
    await writeFile(join(files, '.keys/key.csv'), TABLE);
    await mkdir(join(files, 'own'));
    execFileSync('mkfifo', [join(files, 'pipe.csv')]);
  });

  interface Bridge extends Assistant {
    readonly pid: number | null;
    readonly list: () => Promise<readonly { readonly name: string; readonly inputSchema: object }[]>;
  }
  const started = async (...args: readonly string[]): Promise<Bridge> => {
    const transport = new StdioClientTransport({
      command: join(checkout, 'scripts/filemill'),
      args: ['mcp', ...args],
      cwd: home,
      stderr: 'ignore',
    });
    const client = new FirstClient({ name: 'stdio', version: '1' });
    await client.connect(transport as Parameters<typeof client.connect>[0], { timeout: 60_000 });
    return {
      pid: transport.pid,
      list: async () => (await client.listTools()).tools,
      call: async (name, given, told, signal) =>
        (await client.callTool({ name, arguments: { ...given } }, undefined, {
          ...(told === undefined ? {} : { onprogress: ({ progress }) => told(progress) }),
          ...(signal === undefined ? {} : { signal }),
        })) as ToolResult,
      close: () => client.close(),
    };
  };

  describe('for a server', () => {
    let assistant: Bridge;
    beforeAll(async () => {
      assistant = await started('--server', `${service.url}/mcp`, '--allow', files);
    });
    afterAll(() => assistant?.close());
    const toHtml = (file: string, more: object = {}) => assistant.call('convert_file', { file, to_format: 'html', ...more });

    it('lists the tools, with the folders that may be used', async () => {
      const tools = await assistant.list();
      expect(tools).toHaveLength(20);
      const [convert] = tools;
      expect(JSON.stringify(convert?.inputSchema)).toContain(`A local path in ${files}. Or an https URL`);
      expect(JSON.stringify(convert?.inputSchema)).not.toContain('curl');
      const saving = tools.filter(({ inputSchema }) => JSON.stringify(inputSchema).includes('"save_to"')).map(({ name }) => name);
      expect(saving).toEqual(expect.arrayContaining(['convert_file', 'merge_pdfs', 'run_tool', 'get_job_status']));
      expect(saving).not.toContain('list_tools');
    });

    it.each<[string, () => string]>([
      ['a path', () => join(files, 'my birds.csv')],
      ['a file: URL', () => pathToFileURL(join(files, 'my birds.csv')).href],
      ['a name in the folder', () => 'my birds.csv'],
      ['a link within the folder', () => join(files, 'way-in.csv')],
      ['base64', () => Buffer.from(TABLE).toString('base64')],
    ])('converts %s, and saves the result', async (_, file) => {
      const folder = await mkdtemp(join(files, 'results-'));
      const result = await toHtml(file(), { filename: 'birds.csv', save_to: folder });
      const path = String(result.structuredContent?.['saved_to']);
      expect(path).toBe(join(await realpath(folder), 'birds.html'));
      expect(await readFile(path, 'utf8')).toContain('kestrel');
      const again = await toHtml(file(), { filename: 'birds.csv', save_to: `${folder}/` });
      expect(again.structuredContent?.['saved_to']).toBe(join(await realpath(folder), 'birds-2.html'));
    });

    it('saves several results as one ZIP, and under a name that the caller chooses', async () => {
      const file = join(files, 'my birds.csv');
      const result = await assistant.call('convert_files', {
        files: [file, 'my birds.csv'],
        to_format: 'html',
        save_to: join(files, 'all.zip'),
      });
      expect((await readFile(join(files, 'all.zip'))).subarray(0, 2).toString()).toBe('PK');
      expect(result.content?.[0]?.text).toContain('all.zip');
      const taken = await toHtml(file, { save_to: join(files, 'all.zip') });
      expect(taken).toMatchObject({ isError: true, structuredContent: { status: 'done' } });
      expect(taken.content?.[0]?.text).toContain('exists already');
    });

    it.each<[string, () => string, string]>([
      ['a file beside the folder', () => join(home, 'secret.csv'), 'outside the folders'],
      ['a way up', () => join(files, '../secret.csv'), 'outside the folders'],
      ['a link that leads out', () => join(files, 'way-out.csv'), 'outside the folders'],
      ['a folder’s link that leads out', () => `${files}/out/secret.csv`, 'outside the folders'],
      ['a folder', () => `${files}/.`, 'not a regular file'],
      ['a hidden file', () => join(files, '.env'), 'is hidden'],
      ['a file in a hidden folder', () => '.keys/key.csv', 'is hidden'],
      ['a named pipe', () => join(files, 'pipe.csv'), 'not a regular file'],
      ['a device', () => '/dev/zero', 'outside the folders'],
      ['what the system keeps', () => 'file:///etc/passwd', 'outside the folders'],
      ['what is not there', () => join(files, 'none.csv'), 'There is no file'],
    ])('does not read %s', async (_, file, says) => {
      const before = storedIn(service.dataDir).states.length;
      const result = await toHtml(file());
      expect(result.isError).toBe(true);
      expect(result.content?.[0]?.text).toContain(says);
      expect(storedIn(service.dataDir).states).toHaveLength(before);
    });

    it.each<[string, () => string, string]>([
      ['a folder beside it', () => `${home}/`, 'outside the folders'],
      ['a link that leads out', () => join(files, 'out/stolen.html'), 'outside the folders'],
      ['a hidden file', () => join(files, '.profile'), 'is hidden'],
      ['a hidden folder', () => join(files, '.keys/'), 'is hidden'],
      ['an existing file', () => join(files, 'my birds.csv'), 'exists already'],
      ['a link to a file outside', () => join(files, 'way-out.csv'), 'exists already'],
    ])('does not write to %s', async (_, place, says) => {
      const result = await toHtml('my birds.csv', { save_to: place() });
      expect(result.isError).toBe(true);
      expect(result.content?.[0]?.text).toContain(says);
      expect(await readFile(join(home, 'secret.csv'), 'utf8')).toContain('hidden');
      expect(await readFile(join(files, 'my birds.csv'), 'utf8')).toBe(TABLE);
      expect(await readdir(home)).not.toContain('stolen.html');
    });

    it('passes progress on, and stops the work of a call that is cancelled', async () => {
      await writeFile(join(files, 'long.wav'), recording(300));
      const told: number[] = [];
      const stop = new AbortController();
      const args = { file: 'long.wav', to_format: 'm4a', audio_bitrate: 512 };
      const answer = assistant.call('convert_file', args, (progress) => told.push(progress), stop.signal).catch(() => 'stopped');
      await eventually(() => storedIn(service.dataDir).states.includes('running') && told.length > 0, 'a job that runs, and progress');
      stop.abort();
      expect(await answer).toBe('stopped');
      await eventually(() => !storedIn(service.dataDir).states.includes('running'), 'no job that runs');
    });
  });

  it('passes a proxy with credentials, which goes for files too, and says what a proxy refuses', async () => {
    const guard = await startGuard(service.url, ({ authorization }) => authorization === `Basic ${btoa('me:sesame')}`);
    const assistant = await started('--server', `${guard.url.replace('://', '://me:sesame@')}/mcp`, '--allow', files);
    const result = await assistant.call('convert_file', {
      file: join(files, 'my birds.csv'),
      to_format: 'html',
      save_to: join(files, 'guarded.html'),
    });
    expect(await readFile(join(files, 'guarded.html'), 'utf8')).toContain('kestrel');
    expect([guard.refused, JSON.stringify(result)]).toEqual([[], expect.not.stringContaining('sesame')]);
    await assistant.close();
    await expect(started('--server', guard.url)).rejects.toThrow(/wants credentials \(HTTP 401\)/);
    await guard.close();
  });

  it('reads nothing where no folder is allowed, and ends with its client', async () => {
    const assistant = await started('--server', service.url);
    const result = await assistant.call('convert_file', { file: join(files, 'my birds.csv'), to_format: 'html' });
    expect(result.content?.[0]?.text).toContain('--allow FOLDER');
    const { pid } = assistant;
    await assistant.close();
    await eventually(() => !existsSync(`/proc/${pid}`), 'no process');
  });

  it.each<[string, (assistant: Bridge) => Promise<void>]>([
    ['its client leaves', (assistant) => assistant.close()],
    ['it is killed', async ({ pid }) => void process.kill(pid ?? 0, 'SIGKILL')],
  ])('brings a separate server where none is named, and takes it along when %s', async (_, end) => {
    const assistant = await started('--allow', files);
    const result = await assistant.call('convert_file', { file: 'my birds.csv', to_format: 'html', save_to: 'own/' });
    expect(result.structuredContent).toMatchObject({
      status: 'done',
      saved_to: expect.stringContaining(join(await realpath(files), 'own')),
    });
    expect(await readFile(String(result.structuredContent?.['saved_to']), 'utf8')).toContain('kestrel');
    const port = new URL(result.structuredContent?.output?.url ?? '').port;
    await end(assistant);
    await eventually(
      () =>
        fetch(`http://127.0.0.1:${port}/api/v1/health`).then(
          () => false,
          () => true,
        ),
      'no server',
    );
  });

  it.each([[['--server', 'ftp://x']], [['--allow']], [['--fruit']], [['--allow', '/no/such/folder', '--server', 'http://127.0.0.1:1']]])(
    'refuses %j in one sentence',
    async (args) => {
      const { code, stderr } = await run(join(checkout, 'scripts/filemill'), ['mcp', ...args]).then(
        () => ({ code: 0, stderr: '' }),
        (error: { code: number; stderr: string }) => error,
      );
      expect(code).toBeGreaterThan(0);
      expect(stderr).toMatch(/--allow/);
      expect(stderr).not.toContain('at async');
    },
  );
});
