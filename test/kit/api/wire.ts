/** What a client library would not send, and what a service must not keep: raw requests, hand-made forms, and a look into the data folder. */
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { untilNextLook } from '../exec/looks.ts';

export const BOUNDARY = 'between7parts';
export const FORM = `multipart/form-data; boundary=${BOUNDARY}`;
export const END = `--${BOUNDARY}--\r\n`;

/** The head of a text field; its value and a line break follow. */
export const fieldHead = (name: string): string => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`;
export const field = (name: string, value: string): string => `${fieldHead(name)}${value}\r\n`;

/** The head of a file part; its content and a line break follow. */
export const fileHead = (filename: string, name = 'file'): string =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: application/octet-stream\r\n\r\n`;

export const file = (filename: string, content: string, name = 'file'): string => `${fileHead(filename, name)}${content}\r\n`;

export function connectTo(url: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  // What the server closes early is judged by what it said before.
  socket.on('error', () => {});
  return socket;
}

export interface RawAnswer {
  /** The status of the first final answer; 0 when none came. */
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** Everything that came, interim answers included. */
  readonly text: string;
}

/**
 * Sends bytes as they are, and reads until the server closes, or until an answer of a declared length is there in full.
 * @param end whether to close our side after sending
 */
export function raw(url: string, bytes: string | Buffer, { end = false }: { readonly end?: boolean } = {}): Promise<RawAnswer> {
  const socket = connectTo(url);
  return new Promise((resolve) => {
    let text = '';
    const finish = () => {
      socket.destroy();
      resolve(answerIn(text));
    };
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const { status, headers, body } = answerIn(text);
      if (status !== 0 && headers.has('content-length') && body.length >= Number(headers.get('content-length'))) finish();
    });
    socket.on('close', finish);
    socket.write(bytes);
    if (end) socket.end();
  });
}

/** A POST of a hand-made form. @param length what the request claims, where that shall not be the truth */
export function rawForm(
  url: string,
  body: string,
  length = Buffer.byteLength(body),
  type = FORM,
  path = '/api/v1/convert',
): Promise<RawAnswer> {
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n`;
  return raw(url, head + body);
}

function answerIn(text: string): RawAnswer {
  const final = text.replace(/^(?:HTTP\/1\.1 1\d\d [^\r]*\r\n(?:[^\r]+\r\n)*\r\n)+/, '');
  const split = final.indexOf('\r\n\r\n');
  const headers = new Headers();
  if (split < 0) return { status: 0, headers, body: '', text };
  const [first = '', ...lines] = final.slice(0, split).split('\r\n');
  for (const line of lines) headers.append(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1));
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(first)?.[1] ?? 0), headers, body: final.slice(split + 4), text };
}

/** Every file below `objects`, half-written ones too. */
export const objectsIn = (dataDir: string): string[] => filesBelow(join(dataDir, 'objects'));

/** What has come since `before`: files of earlier jobs may still go meanwhile. */
export const newObjectsIn = (dataDir: string, before: readonly string[]): string[] =>
  objectsIn(dataDir).filter((path) => !before.includes(path));

function filesBelow(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.flatMap((entry) => (entry.isDirectory() ? filesBelow(join(folder, entry.name)) : [join(folder, entry.name)]));
  } catch (error) {
    // It was removed meanwhile, as the store does with what is empty.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** The stored records' states, and how many orders wait or are held. */
export function storedIn(dataDir: string): { readonly states: readonly string[]; readonly orders: number } {
  const database = new DatabaseSync(join(dataDir, 'filemill.db'), { readOnly: true });
  try {
    const records = database.prepare('SELECT record FROM jobs').all();
    const orders = database.prepare('SELECT count(*) AS orders FROM orders').get();
    return {
      states: records.map(({ record }) => (JSON.parse(String(record)) as { state: string }).state),
      orders: Number(orders?.['orders']),
    };
  } finally {
    database.close();
  }
}

/** Names of the programs that descend from process `root`, by /proc. */
export function programsUnder(root: number): string[] {
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        // `pid (name) state parent`: the name may hold anything but its last parenthesis is the last there is.
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        const end = stat.lastIndexOf(')');
        return [
          {
            pid: Number(name),
            name: stat.slice(stat.indexOf('(') + 1, end),
            state: stat[end + 2],
            parent: Number(stat.slice(end + 4).split(' ')[0]),
          },
        ];
      } catch {
        // It ended meanwhile.
        return [];
      }
    });
  const below = (parent: number): typeof processes =>
    processes.filter((one) => one.parent === parent).flatMap((one) => [one, ...below(one.pid)]);
  return below(root)
    .filter(({ state }) => state !== 'Z')
    .map(({ name }) => name);
}

/** Looks again and again until `look` finds what it wants. @throws when that takes longer than `withinMs` */
export async function eventually<T>(
  look: () => T | undefined | false | Promise<T | undefined | false>,
  what: string,
  withinMs = 60_000,
): Promise<T> {
  const [begun, until] = [performance.now(), Date.now() + withinMs];
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > until) throw new Error(`waited ${withinMs} ms in vain: ${what}`);
    await untilNextLook(begun);
  }
}
