/** A real ingress controller before the service, and the service used through it over HTTPS: by its Ingress, and by its HTTPRoute. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import type { ToolResult } from '../kit/api/assistant.ts';
import { authorityIn } from '../kit/nats/certificates.ts';
import { convert, type Job, submit } from './client.ts';
import { checkout, cluster, environment, helm, inNamespace, kubectl, lane, network, node, program, VALUES } from './cluster.ts';
import { blobOf, type E2eFiles, head } from './files.ts';
import { eventually, must, step } from './steps.ts';

/** As test/e2e/ingress.yaml names them. */
const FILES = 'https://files.example.org:30443';
const ROUTES = 'https://routes.example.org:30443';
/** This machine's address on its link to the cluster, for which no limits hold. */
const TRUSTED = `${network}.255.1`;
/** Two that no earlier run has used up: its limits would hold for an hour. */
const fresh = 16 + (Math.floor(Date.now() / 1_000) % 119) * 2;
const LIMITED = `${network}.255.${fresh}`;
const OTHER = `${network}.255.${fresh + 1}`;
/** Public by its number, so the service fetches from it. Only the cluster's own network has it, which leads nowhere else. */
const PUBLIC = '30.0.0.1';
const PAGES = 'http://pages.filemill.svc.cluster.local';
/** A little less than the largest file that is taken, 200 MiB. */
const LARGE_BYTES = 199 * 2 ** 20;
const REQUEST_MS = 120_000;

interface Answer {
  readonly data?: Job & { readonly size_bytes?: number; readonly batch_id?: string; readonly overall_status?: string };
  readonly error?: { readonly code: string; readonly details?: Readonly<Record<string, unknown>> };
}

/** Replicas as they were before go on answering for a while, and their links lead another way. */
const oldReplicasGone = () =>
  eventually(
    'the replicas as they were to be gone',
    () => inNamespace('get', 'pods', '-l', 'app.kubernetes.io/component=api', '-o', 'jsonpath={.items[*].metadata.deletionTimestamp}'),
    (deleted) => deleted === '',
  );

/** Has requests come from an address of this machine: every name is the cluster's node, and the test's authority is believed. */
async function asClient<T>(from: string, ca: string, work: () => Promise<T>): Promise<T> {
  const before = getGlobalDispatcher();
  const agent = new Agent({
    localAddress: from,
    connect: {
      ca,
      lookup: (_name, options, found) => (options.all ? found(null, [{ address: node, family: 4 }]) : found(null, node, 4)),
    },
  });
  setGlobalDispatcher(agent);
  try {
    return await work();
  } finally {
    setGlobalDispatcher(before);
    await agent.destroy();
  }
}

const ask = async (url: string, init: RequestInit = {}): Promise<Answer & { readonly status: number }> => {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(REQUEST_MS) });
  return { ...((await response.json()) as Answer), status: response.status };
};
const bytesAt = async (url: string): Promise<Buffer> =>
  Buffer.from(await (await fetch(url, { signal: AbortSignal.timeout(REQUEST_MS) })).arrayBuffer());

function formOf(fields: Readonly<Record<string, string>>, ...files: readonly (readonly [field: string, content: Blob, name: string])[]) {
  const form = new FormData();
  for (const [field, content, name] of files) form.append(field, content, name);
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  return form;
}

/** @returns the authority's certificate, in PEM */
async function startTraefik(folder: string): Promise<string> {
  await cluster('servers');
  await cluster('load', '1=docker.io/library/traefik:v3.7');
  await kubectl('apply', '--server-side', '--filename', '.cache/bin/gateway-api');
  await kubectl('apply', '--server-side', '--filename', 'test/e2e/traefik.yaml');
  const authority = authorityIn(folder, 'ingress');
  const { cert, key } = authority.identity('files', 'DNS:files.example.org,DNS:routes.example.org');
  await inNamespace('delete', 'secret', 'files-tls', '--ignore-not-found');
  await inNamespace('create', 'secret', 'tls', 'files-tls', `--cert=${cert}`, `--key=${key}`);
  await kubectl('--namespace', 'traefik', 'rollout', 'status', 'deployment/traefik', '--timeout=60s');
  return await readFile(authority.ca, 'utf8');
}

const SERVE_PAGE = `
  const [photo, address] = process.argv.slice(1);
  require('node:http').createServer((request, response) => {
    if (request.url === '/photo.jpg') response.end(require('node:fs').readFileSync(photo));
    else response.setHeader('content-type', 'text/html').end('<h1>Kestrel</h1>');
  }).listen(80, address, () => console.log('serves'));
  process.stdin.resume().on('end', () => process.exit());`;

/** A page and a photo at a public address, which a separate Service gives a name. @returns ends it */
async function servePage({ folder, photo }: E2eFiles): Promise<() => Promise<void>> {
  await cluster('enter', 'ip', 'addr', 'replace', `${PUBLIC}/32`, 'dev', 'node0');
  const picture = join(folder, 'photo.jpg');
  await writeFile(picture, photo);
  const child = spawn('scripts/cluster', ['enter', process.execPath, '-e', SERVE_PAGE, picture, PUBLIC], {
    cwd: checkout,
    env: environment,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [said] = await once(child.stdout, 'data', { signal: AbortSignal.timeout(20_000) });
  must(String(said).includes('serves'), 'the page is not served');
  const manifest = join(folder, 'pages.json');
  const items = [
    { apiVersion: 'v1', kind: 'Service', metadata: { name: 'pages' }, spec: { clusterIP: 'None', ports: [{ port: 80 }] } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'pages', labels: { 'kubernetes.io/service-name': 'pages' } },
      addressType: 'IPv4',
      ports: [{ port: 80 }],
      endpoints: [{ addresses: [PUBLIC] }],
    },
  ];
  await writeFile(manifest, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  await inNamespace('apply', '--filename', manifest);
  return async () => {
    child.stdin.end();
    await inNamespace('delete', '--filename', manifest, '--timeout=30s');
    await cluster('enter', 'ip', 'addr', 'del', `${PUBLIC}/32`, 'dev', 'node0');
  };
}

/** What a client sends over HTTPS, from an address that no limit holds for. */
async function useThrough(files: E2eFiles): Promise<void> {
  await step('a photo, a video, a DOCX and a PDF tool over HTTPS', async () => {
    const photo = await convert(FILES, [new Blob([files.photo]), 'photo.jpg'], 'webp');
    must(head(photo.bytes, 4) === 'RIFF', 'the photo became no WebP');
    must(photo.job.output?.url.startsWith(`${FILES}/`) === true, `its link is ${photo.job.output?.url}`);
    const { bytes: sound } = await convert(FILES, await blobOf(files.video, 'clip.mp4'), 'mp3');
    must(sound.length > 500, 'the sound of the video is empty');
    const { bytes: letter } = await convert(FILES, await blobOf(files.docx, 'letter.docx'), 'pdf');
    must(head(letter, 4) === '%PDF', 'the letter became no PDF');
    const { bytes: merged } = await submit(FILES, '/api/v1/tools/merge-pdf', [
      ['files[]', ...(await blobOf(files.pdf, 'a.pdf'))],
      ['files[]', ...(await blobOf(files.pdf, 'b.pdf'))],
    ]);
    must(head(merged, 4) === '%PDF', 'it merged no PDF');
    return undefined;
  });
  await step('a batch, and its ZIP', async () => {
    const names = ['a.jpg', 'b.jpg', 'c.jpg'];
    const body = formOf({ to_format: 'webp' }, ...names.map((name) => ['files[]', new Blob([files.photo]), name] as const));
    const { data } = await ask(`${FILES}/api/v1/batch`, { method: 'POST', body });
    const output = `${FILES}/api/v1/batches/${data?.batch_id}/output`;
    await eventually(
      'all of the batch',
      () => ask(`${FILES}/api/v1/batches/${data?.batch_id}`),
      (batch) => batch.data?.overall_status === 'done',
    );
    // One header a file in its central directory (APPNOTE.TXT, 4.3.12).
    const entries = (await bytesAt(output)).toString('latin1').split('PK\x01\x02').length - 1;
    must(entries === names.length, `its ZIP has ${entries} files`);
    return `${entries} files`;
  });
  await step('events of a job, as they happen', async () => {
    const body = formOf({ to_format: 'webm' }, ['file', ...(await blobOf(files.long, 'long.mp4'))]);
    const { data } = await ask(`${FILES}/api/v1/convert`, { method: 'POST', body, headers: { prefer: 'respond-async' } });
    const response = await fetch(`${FILES}/api/v1/jobs/${data?.job_id}/events`, { signal: AbortSignal.timeout(REQUEST_MS) });
    let text = '';
    let before = 0;
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      // A proxy that collects would send all of it at the end, when the job is done.
      const state = await ask(`${FILES}/api/v1/jobs/${data?.job_id}`);
      if (state.data?.status === 'processing') before = text.match(/^event: progress$/gm)?.length ?? 0;
    }
    must(/^event: done$/m.test(text), 'the stream ended without the job');
    must(before > 2, `${before} events came before the end of the job`);
    return `${before} before its end`;
  });
  await step('an upload of 199 MiB', async () => {
    const body = formOf({}, ['file', new Blob([Buffer.alloc(LARGE_BYTES, 'filemill')]), 'large.txt']);
    const { data, status } = await ask(`${FILES}/api/v1/uploads`, { method: 'POST', body });
    must(status === 201 && data?.size_bytes === LARGE_BYTES, `it answers ${status}, ${data?.size_bytes} bytes`);
    return undefined;
  });
  await step('an assistant, by MCP', async () => {
    const client = new McpClient({ name: 'e2e', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${FILES}/mcp`)) as Parameters<typeof client.connect>[0]);
    const { tools } = await client.listTools();
    const file = files.photo.toString('base64');
    const result = (await client.callTool({
      name: 'convert_file',
      arguments: { file, filename: 'photo.jpg', to_format: 'png' },
    })) as ToolResult;
    const link = result.structuredContent?.output?.url ?? '';
    must(head(await bytesAt(link), 4) === '\x89PNG', `the tool answers ${JSON.stringify(result.structuredContent)}`);
    await client.close();
    return `${tools.length} tools, and a conversion`;
  });
}

async function convertUrls(files: E2eFiles): Promise<void> {
  await step('a web page and a photo by their URLs, through egress', async () => {
    const stop = await servePage(files);
    try {
      const page = await submit(FILES, '/api/v1/tools/webpage-to-pdf', [], { url: `${PAGES}/` });
      const pdf = join(files.folder, 'page.pdf');
      await writeFile(pdf, page.bytes);
      must((await program('pdftotext', [pdf, '-'])).includes('Kestrel'), 'the PDF has not what the page says');
      const { bytes } = await submit(FILES, '/api/v1/convert', [], { url: `${PAGES}/photo.jpg`, to_format: 'webp' });
      must(head(bytes, 4) === 'RIFF', 'the photo became no WebP');
      // The API server's own address, as a stranger would try.
      const inner = await ask(`${FILES}/api/v1/tools/webpage-to-pdf`, { method: 'POST', body: formOf({ url: `http://${node}/` }) });
      must(inner.error?.code === 'URL_REFUSED', `an address of the cluster: ${inner.status} ${inner.error?.code}`);
      return page.job.engine?.name;
    } finally {
      await stop();
    }
  });
}

async function limitByAddress(files: E2eFiles, ca: string): Promise<void> {
  // On this machine's end of the link, and the way back.
  for (const address of [LIMITED, OTHER]) {
    await program('ip', ['addr', 'replace', `${address}/32`, 'dev', `fmc${lane}`]);
    await cluster('enter', 'ip', 'route', 'replace', `${address}/32`, 'dev', 'up0');
  }
  await step('limits by the address of the client, whatever it says of itself', async () => {
    const send = (from: string, headers: Readonly<Record<string, string>> = {}) =>
      asClient(from, ca, async () => {
        const body = formOf({ to_format: 'webp' }, ['file', new Blob([files.photo]), 'photo.jpg']);
        const { status } = await ask(`${FILES}/api/v1/convert`, { method: 'POST', body, headers });
        // A busy machine takes longer than the answer waits.
        return status === 202 ? 200 : status;
      });
    const first: number[] = [];
    for (let n = 0; n < 4; n++) first.push(await send(LIMITED));
    must(first.join() === '200,200,200,429', `three an hour are allowed; the first client got ${first}`);
    for (const name of ['X-Forwarded-For', 'X-Real-Ip', 'Forwarded'])
      for (const claimed of [TRUSTED, '203.0.113.7']) {
        const status = await send(LIMITED, { [name]: name === 'Forwarded' ? `for=${claimed}` : claimed });
        must(status === 429, `with ${name}: ${claimed} it got ${status}`);
      }
    must((await send(OTHER, { 'X-Forwarded-For': LIMITED })) === 200, 'the second client is limited with the first');
    return 'three, then 429; the other client goes on';
  });
}

/** @param files sent as by people outside, who know the service by its host name alone */
export async function throughIngress(files: E2eFiles): Promise<void> {
  let ca = '';
  await step('an ingress controller, Traefik', async () => {
    ca = await startTraefik(files.folder);
    return undefined;
  });
  await step('helm upgrade: an Ingress with TLS, an HTTPRoute, limits', async () => {
    const addresses = [`api.publicUrl=${FILES}`, `config.limits.unlimited={${TRUSTED}}`, `api.trustProxy={${network}.129.0/24}`];
    const values = [...VALUES, '--values', 'test/e2e/ingress.yaml', ...addresses.flatMap((value) => ['--set', value])];
    await helm('upgrade', 'filemill', 'charts/filemill', ...values, '--wait', '--timeout', '4m');
    await oldReplicasGone();
    return undefined;
  });
  await asClient(TRUSTED, ca, async () => {
    await eventually(
      'the way in',
      () => ask(`${FILES}/api/v1/limits`),
      ({ status }) => status === 200,
      30_000,
    );
    await useThrough(files);
    await convertUrls(files);
    await limitByAddress(files, ca);
    await step('no metrics by either way', async () => {
      for (const way of [FILES, ROUTES]) {
        const { status } = await fetch(`${way}/metrics`, { signal: AbortSignal.timeout(REQUEST_MS) });
        must(status === 404, `${way}/metrics answers ${status}`);
      }
      return undefined;
    });
    await step('a photo by the HTTPRoute', async () => {
      const { bytes } = await convert(ROUTES, [new Blob([files.photo]), 'photo.jpg'], 'webp');
      must(head(bytes, 4) === 'RIFF', 'the photo became no WebP');
      return await inNamespace('get', 'httproute', 'filemill', '-o', 'jsonpath={.status.parents[0].conditions[*].type}');
    });
  });
  await step('back to the release as it was', async () => {
    await helm('rollback', 'filemill', '1', '--wait', '--timeout', '4m');
    await oldReplicasGone();
    await kubectl('delete', '--filename', 'test/e2e/traefik.yaml', '--timeout=60s');
    await inNamespace('delete', 'secret', 'files-tls');
    must((await inNamespace('get', 'ingresses,httproutes', '-o', 'name')) === '', 'a way in is left');
    return undefined;
  });
}
