/** A client of the REST API as a person's script would be, and one that keeps it busy. */

export interface Job {
  readonly job_id: string;
  readonly status: 'processing' | 'done' | 'error';
  readonly output?: { readonly url: string };
  readonly engine?: { readonly name: string };
  readonly error?: { readonly code: string; readonly message: string };
}
interface Answer {
  readonly data?: Job;
  readonly error?: { readonly code: string; readonly message: string };
}
export type Part = readonly [field: string, content: Blob, name: string];

const REQUEST_MS = 60_000;
/** On a busy machine a conversion of ten seconds takes ten times as long, and is done twice where its worker is lost. */
const JOB_MS = 300_000;

/** Answers 503, and connections that break before one, are tried again, as documented. */
async function ask(url: string, init: RequestInit = {}, end = Date.now() + JOB_MS): Promise<Response> {
  for (;;) {
    const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(REQUEST_MS) }).catch((error: Error) => error);
    const again = answer instanceof Error || answer.status === 503;
    if (!again) return answer;
    if (Date.now() > end)
      throw new Error(`${url}: ${answer instanceof Error ? `${answer.message} ${String(answer.cause)}` : await answer.text()}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
const jobOf = async (what: string, answer: Response): Promise<Job> => {
  const body = (await answer.json()) as Answer;
  if (body.data === undefined) throw new Error(`${what}: ${JSON.stringify(body)}`);
  return { ...body.data, ...(body.error !== undefined && { error: body.error }) };
};

export interface Sent {
  /** As it is now. */
  state(): Promise<Job>;
  /** @throws when it is not over in time; an error of the job is none here */
  ended(): Promise<Job>;
}

/** Sends, and does not wait for the end unless `prefer` says so. */
export async function send(
  base: string,
  path: string,
  parts: readonly Part[],
  fields: Readonly<Record<string, string>> = {},
  prefer = 'respond-async',
): Promise<Sent> {
  const form = new FormData();
  for (const [field, content, name] of parts) form.append(field, content, name);
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  const headers = { 'idempotency-key': crypto.randomUUID(), prefer };
  const first = await jobOf(path, await ask(`${base}${path}`, { method: 'POST', body: form, headers }));
  const state = async () => await jobOf(path, await ask(`${base}/api/v1/jobs/${first.job_id}`));
  return {
    state,
    async ended() {
      const end = Date.now() + JOB_MS;
      for (let job = first; ; job = await state()) {
        if (job.status !== 'processing') return job;
        if (Date.now() > end) throw new Error(`${path}: job ${job.job_id} is not over after ${JOB_MS / 1000} s`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },
  };
}

/** @throws for a job that has none */
export async function outputOf(job: Job): Promise<Buffer> {
  if (job.status !== 'done' || job.output === undefined) throw new Error(`a job has no output: ${JSON.stringify(job)}`);
  const output = await ask(job.output.url);
  if (!output.ok) throw new Error(`its output answers ${output.status}`);
  return Buffer.from(await output.arrayBuffer());
}

/** Sends, waits and downloads. @throws for a failed job */
export async function submit(base: string, path: string, parts: readonly Part[], fields: Readonly<Record<string, string>> = {}) {
  const job = await (await send(base, path, parts, fields, 'wait=20')).ended();
  return { job, bytes: await outputOf(job) };
}

export const convert = (base: string, [content, name]: readonly [content: Blob, name: string], to: string) =>
  submit(base, '/api/v1/convert', [['file', content, name]], { to_format: to });

/** Two clients that convert one after the other. @returns ends them, and says how their jobs did */
export function load(base: string, photo: Buffer): () => Promise<{ readonly done: number; readonly failed: readonly string[] }> {
  let stopped = false;
  let done = 0;
  const failed: string[] = [];
  const client = async () => {
    while (!stopped) {
      await convert(base, [new Blob([Uint8Array.from(photo)]), 'photo.jpg'], 'webp').then(
        () => done++,
        (error: Error) => failed.push(error.message),
      );
    }
  };
  const clients = [client(), client()];
  return async () => {
    stopped = true;
    await Promise.all(clients);
    return { done, failed };
  };
}
