/** Hostile requests, and how long the event loop of this process is held by one. */
import { Worker } from 'node:worker_threads';
import { watchHolds } from '../../kit/exec/event-loop.ts';

/** @returns what `work` returns, and the longest that the loop was held while it went on, ms */
export async function held<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly longestMs: number }> {
  const holds = watchHolds();
  try {
    return { result: await work(), longestMs: holds.stop() };
  } finally {
    holds.stop();
  }
}

/** A request that is written by a separate thread: what it costs to make is not the service's. */
export interface Attack {
  readonly path: string;
  /** Beside Host and length. */
  readonly headers: Readonly<Record<string, string>>;
  /** Texts, and how often each comes. */
  readonly body: readonly (readonly [text: string, times: number])[];
  /** Bytes of each chunk; without it the length is declared. */
  readonly chunks?: number;
}

export interface Attacked {
  /** 0 where the connection was closed without an answer. */
  readonly status: number;
  readonly body: string;
}

export function attack(url: string, request: Attack): Promise<Attacked> {
  const worker = new Worker(SENDER, { eval: true, workerData: { ...request, port: Number(new URL(url).port) } });
  return new Promise<Attacked>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject);
  }).finally(() => worker.terminate());
}

const SENDER = `
const { connect } = require('node:net');
const { parentPort, workerData: { port, path, headers, body, chunks } } = require('node:worker_threads');
const length = body.reduce((sum, [text, times]) => sum + Buffer.byteLength(text) * times, 0);
const head = { host: '127.0.0.1', connection: 'close', ...headers, ...(chunks ? { 'transfer-encoding': 'chunked' } : { 'content-length': length }) };
const socket = connect(port, '127.0.0.1');
socket.on('error', () => {});
let answer = '';
socket.on('data', (data) => {
  answer += data.toString('latin1');
  const [before, ...rest] = answer.split('\\r\\n\\r\\n');
  const announced = /content-length: (\\d+)/i.exec(before)?.[1];
  // The answer is complete: there is nothing to wait for.
  if (announced !== undefined && rest.join('\\r\\n\\r\\n').length >= Number(announced)) socket.destroy();
});
socket.on('close', () => {
  const [before, ...rest] = answer.split('\\r\\n\\r\\n');
  parentPort.postMessage({ status: Number(/^HTTP\\/1.1 (\\d+)/.exec(before)?.[1] ?? 0), body: rest.join('\\r\\n\\r\\n') });
});
function* pieces() {
  yield Buffer.from('POST ' + path + ' HTTP/1.1\\r\\n' + Object.entries(head).map((header) => header.join(': ') + '\\r\\n').join('') + '\\r\\n');
  for (const [text, times] of body) {
    const each = Math.max(1, Math.floor(65536 / text.length));
    for (let left = times; left > 0; left -= each) {
      const piece = Buffer.from(text.repeat(Math.min(left, each)));
      if (!chunks) { yield piece; continue; }
      const framed = [];
      for (let at = 0; at < piece.length; at += chunks) {
        const part = piece.subarray(at, at + chunks);
        framed.push(Buffer.from(part.length.toString(16) + '\\r\\n'), part, Buffer.from('\\r\\n'));
      }
      yield Buffer.concat(framed);
    }
  }
  if (chunks) yield Buffer.from('0\\r\\n\\r\\n');
}
(async () => {
  for (const piece of pieces()) {
    if (socket.destroyed || answer !== '') return;
    if (!socket.write(piece)) await new Promise((resume) => { socket.once('drain', resume).once('close', resume).once('data', resume); });
  }
})();
`;
