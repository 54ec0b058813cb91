/** Files between this machine and a filemill server: an upload before a call, and the download of its result. */
import { randomBytes } from 'node:crypto';
import { unlink } from 'node:fs/promises';
import { request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Folders, type OpenFile, PathRefused } from './folders.ts';
import { parsed, refusalIn } from './refusal.ts';
import { askServer, type Server } from './server.ts';

/** For one file, ms: a server ends a transfer that is slower sooner. */
const TRANSFER_MS = 600_000;
/** Length of an answer that is not a file, bytes. */
const MOST_ANSWER = 64 * 1024;

/** @returns the upload's id @throws PathRefused */
export async function uploadPath(server: Server, folders: Folders, path: string, signal: AbortSignal): Promise<string> {
  const file = await folders.read(path);
  try {
    const answer = await post(server, '/api/v1/uploads', file, AbortSignal.any([signal, AbortSignal.timeout(TRANSFER_MS)]));
    const { data } = (parsed(answer.text) ?? {}) as { data?: { upload_id?: string } };
    if (data?.upload_id === undefined) throw new PathRefused(`The server did not accept the file: ${refusalIn(server, answer).message}`);
    return data.upload_id;
  } catch (error) {
    throw error instanceof PathRefused ? error : new PathRefused(`The file could not be uploaded to ${server.url}.`);
  } finally {
    await file.handle.close();
  }
}

/** The job has its own copy; what stays expires, and until then counts towards how many uploads a client may keep. */
export async function forget(server: Server, ids: readonly string[]): Promise<void> {
  for (const id of ids)
    await askServer(server, `/api/v1/uploads/${id}`, { method: 'DELETE', signal: AbortSignal.timeout(FORGET_MS) }).catch(() => undefined);
}
const FORGET_MS = 5_000;

/** A form with one file, of a known length: the server reserves as much. */
function post(
  server: Server,
  route: string,
  { handle, path, sizeBytes }: OpenFile,
  signal: AbortSignal,
): Promise<Parameters<typeof refusalIn>[1]> {
  const url = `${server.url}${route}`;
  const boundary = `filemill-${randomBytes(16).toString('hex')}`;
  const name = basename(path).replace(/[\r\n"]/g, (character) => encodeURIComponent(character));
  const head = Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  const headers = {
    ...server.headers,
    'content-type': `multipart/form-data; boundary=${boundary}`,
    'content-length': head.length + sizeBytes + tail.length,
  };
  return new Promise((resolve, reject) => {
    const request = (url.startsWith('https:') ? overHttps : overHttp)(url, { method: 'POST', headers, signal }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        if (text.length > MOST_ANSWER) request.destroy(new Error('the answer is too long'));
      });
      const { statusCode: status = 0, headers: received } = response;
      response.on('end', () => resolve({ status, headers: { get: (name) => received[name]?.toString() ?? null }, text }));
      response.on('error', reject);
    });
    request.on('error', reject);
    // A file that grows meanwhile is sent as long as it was.
    const content = sizeBytes === 0 ? [] : handle.createReadStream({ start: 0, end: sizeBytes - 1, autoClose: false });
    pipeline(Readable.from(joined(head, content, tail)), request).catch(reject);
  });
}

async function* joined(head: Buffer, content: Iterable<Buffer> | AsyncIterable<Buffer>, tail: Buffer): AsyncGenerator<Buffer> {
  yield head;
  for await (const chunk of content) yield chunk;
  yield tail;
}

/** @param saveTo as the caller names the place @returns where it is @throws PathRefused */
export async function downloadTo(
  server: Server,
  folders: Folders,
  url: string,
  saveTo: string,
  name: string,
  signal: AbortSignal,
): Promise<string> {
  const { handle, path } = await folders.create(saveTo, name);
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TRANSFER_MS)]);
    const response = await askServer(server, outputIn(url), { signal: limit });
    if (!response.ok || response.body === null) throw new PathRefused(`The result could not be downloaded: HTTP ${response.status}.`);
    await pipeline(Readable.fromWeb(response.body), handle.createWriteStream());
    return path;
  } catch (error) {
    await handle.close().catch(() => undefined);
    // Half a file would look like a result.
    await unlink(path).catch(() => undefined);
    throw error instanceof PathRefused ? error : new PathRefused('The result could not be downloaded.');
  }
}

/**
 * An output is asked of the server that made it, at the address by which it is reached from here: what it calls itself may be known elsewhere alone,
 * and no answer makes this process ask another server.
 * @throws PathRefused
 */
function outputIn(url: string): string {
  const [output] = /\/api\/v1\/(?:jobs|batches)\/\w{1,64}\/output$/.exec(URL.parse(url)?.pathname ?? '') ?? [];
  if (output === undefined) throw new PathRefused('The result could not be downloaded: the server names an output that is elsewhere.');
  return output;
}
