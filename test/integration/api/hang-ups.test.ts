/**
 * Whatever a client leaves in the middle of, and whenever, nothing of it is held afterwards: over both kinds of stores, each in this process.
 *
 * Slow: what is left behind shows only some seconds after a client has gone.
 */
import { randomBytes } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { chmod, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grants } from '../../../src/api/jobs/grants.ts';
import { createServer } from '../../../src/api/server.ts';
import { loadConfig } from '../../../src/config.ts';
import { toolchains } from '../../../src/contracts/toolchains.ts';
import type { JobRecord } from '../../../src/jobs/record.ts';
import { openS3 } from '../../../src/objects/s3/store.ts';
import type { S3Settings } from '../../../src/objects/settings.ts';
import { openConverters } from '../../../src/roles/machine/converters.ts';
import { openEmbedded } from '../../../src/roles/machine/embedded.ts';
import { missingHere, poolsHere } from '../../../src/roles/machine/here.ts';
import { judgeOfApi } from '../../../src/roles/machine/judge.ts';
import { fetchingFor } from '../../../src/roles/process/fetch.ts';
import { listen } from '../../../src/roles/process/listen.ts';
import { unreadableTo } from '../../../src/roles/process/unreadable.ts';
import { memorySignals } from '../../../src/signals/memory.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { watchLoop } from '../../../src/telemetry/loop.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { uploadsOver } from '../../../src/uploads/uploads.ts';
import { startWorkers } from '../../../src/worker/workers.ts';
import { aRecord, someId, streamOf } from '../../conformance/samples.ts';
import { asVersion } from '../../kit/api/assistant.ts';
import { openWeb, type Web } from '../../kit/api/web.ts';
import { connectTo, END, eventually, FORM, field, fileHead, raw } from '../../kit/api/wire.ts';
import { childrenOf, descriptorsOf, excess, type Held, timers } from '../../kit/exec/level.ts';
import { parentOf, runningBelow } from '../../kit/exec/processes.ts';
import { rounds } from '../../kit/exec/rounds.ts';
import { type Minio, startMinio } from '../../kit/objects/minio.ts';
import { checkout, convert, readAnswer, untilEnded } from '../../kit/roles/service.ts';

const TIMES = rounds(20, 2);
const AT_ONCE = 10;
/** Each once left by its client and once deleted. */
const PAGES = TIMES / 2;
const LARGE_BYTES = 3 * 1024 * 1024;
/** What the heap may grow by: caches, compiled code, and what the test itself keeps. */
const HEAP_BYTES = 12 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** The same moments at each run (Mulberry32). @returns from 0 to 1 */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** As local.ts puts it together, around whichever store of objects. */
async function serve(web: Web, s3: S3Settings | undefined) {
  const dataDir = await mkdtemp(join(tmpdir(), 'filemill-hang-ups-'));
  await chmod(dataDir, 0o755);
  const uploads = { maxPerClient: 1_000, maxBytesPerClient: 2 ** 40 };
  // An express slot would start its own warm program at any time.
  const worker = { slots: SLOTS, sharing: { express: false } };
  const settings = { limits: { enabled: false }, uploads, worker, fetch: { ports: [web.port], allow: ['127.0.0.2/32'] } };
  await writeFile(join(dataDir, 'config.yaml'), JSON.stringify(settings));
  // Reading the versions of all converters takes seconds.
  const versions = join(checkout, '.cache/test-versions.json');
  await copyFile(versions, join(dataDir, 'versions.json')).catch(() => {});
  const config = loadConfig({ CONFIG_FILE: join(dataDir, 'config.yaml'), DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'silent' });
  const [clock, log, metrics, signals] = [Date.now, createLog('silent'), createMetrics(), memorySignals()];
  const embedded = await openEmbedded(config, unreadableTo(log, metrics), clock, '0.0.0');
  const objects = s3 === undefined ? embedded.objects : await openS3(s3);
  const store = { ...embedded, objects, uploads: uploadsOver(embedded.uploadRecords, objects, config.uploads, clock) };
  const converters = await openConverters(config, checkout, log, metrics);
  await copyFile(join(dataDir, 'versions.json'), versions);
  const stopping = new AbortController();
  const loop = watchLoop({ log, metrics, otherwise: 'worker', signal: stopping.signal });
  let inFlight = 0;
  const shared = { ...store, ...converters, ...fetchingFor(config), signals, log, metrics, clock };
  const server = createServer({
    jobs: { ...shared, store: store.jobs },
    files: { ...shared, judge: judgeOfApi(log), suffix: config.output.suffix },
    catalogue: {
      current: converters.catalog(),
      missing: missingHere(converters, toolchains),
      pools: poolsHere(converters.catalog, config.worker.slots, clock())(),
    },
    limits: store.limits,
    telemetry: {
      log,
      metrics,
      loop: {
        begin(route) {
          inFlight++;
          loop.begin(route);
        },
        end(route) {
          inFlight--;
          loop.end(route);
        },
      },
    },
    service: { settings: config.api, newId: someId, version: '0.0.0', stopping: stopping.signal },
  });
  const port = await listen(server, config.api);
  const grant = grants(store.jobs, objects, store.encryption);
  const workers = await startWorkers({
    ...shared,
    processors: 1,
    settings: config.worker,
    grant,
    forward: async () => {},
    newAttempt: someId,
  });
  return {
    ...store,
    url: `http://127.0.0.1:${port}`,
    stopping: stopping.signal,
    inFlight: () => inFlight,
    async stop() {
      stopping.abort();
      await workers.drain(500);
      setTimeout(() => server.server.closeAllConnections(), 500).unref();
      await server.close();
      await embedded.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
type Served = Awaited<ReturnType<typeof serve>>;

interface Leaving {
  /** How much of the request is sent, 0 to 1. */
  readonly sent: number;
  /** The client leaves when so many bytes of the answer came, or at the latest after so long, ms. */
  readonly heardBytes: number;
  readonly afterMs: number;
}

/** Be it after an error: the server may be gone first. */
const closeOf = (socket: Socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()));

/** Sends a request, or a part of it, and goes. */
async function leaveDuring(url: string, request: Buffer, { sent, heardBytes, afterMs }: Leaving): Promise<void> {
  const socket = connectTo(url);
  const closed = closeOf(socket);
  let heard = 0;
  socket.on('data', (chunk: Buffer) => {
    heard += chunk.length;
    if (heard >= heardBytes) socket.destroy();
  });
  socket.write(request.subarray(0, Math.ceil(request.length * sent)));
  const timer = setTimeout(() => socket.destroy(), afterMs);
  await closed;
  clearTimeout(timer);
}

const get = (path: string, headers = ''): Buffer => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
const send = (method: string, path: string, headers: Readonly<Record<string, string>>, body: string | Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`),
    Buffer.from(
      `${Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')}\r\n`,
    ),
    Buffer.from(body),
  ]);

const large = randomBytes(LARGE_BYTES);
const SLOTS = { image: 2, web: 1, media: 0, office: 0, pdf: 0 };
const picture = await sharp({ create: { width: 300, height: 200, channels: 3, background: 'teal' } })
  .png()
  .toBuffer();
const form = (content: Buffer, fields: Readonly<Record<string, string>> = {}): Buffer =>
  Buffer.concat([
    Buffer.from(
      Object.entries(fields)
        .map(([name, value]) => field(name, value))
        .join('') + fileHead('picture.png'),
    ),
    content,
    Buffer.from(`\r\n${END}`),
  ]);

const TUS = { 'tus-resumable': '1.0.0' } as const;

/** A resumable upload of the large file. @returns its path */
async function beginUpload({ url }: Served, length = LARGE_BYTES): Promise<string> {
  const headers = { ...TUS, 'upload-length': String(length), 'upload-metadata': `filename ${btoa('a.bin')}` };
  // Not by `fetch`, which keeps its connections for as long as the server permits.
  const { headers: answered } = await raw(url, send('POST', '/api/v1/uploads', headers, ''));
  return new URL(answered.get('location') ?? '').pathname;
}

/** Done jobs with a large output each, and their batch. */
async function withOutputs({ jobs, objects, batches }: Served): Promise<{ readonly job: string; readonly batch: string }> {
  const records: JobRecord[] = [];
  for (const contentType of ['application/zip', 'text/plain', 'application/zip']) {
    const id = someId();
    const key = `jobs/${id}/output-1`;
    const { sha256 } = await objects.put(key, streamOf(large), LARGE_BYTES);
    const output = { key, filename: 'picture.png', sizeBytes: LARGE_BYTES, contentType, sha256, files: 1 };
    const expiresAt = Date.now() + 3_600_000;
    records.push((await jobs.create(aRecord({ id, state: 'done', output, createdAt: Date.now(), endedAt: Date.now(), expiresAt }))).record);
  }
  const batch = `bat_${someId().slice(0, 16)}`;
  await batches.create({ version: 1, id: batch, createdAt: Date.now(), jobs: records.map(({ id }) => id) });
  return { job: records[0]?.id ?? '', batch };
}

/** What a client may be in the middle of, each as a request made again. */
async function requestsTo(served: Served): Promise<Record<string, () => Promise<Buffer>>> {
  const { url, jobs } = served;
  const { job, batch } = await withOutputs(served);
  const endless = (await jobs.create(aRecord({ createdAt: Date.now(), expiresAt: Date.now() + 3_600_000 }))).record.id;
  const whole = await beginUpload(served);
  const patch = { ...TUS, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' };
  await fetch(url + whole, { method: 'PATCH', headers: patch, body: large });
  const uploadId = whole.split('/').at(-1) ?? '';
  const mcp = (version: '2025-11-25' | '2026-07-28', args: object, streams: boolean) => {
    const params = { name: 'convert_file', arguments: args, ...(streams ? { _meta: { progressToken: 1 } } : {}) };
    const { message, headers } = asVersion(version, { jsonrpc: '2.0', id: someId(), method: 'tools/call', params });
    const accept = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    return send('POST', '/mcp', { ...accept, ...headers }, JSON.stringify(message));
  };
  const inline = { file: picture.toString('base64'), filename: 'picture.png', to_format: 'jpg' };
  const upload = { 'content-type': FORM };
  return {
    'a download': async () => get(`/api/v1/jobs/${job}/output`),
    'a range': async () => get(`/api/v1/jobs/${job}/output`, `Range: bytes=1000-${LARGE_BYTES - 10}\r\n`),
    'a ZIP of a batch': async () => get(`/api/v1/batches/${batch}/output`),
    'an upload by form': async () => send('POST', '/api/v1/uploads', upload, form(large)),
    'a resumable upload': async () => send('PATCH', await beginUpload(served), patch, large),
    'a file to convert': async () => send('POST', '/api/v1/convert', upload, form(picture, { to_format: 'jpg' })),
    'a large file to convert': async () => send('POST', '/api/v1/convert', upload, form(large, { to_format: 'jpg' })),
    'an upload to convert': async () =>
      send('POST', '/api/v1/convert', upload, Buffer.from(field('to_format', 'jpg') + field('upload_id', uploadId) + END)),
    'events of a job': async () => get(`/api/v1/jobs/${endless}/events`),
    'a call of an assistant': async () => mcp('2025-11-25', inline, false),
    'a streamed call': async () => mcp('2025-11-25', inline, true),
    'a streamed call without sessions': async () => mcp('2026-07-28', inline, true),
    'a call that names an output': async () => mcp('2025-11-25', { file: `${url}/api/v1/jobs/${job}/output`, to_format: 'jpg' }, false),
    'a call that names an upload': async () => mcp('2026-07-28', { file: uploadId, to_format: 'jpg' }, false),
  };
}

const page = (url: string): Buffer =>
  send('POST', '/api/v1/tools/webpage-to-pdf', { 'content-type': 'application/json' }, JSON.stringify({ url }));

/** A few at a time. */
async function repeatedly(times: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < times) await work(next++);
    }),
  );
}

const countsOf = async ({ stopping, inFlight }: Pick<Served, 'stopping' | 'inFlight'>) => ({
  ...(await descriptorsOf()),
  timers: timers(),
  requests: inFlight(),
  listeners: getEventListeners(stopping, 'abort').length,
  processes: await childrenOf(process.pid),
});

async function heldBy(served: Pick<Served, 'stopping' | 'inFlight'>) {
  collectGarbage();
  return { ...(await countsOf(served)), heap: Math.max(0, process.memoryUsage().heapUsed) };
}

/** The most of each within some seconds: a warm browser that is replaced is not there for a moment. Garbage is collected once. */
async function mostHeldBy(served: Served): Promise<Held> {
  const most: Record<string, number> = await heldBy(served);
  for (let look = 0; look < 30; look++) {
    for (const [what, count] of Object.entries(await countsOf(served))) most[what] = Math.max(most[what] ?? 0, count);
    await pause(100);
  }
  return most;
}

/** Until no order waits or is held. */
const untilIdle = ({ queue }: Served) =>
  expect
    .poll(async () => (await Promise.all(['image', 'web'].map((pool) => queue.depth(pool)))).map(({ waiting, held }) => waiting + held), {
      timeout: 60_000,
      interval: 100,
    })
    .toEqual([0, 0]);

let minio: Minio;
let web: Web;
beforeAll(async () => {
  minio = await startMinio();
  web = await openWeb(() => ({ '/': '<h1>Kestrel</h1>' }));
});
afterAll(async () => {
  await minio?.stop();
  web?.close();
});

describe.each(['a directory', 'S3'])('over %s', (kind) => {
  let served: Served;
  beforeAll(async () => {
    served = await serve(web, kind === 'S3' ? minio.settings() : undefined);
    // What is warm stays: programs, connections, compiled code.
    await warmUp();
  });
  const pageUrl = () => `http://127.0.0.2:${web.port}/`;
  /** Every slot has its warm program afterwards: pictures that take a while are converted until each has started one. */
  const warmUp = async () => {
    const slow = {
      name: 'slow.png',
      bytes: await sharp({ create: { width: 3_000, height: 3_000, channels: 3, background: 'teal' } })
        .png()
        .toBuffer(),
    };
    const areWarm = () => {
      const all = runningBelow('vips-server');
      return all.filter((pid) => !all.includes(parentOf(pid))).length === SLOTS.image;
    };
    await eventually(
      async () => {
        if (areWarm()) return true;
        await Promise.all(Array.from({ length: 2 * SLOTS.image }, () => convert(served.url, slow, 'jpg')));
        return areWarm();
      },
      'a warm program in each slot',
      60_000,
    );
    const response = await fetch(`${served.url}/api/v1/tools/webpage-to-pdf`, {
      method: 'POST',
      body: new URLSearchParams({ url: pageUrl() }),
    });
    const { data } = await readAnswer(response);
    expect((await untilEnded(served.url, data?.job_id ?? '')).data?.status).toBe('done');
  };

  it(`a client that hangs up in the middle, ${TIMES} times of each request, leaves nothing behind`, async () => {
    const requests = await requestsTo(served);
    const chance = random(20_261_122);
    const leaving = (): Leaving => ({
      sent: chance() < 0.5 ? 1 : chance(),
      heardBytes: chance() < 0.5 ? 1 : chance() * LARGE_BYTES,
      afterMs: chance() * 120,
    });
    const round = async (times: number) => {
      for (const request of Object.values(requests))
        await repeatedly(times, async () => leaveDuring(served.url, await request(), leaving()));
      await untilIdle(served);
    };
    await round(5);
    await warmUp();
    const before = await mostHeldBy(served);
    await round(TIMES);
    expect(await excess({ ...before, heap: (before['heap'] ?? 0) + HEAP_BYTES }, () => heldBy(served))).toEqual({});
  });

  it('jobs that are deleted, and pages that are left or deleted, leave nothing behind', async () => {
    const chance = random(7);
    const begin = async (request: Buffer) => {
      const socket = connectTo(served.url);
      let text = '';
      socket.on('data', (chunk) => {
        text += String(chunk);
        if (text.includes('}}')) socket.destroy();
      });
      socket.write(request);
      await closeOf(socket);
      return /"job_id":"(\w+)"/.exec(text)?.[1] ?? '';
    };
    const remove = async (id: string) =>
      leaveDuring(served.url, send('DELETE', `/api/v1/jobs/${id}`, {}, ''), { sent: 1, heardBytes: 1, afterMs: 5_000 });
    const asynchronous = { 'content-type': FORM, prefer: 'respond-async' };
    const asked = { 'content-type': 'application/json', prefer: 'respond-async' };
    const round = async (times: number, pages: number) => {
      await repeatedly(times, async () => {
        const id = await begin(send('POST', '/api/v1/convert', asynchronous, form(picture, { to_format: 'jpg' })));
        await pause(chance() * 100);
        await remove(id);
      });
      for (let time = 0; time < pages; time++) {
        await leaveDuring(served.url, page(pageUrl()), { sent: 1, heardBytes: 1, afterMs: chance() * 800 });
        const id = await begin(send('POST', '/api/v1/tools/webpage-to-pdf', asked, JSON.stringify({ url: pageUrl() })));
        await pause(chance() * 600);
        await remove(id);
      }
      await untilIdle(served);
    };
    // What the first of them starts for good is started before anything is counted.
    await round(5, 2);
    await warmUp();
    const before = await mostHeldBy(served);
    await round(TIMES, PAGES);
    expect(await excess({ ...before, heap: (before['heap'] ?? 0) + HEAP_BYTES }, () => heldBy(served))).toEqual({});
  });

  it('a stop in the middle of everything leaves nothing behind', async () => {
    await served.stop();
    const before = await heldBy(served);
    const again = await serve(web, kind === 'S3' ? minio.settings() : undefined);
    const requests = await requestsTo(again);
    const chance = random(42);
    const made = await Promise.all(Object.values(requests).flatMap((request) => [request(), request()]));
    const underWay = made.map((request) =>
      leaveDuring(again.url, request, { sent: chance() < 0.7 ? 1 : chance(), heardBytes: LARGE_BYTES / 2, afterMs: 30_000 }),
    );
    await pause(chance() * 300);
    await again.stop();
    await Promise.all(underWay);
    expect(await excess({ ...before, heap: before.heap + HEAP_BYTES }, () => heldBy(again))).toEqual({});
  });
});
