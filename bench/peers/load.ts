/** The client of all contenders, in a process of its own: sends one request again and again over kept connections, and counts its own CPU. */
import { readFile } from 'node:fs/promises';
import { Agent, request as send } from 'node:http';
import { basename } from 'node:path';
import { answer } from '../child.ts';

/** What is asked of a contender, again and again. */
export interface Wanted {
  readonly url: string;
  /** A form to be posted; without one, the address is got. */
  readonly form?: { readonly fields: Readonly<Record<string, string>>; readonly fileField: string; readonly file: string };
  /** What a right answer begins with (latin1), so that a fast refusal is no figure. */
  readonly magic: string;
}

export interface Load {
  readonly wanted: Wanted;
  readonly clients: number;
  readonly count: number;
}

export interface Loaded {
  /** ms each. */
  readonly took: readonly number[];
  readonly seconds: number;
  /** ms of the client's CPU. */
  readonly clientCpu: number;
}

const BOUNDARY = 'filemill-bench-boundary';
const ANSWER_MS = 120_000;

/** Built once for all requests of a load: the client's own work must not be what is measured. */
async function bodyOf({ fields, fileField, file }: NonNullable<Wanted['form']>): Promise<Buffer> {
  const part = (disposition: string, value: Buffer | string) => [
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`),
    Buffer.from(value),
    Buffer.from('\r\n'),
  ];
  return Buffer.concat([
    ...Object.entries(fields).flatMap(([name, value]) => part(`name="${name}"`, value)),
    ...part(`name="${fileField}"; filename="${basename(file)}"`, await readFile(file)),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ]);
}

/** Work with its whole answer, which filemill keeps at an address that it leads to. @returns ms */
async function once(agent: Agent, { url, magic }: Wanted, body: Buffer | undefined): Promise<number> {
  const started = performance.now();
  const first = await call(agent, url, body);
  const { status, bytes } = first.location === undefined ? first : await call(agent, new URL(first.location, url).href, undefined);
  const took = performance.now() - started;
  if (status !== 200 || bytes.toString('latin1', 0, magic.length) !== magic)
    throw new Error(`${url} answered ${status}: ${bytes.toString('utf8', 0, 300)}`);
  return took;
}

interface Answered {
  readonly status: number | undefined;
  readonly location: string | undefined;
  readonly bytes: Buffer;
}

function call(agent: Agent, url: string, body: Buffer | undefined): Promise<Answered> {
  const headers = body === undefined ? {} : { 'content-type': `multipart/form-data; boundary=${BOUNDARY}`, 'content-length': body.length };
  return new Promise((resolve, reject) => {
    const outgoing = send(url, { method: body === undefined ? 'GET' : 'POST', agent, headers, timeout: ANSWER_MS }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
      const { statusCode: status, headers: answered } = response;
      response.on('end', () => resolve({ status, location: answered.location, bytes: Buffer.concat(chunks) }));
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error(`${url} did not answer within ${ANSWER_MS / 1000} s`)));
    outgoing.on('error', reject).end(body);
  });
}

answer<Load>(async ({ wanted, clients, count }): Promise<Loaded> => {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const body = wanted.form && (await bodyOf(wanted.form));
  let left = count;
  const took: number[] = [];
  const cpu = process.cpuUsage();
  const started = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (left-- > 0) took.push(await once(agent, wanted, body));
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  agent.destroy();
  return { took, seconds, clientCpu: (user + system) / 1000 };
});
