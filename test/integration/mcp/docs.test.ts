/** What is written about `/mcp` for people and registries: it runs as it stands there, and names what there is. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { type RpcBody, send } from '../../kit/api/assistant.ts';
import { checkout, type Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
const read = (path: string) => readFile(join(checkout, path), 'utf8');

let service: Pick<Service, 'url'>;
beforeAll(async () => {
  service = await sharedService();
});

describe('docs/mcp.md', () => {
  it('has commands that do what it says', async () => {
    const commands = [...(await read('docs/mcp.md')).matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block.trim());
    expect(commands).toHaveLength(1);
    for (const command of commands) {
      const { stdout } = await run('/bin/sh', ['-c', command.replaceAll('http://localhost:8080', service.url)]);
      const { result } = JSON.parse(stdout) as RpcBody;
      expect(result?.content?.map(({ type }) => type)).toEqual(['text', 'text', 'resource_link']);
      expect(result?.structuredContent?.output?.filename).toBe('birds-filemill.html');
    }
  });

  it('names every tool, and no other', async () => {
    const page = await read('docs/mcp.md');
    const rows = page.slice(page.indexOf('## The tools'), page.indexOf('`file` is one string'));
    const named = [...rows.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    );
    const { body } = await send(service.url, '2025-11-25', { jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const tools = body?.result?.['tools'] as { readonly name: string }[];
    expect(named.sort()).toEqual(tools.map(({ name }) => name).sort());
  });
});

describe('server.json', () => {
  it('keeps to what the registry asks for, and to the version of the package', async () => {
    const { version } = JSON.parse(await read('package.json')) as { version: string };
    const server = JSON.parse(await read('server.json')) as { readonly name: string; readonly description: string };
    expect(server).toMatchObject({
      $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
      version,
      remotes: [
        { type: 'streamable-http', url: expect.stringMatching(/^https:\/\/\{host\}\/mcp$/), variables: { host: { isRequired: true } } },
      ],
    });
    expect(server.name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/);
    expect(server.description.length).toBeLessThanOrEqual(100);
  });

  it('says the same as the card of a running service', async () => {
    const server = JSON.parse(await read('server.json')) as object;
    const card = (await (await fetch(`${service.url}/.well-known/mcp/server-card.json`)).json()) as object;
    for (const key of ['name', 'title', 'description'] as const) expect(card).toHaveProperty(key, (server as Record<string, unknown>)[key]);
  });
});
