/** The protocol's own conformance suite, in two versions: the whole of it against our HTTP stack with fixtures, what applies against the real tools. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiDeps } from '../../../src/api/deps.ts';
import { serveMcp } from '../../../src/api/mcp/routes.ts';
import { createServer } from '../../../src/api/server.ts';
import { createCatalog } from '../../../src/catalog/catalog.ts';
import { engines } from '../../../src/catalog/engines.gen.ts';
import { loadConfig } from '../../../src/config.ts';
import { openJudge } from '../../../src/judge/judge.ts';
import { openEmbedded } from '../../../src/roles/machine/embedded.ts';
import { memorySignals } from '../../../src/signals/memory.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { asVersion } from '../../kit/api/assistant.ts';
import { checkout, type Service, startService } from '../../kit/roles/service.ts';
import { fixtureServer } from './mcp-fixtures.ts';

const run = promisify(execFile);
const suite = join(checkout, 'test/mcp/node_modules/@modelcontextprotocol/conformance/dist/index.js');

const ASKS = 'a server that asks its client needs a session for the answer, and there are no sessions';

/** What fails in the whole suite, and why it should. */
const EXPECTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '2025-11-25': {
    'tools-call-with-logging':
      'an answer comes as plain JSON where no progress was asked for, and there is no place in it for log messages',
    'tools-call-sampling': ASKS,
    'tools-call-elicitation': ASKS,
    'elicitation-sep1034-defaults': ASKS,
    'elicitation-sep1330-enums': ASKS,
    'server-sse-multiple-streams': 'it wants a session id to open several streams with, and there are no sessions',
  },
  '2026-07-28': {},
};

const UNTESTED = 'it is tried with a tool of the suite’s own, which the fixtures have';

/** What speaks of any server's tools and of HTTP, and which checks in it fail for the real ones; the rest calls the fixtures by name. */
const APPLICABLE: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>> = {
  '2025-11-25': { 'server-initialize': {}, ping: {}, 'tools-list': {}, 'dns-rebinding-protection': {} },
  '2026-07-28': {
    'tools-list': {},
    'dns-rebinding-protection': {},
    'http-header-validation': {},
    'server-stateless': {
      'sep-2575-server-rejects-undeclared-capability': UNTESTED,
      'sep-2575-missing-capability-http-400': UNTESTED,
      'sep-2575-http-server-no-independent-requests-on-stream': UNTESTED,
      'sep-2575-server-no-log-without-loglevel': UNTESTED,
    },
    caching: {},
  },
};

let folder: string;
let real: Service;
let fixtures: Awaited<ReturnType<typeof serveFixtures>>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-conformance-'));
  [real, fixtures] = await Promise.all([startService(), serveFixtures()]);
});
afterAll(async () => {
  await Promise.all([real?.stop(), fixtures?.stop()]);
  await rm(folder, { recursive: true, force: true });
});

/** The server as roles make it, with an address more. */
async function serveFixtures() {
  const dataDir = await mkdtemp(join(tmpdir(), 'filemill-fixtures-'));
  const config = loadConfig({ DATA_DIR: dataDir, LIMITS_ENABLED: 'false', LOG_LEVEL: 'silent' });
  const log = createLog('silent');
  const store = await openEmbedded(config, () => () => {}, Date.now, '0.0.0');
  let catalog = createCatalog([]);
  const deps: ApiDeps = {
    jobs: { ...store, store: store.jobs, signals: memorySignals(), clock: Date.now },
    files: { ...store, judge: openJudge({ engines: false }), fetch: undefined, findPage: undefined, suffix: config.output.suffix },
    catalogue: {
      get current() {
        return catalog;
      },
      missing: [],
      pools: new Map(),
    },
    limits: store.limits,
    telemetry: { log, metrics: createMetrics(), loop: { begin() {}, end() {} } },
    service: { settings: config.api, newId: () => '0'.repeat(32), version: '0.0.0', stopping: new AbortController().signal },
  };
  const app = createServer(deps);
  serveMcp(app, deps, '/fixtures', { works: () => false, factoryFor: () => fixtureServer });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/fixtures`,
    base: `http://127.0.0.1:${port}`,
    /** As when workers with other engines come. */
    install: () => {
      catalog = createCatalog(engines.map((engine) => ({ engine, version: '1' })));
    },
    async stop() {
      await app.close();
      await store.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** @returns what the suite said, whether it is content or not */
async function judge(...args: readonly string[]): Promise<{ readonly said: string; readonly content: boolean }> {
  const command = [suite, 'server', '--output-dir', folder, ...args];
  return run(process.execPath, command, { maxBuffer: 1 << 26 }).then(
    ({ stdout }) => ({ said: stdout, content: true }),
    ({ stdout, stderr }: { stdout: string; stderr: string }) => ({ said: `${stdout}${stderr}`, content: false }),
  );
}

it('tells a client that listens when the list of tools changes', async () => {
  const { message, headers } = asVersion('2026-07-28', {
    jsonrpc: '2.0',
    id: 1,
    method: 'subscriptions/listen',
    params: { notifications: { toolsListChanged: true } },
  });
  const hangUp = new AbortController();
  const response = await fetch(`${fixtures.base}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify(message),
    signal: AbortSignal.any([hangUp.signal, AbortSignal.timeout(20_000)]),
  });
  let told = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    if (told === '') fixtures.install();
    told += chunk;
    if (told.includes('notifications/tools/list_changed')) break;
  }
  hangUp.abort();
  expect(told).toContain('notifications/tools/list_changed');
});

describe.each(Object.keys(EXPECTED))('version %s', (version) => {
  it('is spoken by our HTTP stack as all of the suite asks, but for what is expected', { timeout: 300_000 }, async () => {
    const path = join(folder, `expected-${version}.yaml`);
    const names = Object.keys(EXPECTED[version] ?? {});
    await writeFile(path, names.length === 0 ? 'server: []\n' : `server:\n${names.map((name) => `  - ${name}\n`).join('')}`);
    // It is not content, too, when something passes that is expected not to.
    const { said, content } = await judge('--url', fixtures.url, '--requirements', version, '--expected-failures', path);
    expect(content, said.slice(-4_000)).toBe(true);
    expect(said.match(/^=== Running scenario: /gm)?.length).toBeGreaterThanOrEqual(30);
  });

  it.each(Object.entries(APPLICABLE[version] ?? {}))('is spoken by the real tools: %s', async (scenario, expected) => {
    const { said } = await judge('--url', `${real.url}/mcp`, '--scenario', scenario, '--spec-version', version);
    const place = /^Results saved to (.*)$/m.exec(said)?.[1] ?? '';
    const checks = JSON.parse(await readFile(join(place, 'checks.json'), 'utf8')) as { readonly id: string; readonly status: string }[];
    const failed = checks.filter(({ status }) => status === 'FAILURE').map(({ id }) => id);
    expect(failed, said.slice(-4_000)).toEqual(Object.keys(expected));
    expect(checks.filter(({ status }) => status === 'SUCCESS').length).toBeGreaterThan(0);
  });
});
