import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Missing, StoreFull, TooLarge, Unreachable } from '../../../src/objects/store.ts';
import { download, upload } from '../../../src/objects/transfer.ts';
import { bytesOf } from '../../conformance/samples.ts';

describe('a transfer by http', () => {
  let folder: string;
  let url: string;
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  const server = createServer((request, response) => answer(request, response));
  const never = new AbortController().signal;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filemill-http-'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/bucket/key?signature=secret`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true });
  });

  const file = () => join(folder, 'file');
  const answering = (status: number, body: Uint8Array | string = '', headers: Record<string, string | number> = {}) => {
    answer = (request, response) => {
      request.resume().on('end', () => response.writeHead(status, headers).end(body));
    };
  };

  it('fetches the object', async () => {
    const bytes = randomBytes(300_000);
    answering(200, bytes, { 'content-length': bytes.byteLength });
    await download(url, file(), 300_000, never);
    expect(await readFile(file())).toEqual(bytes);
  });

  it('sends the file with its length, as S3 demands, and tells its hash', async () => {
    for (const bytes of [randomBytes(300_000), Buffer.of()]) {
      const received = Promise.withResolvers<Buffer>();
      const length = Promise.withResolvers<string | undefined>();
      answer = (request, response) => {
        length.resolve(request.headers['content-length']);
        bytesOf(request).then((body) => {
          received.resolve(body);
          response.end();
        }, received.reject);
      };
      await writeFile(file(), bytes);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      expect(await upload(file(), url, 300_000, never)).toEqual({ sizeBytes: bytes.byteLength, sha256 });
      expect(await received.promise).toEqual(bytes);
      expect(await length.promise).toBe(String(bytes.byteLength));
    }
  });

  it('uses one connection for transfers that follow each other', async () => {
    let connections = 0;
    const count = () => void connections++;
    server.on('connection', count);
    answering(200, 'abc');
    for (const name of ['one', 'two']) {
      await download(url, join(folder, name), 100, never);
      await upload(join(folder, name), url, 100, never);
    }
    server.off('connection', count);
    expect(connections).toBe(1);
  });

  it('says that an upload is refused, though the server reads none of it', async () => {
    await writeFile(file(), randomBytes(5_000_000));
    answer = (_, response) => void response.writeHead(403).end();
    await expect(upload(file(), url, 5_000_000, never)).rejects.toThrow('403');
  });

  const refusals: Record<string, [() => void, (error: Error) => void]> = {
    'that is not there': [() => answering(404), (error) => expect(error).toBeInstanceOf(Missing)],
    'that is declared too large': [() => answering(200, 'x'.repeat(200)), (error) => expect(error).toBeInstanceOf(TooLarge)],
    'that proves too large': [
      () => answering(200, 'x'.repeat(200), { 'transfer-encoding': 'chunked' }),
      (error) => expect(error).toBeInstanceOf(TooLarge),
    ],
    'that ends early': [
      () => {
        answer = (_, response) => {
          response.writeHead(200, { 'content-length': 50 });
          response.write('x', () => response.destroy());
        };
      },
      (error) => expect(error).toBeInstanceOf(Unreachable),
    ],
    'that lies elsewhere': [
      () => {
        answer = (request, response) => {
          if (request.url === '/elsewhere') response.end('abc');
          else response.writeHead(302, { location: '/elsewhere' }).end();
        };
      },
      (error) => expect(error).toBeInstanceOf(Unreachable),
    ],
    'whose grant has lapsed': [() => answering(403), (error) => expect(error.message).toContain('403')],
  };
  for (const [which, [arrange, expected]] of Object.entries(refusals)) {
    it(`does not fetch an object ${which}, and leaves no file`, async () => {
      arrange();
      const error = await download(url, file(), 100, never).catch((thrown: Error) => thrown);
      expected(error as Error);
      expect(String(error), 'a granted URL is a secret').not.toContain('secret');
      expect(await readdir(folder)).toEqual([]);
    });
  }

  it('ends when aborted while the other side is silent', async () => {
    const abort = new AbortController();
    answer = (_, response) => {
      response.writeHead(200).write('x', () => abort.abort());
    };
    await expect(download(url, file(), 100, abort.signal)).rejects.toThrow(/abort/i);
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([
    [408, ''],
    [400, '<Error><Code>RequestTimeout</Code></Error>'],
    [400, '<Error><Code>IncompleteBody</Code></Error>'],
  ])("that stood still is the connection's fault and not the file's: %i %s", async (status, text) => {
    await writeFile(file(), 'abc');
    answering(status, text);
    await expect(upload(file(), url, 100, never)).rejects.toBeInstanceOf(Unreachable);
    answering(400, '<Error><Code>EntityTooLarge</Code></Error>');
    await expect(upload(file(), url, 100, never)).rejects.not.toBeInstanceOf(Unreachable);
  });

  it('says when an upload finds no room, or is refused', async () => {
    await writeFile(file(), 'abc');
    answering(507);
    await expect(upload(file(), url, 100, never)).rejects.toThrow(StoreFull);
    answering(403);
    await expect(upload(file(), url, 100, never)).rejects.toThrow('403');
  });
});
