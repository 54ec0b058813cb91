/** Web pages rendered as in service, confined and behind the proxy: what is on paper, and what no page may do. */
import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StepLimits } from '../../../src/catalog/engine.ts';
import { askPage } from '../../../src/catalog/engines/documents/chromium/ask.ts';
import { engine as files } from '../../../src/catalog/engines/documents/chromium.ts';
import { engine as online } from '../../../src/catalog/engines/documents/chromium-web.ts';
import { tool } from '../../../src/catalog/tools/pdf/webpage-to-pdf.ts';
import { Failure } from '../../../src/errors.ts';
import { launcherAt } from '../../../src/exec/confine/confine.ts';
import { stage } from '../../../src/exec/confine/stage.ts';
import { openSlot, type Slot } from '../../../src/exec/files/workspace.ts';
import { openResidents, type Residents } from '../../../src/exec/residents/residents.ts';
import { openToolbox } from '../../../src/exec/toolbox.ts';
import { addressJudge } from '../../../src/fetch/address.ts';
import type { Connector } from '../../../src/fetch/connector.ts';
import { directConnector } from '../../../src/fetch/direct-connector.ts';
import { type EgressProxy, openEgressProxy } from '../../../src/fetch/pages/proxy.ts';
import { fetchSettings } from '../../../src/fetch/settings.ts';
import { openJudge } from '../../../src/judge/judge.ts';
import { createStepper, type Stepper } from '../../../src/worker/conversion/run-step.ts';
import { openWeb, type Site, type Web } from '../../kit/api/web.ts';
import { eventually } from '../../kit/api/wire.ts';
import { endedBelow, isGone, runningBelow } from '../../kit/exec/processes.ts';

const LIMITS: StepLimits = {
  memoryBytes: 2 ** 31,
  cpuSeconds: 600,
  fileBytes: 2 ** 30,
  folderBytes: 2 ** 31,
  processes: 512,
  wallMs: 45_000,
};
/** 2 x 2 px, red. */
const DOT = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVQI12P8z8DAwMDAxMDAwMDAAAANHQEDK+mmyAAAAABJRU5ErkJggg==',
  'base64',
);

/** What every hostile page ends with: it is rendered all the same. */
const HERE = '<p>still here</p>';
const script = (code: string) => `<p id=told>nothing</p>${HERE}<script>${code}</script>`;
const tell = 'const tell = (text) => document.getElementById("told").textContent = text;';

const site = (port: number): Site => ({
  '/': '<h1>Kestrel</h1><img src=/dot.png width=100><div style="background:#00f;height:2in">blue</div>',
  '/dot.png': (_, response) => response.setHeader('content-type', 'image/png').end(DOT),
  '/soon': script(`${tell} setTimeout(() => tell("arrived"), 300)`),
  '/never': script(`${tell} setTimeout(() => tell("arrived"), 60000)`),
  '/moved': (_, response) => response.writeHead(302, { location: '/' }).end(),
  '/onward': '<script>location = "/"</script>',
  '/away': (_, response) => response.writeHead(302, { location: `http://private.test:${port}/` }).end(),
  '/away-literal': (_, response) => response.writeHead(302, { location: `http://127.0.0.1:${port}/` }).end(),
  '/to-file': (_, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  '/file': (_, response) => response.setHeader('content-disposition', 'attachment').end('a file'),
  '/endless': `<h1>Kestrel</h1><img src=/drip>`,
  '/drip': (_, response) => void response.write('x'),
  '/silent': () => {},
  '/spin': `<h1>Kestrel</h1><script>for (;;);</script>`,
  '/tall': '<div style="height:10000000px">tall</div>',
  '/many': script('for (let i = 0; i < 10000; i++) fetch("/dot.png?" + i)'),
  '/large': script('fetch("/bytes").then((answer) => answer.arrayBuffer())'),
  '/bytes': (_, response) => {
    const more = () => {
      do sent += 1 << 20;
      while (response.write(Buffer.alloc(1 << 20)));
    };
    response.on('drain', more).on('error', () => {});
    more();
  },
  '/posting': script(
    // The page has not loaded before its last request was answered or cut, however slow the machine is.
    `const body = new Uint8Array(1 << 20); const post = () => { const request = new XMLHttpRequest(); request.open("POST", "/taken", false);
      request.send(body) }; try { for (let i = 0; i < 100; i++) post() } catch {}`,
  ),
  '/taken': (request, response) => void request.on('data', (piece: Buffer) => (taken += piece.length)).on('end', () => response.end()),
  '/frames':
    Array.from({ length: 30 }, (_, site) => `<iframe width=200 height=50 src="http://site-${site}.test:${port}/soon"></iframe>`).join('') +
    HERE,
  '/hog': script('const kept = []; for (;;) kept.push(new Uint8Array(64 << 20).fill(1))'),
  '/reloading': '<h1>Kestrel</h1><script>location.reload()</script>',
  '/refreshing': '<h1>Kestrel</h1><meta http-equiv=refresh content=0>',
  '/alerting': '<h1>Kestrel</h1><script>for (;;) alert(1)</script>',
  '/nodes': '<h1>Kestrel</h1><script>for (;;) document.body.append(document.createElement("p"))</script>',
  '/socket': script(`${tell} new WebSocket("ws://page.test:${port}/").onopen = () => tell("connected")`),
  '/dialogs': script('alert(1); confirm(2); prompt(3); print(); onbeforeunload = () => "stay"; window.open("/opened")'),
  '/opened': 'opened',
  '/crash': script('location = "chrome://crash"'),
  '/hostile': (_, response) => response.setHeader('content-type', 'text/html').end(hostile),
  '/remember': script(`${tell} tell(document.cookie + " " + (localStorage.seen ?? "") + " fresh");
    document.cookie = "seen=before; max-age=9999"; localStorage.seen = "before"`),
});

let web: Web;
let root: string;
let slot: Slot;
let egressProxy: EgressProxy;
/** The way of the last page through the proxy. */
let passage: ReturnType<EgressProxy['open']> | undefined;
let residents: Residents;
let stepper: Stepper;
let count = 0;
/** What `/hostile` answers, which changes from test to test. */
let hostile = '';
/** Whether our own way to the Internet is. */
let cut = false;
/** Bytes that a page was sent. */
let sent = 0;
/** Bytes that a page posted. */
let taken = 0;
const judge = openJudge({ engines: true });
/** The resident's key. */
const ONLINE = 'program:documents/page.ts online';

beforeAll(async () => {
  execFileSync('scripts/build-launcher');
  web = await openWeb(site);
  root = await mkdtemp('/tmp/filemill-webpage-');
  await chmod(root, 0o711);
  const settings = fetchSettings.parse({ ports: [web.port], allow: ['127.0.0.2/32'] });
  const direct = directConnector(settings, { resolve: web.resolve, judge: addressJudge(settings) });
  const connect: Connector['connect'] = async (...asked) => {
    if (cut) throw new Failure('OVERLOADED');
    return direct.connect(...asked);
  };
  const opened = await openEgressProxy({ ...direct, connect }, settings);
  egressProxy = {
    ...opened,
    open() {
      passage = opened.open();
      return passage;
    },
  };
  const launcher = launcherAt(resolve('.cache/bin/launcher'));
  slot = await openSlot(root, 0);
  const runtime = await stage(process.cwd(), process.execPath, root);
  const toolbox = await openToolbox({
    engines: [files, online],
    launcher,
    runtime,
    models: new Map(),
    cacheFile: join(root, 'versions.json'),
    slot,
  });
  residents = openResidents({ launcher, slot, perLife: 200, leakBytes: 2 ** 31, idleMs: 60_000 });
  stepper = createStepper({ toolbox, slot, residents, judge, egressProxy });
});
afterAll(async () => {
  await residents?.close();
  await egressProxy?.close();
  await judge.close();
  web?.close();
  await rm(root, { recursive: true, force: true });
});

interface Rendered {
  readonly path: string;
  readonly text: string;
  readonly warnings: readonly string[];
}

async function folders(content: string | Buffer, extension: string) {
  const folder = await slot.makeFolder(`job-${++count}`);
  const input = join(folder, `input.${extension}`);
  const output = join(folder, 'out');
  await writeFile(input, content);
  slot.own(input);
  slot.makeOwned(output);
  return { folder, input, output };
}

/** A page of the web, by the tool. @throws Failure */
async function render(url: string, fields: Readonly<Record<string, string>> = {}, limits: Partial<StepLimits> = {}): Promise<Rendered> {
  const { folder, input, output } = await folders(url.startsWith('/') ? web.base + url : url, 'url');
  if (!('methods' in tool.work)) throw new Error('the tool has no plan');
  const source = { path: input, format: 'url', facts: {} };
  const given = tool.input.parse(fields);
  const plan = tool.work.methods[0].plan({
    sources: [source],
    target: 'pdf',
    input: given,
    output,
    scratch: folder,
    passwordFile: undefined,
  });
  return take(online, plan, { folder, input, output }, limits);
}

/** An uploaded page. */
async function print(html: string | Buffer, target: 'pdf' | 'png' = 'pdf'): Promise<Rendered> {
  const places = await folders(html, 'html');
  const asked = { sheet: 'A4', ownSize: true, landscape: false, waitMs: 0, background: true } as const;
  return take(files, askPage({ source: 'html', ...places, target, ...asked }), places);
}

async function take(
  engine: typeof files,
  { steps: [step] }: ReturnType<typeof askPage>,
  { folder, input, output }: Awaited<ReturnType<typeof folders>>,
  limits: Partial<StepLimits> = {},
): Promise<Rendered> {
  if (step === undefined || !('ask' in step)) throw new Error('the plan has no step');
  const where = { engine, folder, limits: { ...LIMITS, ...limits }, signal: AbortSignal.timeout(120_000), onProgress: () => {} };
  // Sooner than in service, so that a test need not wait for what never comes.
  const request = { ...step.request, loadMs: 4_000 };
  const warnings = await stepper.runStep({ ...step, request }, { ...where, task: { input, output, passwordFile: undefined } });
  const [name = ''] = await readdir(output);
  const path = join(output, name);
  const text = name.endsWith('.pdf') ? execFileSync('pdftotext', [path, '-']).toString() : '';
  return { path, text, warnings: warnings.map(({ code }) => code) };
}

/** Asks the proxy for the first page. @returns the status */
async function through({ port }: EgressProxy, agent?: Agent, more: Readonly<Record<string, string>> = {}): Promise<number> {
  const headers = { host: `page.test:${web.port}`, ...more };
  const asked = request({ host: '127.0.0.1', port, path: `${web.base}/`, headers, ...(agent && { agent }) }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  return answer.statusCode ?? 0;
}

const sizeOf = (path: string): number[] =>
  (/Page size:\s+([\d.]+) x ([\d.]+)/.exec(execFileSync('pdfinfo', [path]).toString())?.slice(1) ?? []).map((points) =>
    Math.round((Number(points) / 72) * 100),
  );

/** Share of pixels of a page's picture that are saturated in this channel: red 0, green 1, blue 2. */
function shareOf(channel: number, path: string): number {
  const picture = execFileSync('pdftoppm', ['-r', '36', '-singlefile', path], { maxBuffer: 2 ** 26 });
  const [header = ''] = /^P6\s+\d+\s+\d+\s+255\s/.exec(picture.subarray(0, 50).toString('latin1')) ?? [];
  const pixels = picture.subarray(header.length);
  let found = 0;
  for (let at = 0; at < pixels.length; at += 3)
    if ([0, 1, 2].every((each) => (each === channel ? (pixels[at + each] ?? 0) > 200 : (pixels[at + each] ?? 0) < 60))) found++;
  return found / (pixels.length / 3);
}

describe('a page on the web', { timeout: 60_000 }, () => {
  it('is not blamed while our own way to the Internet is cut', async () => {
    cut = true;
    try {
      await expect(render('/')).rejects.toMatchObject({ code: 'CONVERSION_FAILED', details: { reason: 'internal' } });
    } finally {
      cut = false;
    }
  });

  it.each(['/', '/moved', '/onward'])('%s comes with its text and its pictures', async (path) => {
    const page = await render(path);
    expect(page.text).toContain('Kestrel');
    expect(shareOf(0, page.path)).toBeGreaterThan(0.005);
    expect(page.warnings).toEqual([]);
  });

  it.each([
    [{}, [827, 1169]],
    [{ page_size: 'letter' }, [850, 1100]],
    [{ page_size: 'Legal', landscape: '1' }, [1400, 850]],
    [{ page_size: 'A3' }, [1169, 1654]],
  ] as const)('%j is a sheet of %j hundredths of an inch', async (fields, size) => {
    const found = sizeOf((await render('/', fields)).path);
    for (const [side, inches] of size.entries()) expect(Math.abs((found[side] ?? 0) - inches)).toBeLessThanOrEqual(1);
  });

  it('is waited for as long as asked', async () => {
    expect((await render('/soon', { wait_ms: '2000' })).text).toContain('arrived');
    expect((await render('/never')).text).toContain('nothing');
  });

  it('is printed with its backgrounds, or without', async () => {
    expect(shareOf(2, (await render('/')).path)).toBeGreaterThan(0.1);
    expect(shareOf(2, (await render('/', { print_background: 'false' })).path)).toBe(0);
  });

  it('finds no trace of the page before', async () => {
    for (let visit = 0; visit < 2; visit++) expect((await render('/remember')).text).toMatch(/^\s*fresh/);
  });

  it.each([
    ['/away', ['address']],
    ['/away-literal', ['address']],
    ['/nowhere', []],
    ['/to-file', []],
    ['/file', []],
    ['http://private.test:PORT/', ['address']],
    ['http://metadata.test:PORT/latest/meta-data/', ['address']],
    ['http://unheard.test:PORT/', ['dns']],
    ['http://page.test:8090/', ['port']],
    ['https://page.test:PORT/', []],
    ['file:///etc/passwd', []],
    ['chrome://version', []],
  ])('%s fails as a page that cannot be reached, refused for %j', async (url, refused) => {
    const failing = render(url.replace('PORT', String(web.port)));
    await expect(failing).rejects.toMatchObject({ code: 'CONVERSION_FAILED', details: { reason: 'page_unreachable', refused } });
    expect(web.heard).toEqual([]);
  });

  it('is refused when its name leads elsewhere the second time', async () => {
    const name = `http://rebinding.test:${web.port}/`;
    expect((await render(name)).text).toContain('Kestrel');
    await expect(render(name)).rejects.toMatchObject({ details: { refused: ['address'] } });
    expect(web.heard).toEqual([]);
  });

  it('that goes on loading is printed as it is', async () => {
    expect(await render('/endless')).toMatchObject({ text: expect.stringContaining('Kestrel'), warnings: ['page_incomplete'] });
  });

  it('whose server says nothing cannot be reached', async () => {
    await expect(render('/silent')).rejects.toMatchObject({ details: { reason: 'page_unreachable' } });
  });

  it('whose script never ends runs out of time, and the next is rendered', async () => {
    await expect(render('/spin', {}, { wallMs: 8_000 })).rejects.toMatchObject({ details: { reason: 'timeout' } });
    expect((await render('/')).text).toContain('Kestrel');
  });

  it('of more sheets than are printed is refused', async () => {
    const details = { reason: 'input_limit', limit: 'pages', max: 2000 };
    await expect(render('/tall')).rejects.toMatchObject({ details });
  });

  it('that asks for ten thousand things is rendered', async () => {
    expect((await render('/many', { wait_ms: '1000' })).text).toContain('still here');
  });

  it('gets no more answers than its share', async () => {
    using stack = new DisposableStack();
    const { refused } = stack.adopt(egressProxy.open(), (opened) => opened.close());
    const agent = new Agent({ keepAlive: true, maxSockets: 16 });
    const before = web.asked.length;
    const statuses = await Promise.all(Array.from({ length: 3_010 }, () => through(egressProxy, agent)));
    agent.destroy();
    expect(statuses.filter((status) => status === 200)).toHaveLength(3_000);
    expect(web.asked.length - before).toBe(3_000);
    expect([...refused]).toEqual(['unreachable']);
  });

  it('gets no more bytes than its share', async () => {
    await render('/large', { wait_ms: '10000' });
    // What is on its way fills some buffers more.
    expect(sent / 2 ** 20).toBeGreaterThan(200);
    expect(sent / 2 ** 20).toBeLessThan(240);
    expect((await render('/')).text).toContain('Kestrel');
  });

  it('sends no more bytes than its share, in bodies and in headers', async () => {
    await render('/posting');
    expect(taken / 2 ** 20).toBeGreaterThan(8);
    expect(taken / 2 ** 20).toBeLessThanOrEqual(16);
    using stack = new DisposableStack();
    stack.adopt(egressProxy.open(), (opened) => opened.close());
    const agent = new Agent({ keepAlive: true, maxSockets: 16 });
    const headers = { 'x-padding': 'a'.repeat(12 * 1024) };
    const statuses = await Promise.all(Array.from({ length: 1_500 }, () => through(egressProxy, agent, headers).catch(() => 'cut')));
    agent.destroy();
    const answered = statuses.filter((status) => status === 200).length;
    expect(answered * 12 * 1024).toBeGreaterThan(8 * 2 ** 20);
    expect(answered * 12 * 1024).toBeLessThan(16 * 2 ** 20);
    expect((await render('/')).text).toContain('Kestrel');
  });

  it('may speak through a tunnel', async () => {
    expect((await render('/socket', { wait_ms: '1000' })).text).toContain('connected');
  });

  it('comes with thirty frames of other sites', async () => {
    const { text } = await render('/frames', { wait_ms: '1500' });
    expect(text.match(/arrived/g)).toHaveLength(30);
  });

  it('that takes all memory fails, and the next is rendered', async () => {
    const failing = render('/hog');
    await expect(failing).rejects.toMatchObject({ details: { reason: expect.stringMatching(/^(memory|engine_crashed)$/) } });
    expect((await render('/')).text).toContain('Kestrel');
  });

  it.each([
    ['/reloading', /^(printed|output_invalid)$/],
    ['/refreshing', /^(printed|output_invalid)$/],
    ['/alerting', /^timeout$/],
    ['/nodes', /^(timeout|memory|engine_crashed)$/],
  ])('%s ends, and the next is rendered', async (path, ends) => {
    const how = await render(path, {}, { wallMs: 8_000 }).then(
      ({ text }) => (text.includes('Kestrel') ? 'printed' : 'empty'),
      ({ details }) => details.reason,
    );
    expect(how).toMatch(ends);
    expect((await render('/')).text).toContain('Kestrel');
  });

  it('waits for no dialog, and opens no window', async () => {
    expect((await render('/dialogs', { wait_ms: '500' })).text).toContain('still here');
    expect(web.asked).not.toContain('/opened');
  });

  it('that takes the browser with it costs the next one nothing', async () => {
    await render('/');
    const [browser] = runningBelow('chromium-headless-shell', '--remote-debugging-pipe', residents.pid(ONLINE));
    // Process 0 would be this test and all that it started.
    if (browser === undefined) throw new Error('there is no browser');
    process.kill(browser, 'SIGKILL');
    await eventually(() => isGone(browser), 'the browser to end');
    expect((await render('/')).text).toContain('Kestrel');
  });

  it('and thirty more leave few ended processes behind', { timeout: 240_000 }, async () => {
    await render('/');
    const resident = residents.pid(ONLINE);
    let most = 0;
    for (let page = 0; page < 30; page++) {
      expect((await render('/')).text).toContain('Kestrel');
      most = Math.max(most, endedBelow(resident ?? 0).length);
    }
    expect(residents.pid(ONLINE)).toBe(resident);
    // One a page until the browser is replaced.
    expect(most).toBeLessThan(24);
  });

  it('that crashes fails alone', async () => {
    await render('/crash').catch(() => {});
    expect((await render('/')).text).toContain('Kestrel');
  });

  it('has no way out once it is rendered', async () => {
    await render('/');
    const before = web.asked.length;
    expect(await through(egressProxy)).toBe(502);
    expect(web.asked.length).toBe(before);
  });
});

describe('what a page may not do', { timeout: 60_000 }, () => {
  const AT_THE_GATE = ['frames', 'pictures and styles', 'requests', 'redirects of pictures', 'forms'];
  const targets = ['http://127.0.0.1:PORT/', 'http://private.test:PORT/', 'http://[::ffff:127.0.0.1]:PORT/', 'http://metadata.test:PORT/'];
  const each = (write: (url: string) => string) => targets.map(write).join('');
  it.each([
    ['frames', each((url) => `<iframe src="${url}"></iframe><object data="${url}"></object><embed src="${url}">`)],
    [
      'frames of local files',
      '<iframe src="file:///etc/passwd"></iframe><iframe src="view-source:file:///etc/passwd"></iframe><iframe src="chrome://version"></iframe>',
    ],
    [
      'pictures and styles',
      each((url) => `<img src="${url}"><link rel=stylesheet href="${url}"><style>@import "${url}"; p { background: url(${url}) }</style>`),
    ],
    [
      'hints',
      each(
        (url) =>
          `<link rel=preconnect href="${url}"><link rel=dns-prefetch href="${url}"><link rel=prefetch href="${url}"><link rel=preload as=fetch href="${url}">`,
      ),
    ],
    [
      'requests',
      script(`${tell} for (const url of ${JSON.stringify(targets)}) { fetch(url).then((r) => r.text()).then(tell, () => {});
      new EventSource(url); new WebSocket(url.replace("http", "ws")); navigator.sendBeacon(url, "x"); new Worker(url) }`),
    ],
    ['redirects of pictures', '<img src=/away><iframe src=/away-literal></iframe><iframe src=/to-file></iframe>'],
    ['reading files', script(`${tell} fetch("file:///etc/passwd").then((r) => r.text()).then(tell, () => {})`)],
    [
      'WebRTC',
      script(`const c = new RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:PORT" }, { urls: "turn:127.0.0.1:PORT?transport=tcp", username: "a", credential: "b" }] });
      c.createDataChannel("x"); c.createOffer().then((o) => c.setLocalDescription(o));`),
    ],
    ['a service worker', script('navigator.serviceWorker?.register("/dot.png").catch(() => {})')],
    [
      'forms',
      each((url) => `<form action="${url}" method=post target=f><input name=a value=b></form>`) +
        '<iframe name=f></iframe><script>for (const f of document.forms) f.submit()</script>',
    ],
  ])('%s reach no server, and the page is rendered', async (name, html) => {
    hostile = `${html}${HERE}`.replaceAll('PORT', String(web.port));
    const { text } = await render('/hostile', { wait_ms: '700' });
    expect(text).toContain('still here');
    expect(text).not.toMatch(/canary|root:/);
    expect(web.heard).toEqual([]);
    // These were tried, and the proxy refused them.
    if (AT_THE_GATE.includes(name)) expect([...(passage?.refused ?? [])]).toContain('address');
  });
});

describe('an uploaded page', { timeout: 60_000 }, () => {
  it('runs nothing and asks for nothing', async () => {
    const before = web.asked.length;
    const html = `${script(`${tell} tell("ran")`)}<img src="${web.base}/dot.png"><iframe src="${web.base}/"></iframe><meta http-equiv=refresh content="0;url=${web.base}/"><iframe srcdoc="<p>inner</p>"></iframe><object data="file:///etc/passwd"></object>`;
    const { text } = await print(html);
    expect(text).toContain('still here');
    expect(text).toContain('nothing');
    expect(text).not.toMatch(/ran|root:|Kestrel/);
    expect(web.asked.length).toBe(before);
  });

  it('is read in the encoding that it has', async () => {
    expect((await print('<p>Grüße, Äpfel')).text).toContain('Grüße, Äpfel');
    expect((await print(Buffer.from('<meta charset=iso-8859-1><p>Grüße', 'latin1'))).text).toContain('Grüße');
    expect((await print(Buffer.from('\ufeff<p>Grüße, Äpfel', 'utf16le'))).text).toContain('Grüße, Äpfel');
  });

  it('shows its own pictures and styles, on the sheet that it asks for', async () => {
    const html = `<style>@page { size: 4in 5in } div { background: red; height: 1in }</style><div></div><img src="data:image/png;base64,${DOT.toString('base64')}">`;
    const page = await print(html);
    expect(sizeOf(page.path)).toEqual([400, 500]);
    expect(shareOf(0, page.path)).toBeGreaterThan(0.1);
  });

  it('is a picture of all of it', async () => {
    const { path } = await print('<body style="margin:0"><div style="height:3000px;background:red">');
    expect(path).toMatch(/pdf$/);
    const picture = await print('<body style="margin:0"><div style="height:3000px;background:red">', 'png');
    expect(execFileSync('identify-im6.q16', ['-format', '%w %h %[pixel:p{640,2990}]', picture.path]).toString()).toMatch(
      /^1280 3000 (red|srgb\(255,0,0\))/,
    );
    expect(await print('<div style="height:20000px">', 'png')).toMatchObject({ warnings: ['page_cut'] });
  });
});

it('the canaries do hear a program that is not confined', async () => {
  await fetch(`http://127.0.0.1:${web.port}/really`);
  createSocket('udp4').unref().send('x', web.port, '127.0.0.1');
  await eventually(() => web.heard.includes('/really') && web.heard.includes('a datagram'), 'the canaries');
});
