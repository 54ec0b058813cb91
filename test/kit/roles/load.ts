/** Mixed jobs for a cluster, each of which can be told from all others by its output, and clients that are patient. */
import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import { expect } from 'vitest';
import { pdf } from '../fixtures/documents/pdf.ts';

interface Work {
  readonly name: string;
  readonly target: string;
  readonly bytes: Buffer;
  /** @throws where the output is not this job's */
  readonly judge: (output: Buffer) => Promise<void>;
}

export interface Ended {
  readonly id: string;
  /** `done`, or the reason why not. */
  readonly end: string;
}

interface Told {
  readonly status: number;
  readonly data?: {
    readonly job_id?: string;
    readonly status?: string;
    readonly upload_id?: string;
    readonly jobs?: readonly { readonly job_id: string }[];
  };
  readonly error?: { readonly code: string; readonly details: Record<string, unknown> };
}

export interface Client {
  /** Sends what this number stands for, follows it to its end and judges what comes of it: one job, or a batch of three. */
  runJob(index: number): Promise<Ended[]>;
  /** Sends a picture, and does not wait. @returns the job's id */
  send(index: number): Promise<string>;
  follow(id: string, judge?: Work['judge']): Promise<Ended>;
  /** As a patient client does it: it asks another replica, again and again, until one gives a final answer. */
  ask(path: string, init?: () => RequestInit, suffices?: (told: Told, body: Buffer) => boolean): Promise<{ told: Told; body: Buffer }>;
}

/** @param urls of the replicas, as they are now @param longestMs for one answer */
export function patientClient(urls: () => readonly (string | undefined)[], longestMs: number): Client {
  const ask: Client['ask'] = async (path, init = () => ({}), suffices = () => true) => {
    const deadline = performance.now() + longestMs;
    for (let turn = 0; performance.now() < deadline; turn++) {
      const all = urls();
      const response = await fetch(`${all[turn % all.length]}${path}`, { ...init(), signal: AbortSignal.timeout(40_000) }).catch(
        () => undefined,
      );
      const body = await response?.arrayBuffer().then(Buffer.from, () => undefined);
      if (response !== undefined && body !== undefined && response.status !== 503) {
        const isJson = (response.headers.get('content-type') ?? '').startsWith('application/json') && body.length > 0;
        const told: Told = { status: response.status, ...(isJson ? (JSON.parse(body.toString()) as object) : {}) };
        if (suffices(told, body)) return { told, body };
      }
      await pause(200);
    }
    throw new Error(`no replica answered ${path} to the end`);
  };
  const post = async (path: string, key: string, fields: Readonly<Record<string, string | Work | readonly Work[]>>): Promise<Told> => {
    const init = () => {
      const body = new FormData();
      for (const [name, value] of Object.entries(fields))
        for (const one of Array.isArray(value) ? (value as Work[]) : [value as string | Work])
          if (typeof one === 'string') body.set(name, one);
          else body.append(name, new Blob([one.bytes as Uint8Array<ArrayBuffer>]), one.name);
      return { method: 'POST', body, headers: { 'idempotency-key': key, prefer: key.endsWith('3') ? 'respond-async' : 'wait' } };
    };
    const suffices = ({ status, data, error }: Told) => data !== undefined || status < 500 || error?.details['job_id'] !== undefined;
    return (await ask(path, init, suffices)).told;
  };
  const idOf = ({ data, error }: Told): string => data?.job_id ?? String(error?.details['job_id']);

  const follow: Client['follow'] = async (id, judge) => {
    const path = `/api/v1/jobs/${id}`;
    const { told } = await ask(path, undefined, ({ data, status }) => data?.status !== 'processing' || status === 500);
    if (told.error !== undefined) return { id, end: String(told.error.details['reason'] ?? told.error.code) };
    const { body } = await ask(`${path}/output`, undefined, ({ status }, bytes) => status === 200 && bytes.length > 0);
    await judge?.(body);
    return { id, end: told.data?.status ?? String(told.status) };
  };

  return {
    ask,
    follow,
    async send(index) {
      const work = await picture(index, 'tiff');
      return idOf(await post('/api/v1/convert', `sent-${index}-3`, { to_format: work.target, file: work }));
    },
    async runJob(index) {
      if (index % 50 === 21) {
        const works = await Promise.all([0, 1, 2].map((part) => picture(index + part, 'gif')));
        const { data } = await post('/api/v1/batch', `batch-${index}`, { to_format: 'gif', 'files[]': works });
        return Promise.all((data?.jobs ?? []).map(({ job_id: id }, part) => follow(id, works[part]?.judge)));
      }
      const work = await workOf(index);
      const upload = index % 50 === 11 ? (await post('/api/v1/uploads', `upload-${index}`, { file: work })).data?.upload_id : undefined;
      const file = upload === undefined ? { file: work } : { upload_id: upload };
      return [await follow(idOf(await post('/api/v1/convert', `job-${index}`, { to_format: work.target, ...file })), work.judge)];
    },
  };
}

async function workOf(index: number): Promise<Work> {
  if (index % 10 === 3) {
    const words = `job number ${index}`;
    return { name: 'page.pdf', target: 'txt', bytes: pdf([[words]]), judge: async (output) => expect(output.toString()).toContain(words) };
  }
  return index % 25 === 7 ? tone(index) : picture(index, index % 2 === 0 ? 'tiff' : 'gif');
}

/** A picture of one colour that tells which it is. */
export async function picture(index: number, target: string): Promise<Work> {
  const [r, g, b] = [(index % 6) * 45 + 15, (Math.floor(index / 6) % 6) * 45 + 15, (Math.floor(index / 36) % 14) * 17 + 10] as const;
  const image = sharp({ create: { width: 64, height: 48, channels: 3, background: { r, g, b } } });
  const judge = async (output: Buffer) => {
    const { data } = await sharp(output).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    for (const [band, value] of [r, g, b].entries()) expect(Math.abs((data[band] ?? -1) - value)).toBeLessThan(8);
  };
  return { name: 'flat.png', target, bytes: await image.png().toBuffer(), judge };
}

/** Its length tells which it is. */
function tone(index: number): Work {
  const ms = 1_000 + index;
  const ffmpeg = (args: readonly string[], input?: Buffer) =>
    execFileSync('ffmpeg', ['-v', 'error', ...args], { input, maxBuffer: 1 << 25 });
  const judge = async (output: Buffer) => {
    const samples = ffmpeg(['-f', 'flac', '-i', '-', '-f', 's16le', '-ac', '1', '-'], output);
    expect(samples.length / 2 / 48).toBeCloseTo(ms, -1);
  };
  const source = `sine=frequency=440:duration=${ms / 1000}:sample_rate=48000`;
  return { name: 'tone.wav', target: 'flac', bytes: ffmpeg(['-f', 'lavfi', '-i', source, '-f', 'wav', '-']), judge };
}

interface Bounds {
  readonly jobs: number;
  readonly clients: number;
  /** What a client waits after each job. */
  readonly pauseMs?: number;
  /** What happens meanwhile; asks whether the load is over already. */
  readonly disturb: (isOver: () => boolean) => Promise<unknown>;
}

/** Runs jobs, and more of them where the disturbances take longer. */
export async function underLoad(client: Client, { jobs, clients, pauseMs = 0, disturb }: Bounds): Promise<Ended[]> {
  const ended: Ended[] = [];
  let next = 0;
  let over = false;
  let disturbed = false;
  const work = async () => {
    for (let index = next++; index < jobs || !disturbed; index = next++) {
      ended.push(...(await client.runJob(index)));
      await pause(pauseMs);
    }
  };
  const disturbing = disturb(() => over).finally(() => {
    disturbed = true;
  });
  await Promise.all([...Array.from({ length: clients }, work), disturbing]);
  over = true;
  return ended;
}
