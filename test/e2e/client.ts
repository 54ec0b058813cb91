/** A client of the REST API as a person's script would be, and one that keeps it busy. */

export interface Job {
  readonly job_id: string;
  readonly status: 'processing' | 'done' | 'error';
  readonly output?: { readonly url: string };
  readonly engine?: { readonly name: string };
}
interface Answer {
  readonly data?: Job;
  readonly error?: { readonly code: string; readonly message: string };
}
export type Part = readonly [field: string, content: Blob, name: string];

const REQUEST_MS = 60_000;
const JOB_MS = 120_000;

/** Sends, polls and downloads. Answers 503, and connections that break before one, are tried again, as documented. @throws for a failed job */
export async function submit(base: string, path: string, parts: readonly Part[], fields: Readonly<Record<string, string>> = {}) {
  const end = Date.now() + JOB_MS;
  const key = crypto.randomUUID();
  const ask = async (url: string, init: RequestInit = {}): Promise<Response> => {
    for (;;) {
      const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(REQUEST_MS) }).catch((error: Error) => error);
      const again = answer instanceof Error || answer.status === 503;
      if (!again) return answer;
      if (Date.now() > end)
        throw new Error(`${url}: ${answer instanceof Error ? `${answer.message} ${String(answer.cause)}` : await answer.text()}`);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  };
  const form = new FormData();
  for (const [field, content, name] of parts) form.append(field, content, name);
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  let body = (await (await ask(`${base}${path}`, { method: 'POST', body: form, headers: { 'idempotency-key': key } })).json()) as Answer;
  while (body.data?.status === 'processing' && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    body = (await (await ask(`${base}/api/v1/jobs/${body.data.job_id}`)).json()) as Answer;
  }
  if (body.data?.status !== 'done' || body.data.output === undefined) throw new Error(`${path}: ${JSON.stringify(body)}`);
  const output = await ask(body.data.output.url);
  if (!output.ok) throw new Error(`its output answers ${output.status}`);
  return { job: body.data, bytes: Buffer.from(await output.arrayBuffer()) };
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
