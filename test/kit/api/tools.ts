/** Calls a tool over HTTP as a client does. */
import { openAsBlob } from 'node:fs';
import { basename } from 'node:path';
import { type Answer, readAnswer, type Service, settled } from '../roles/service.ts';

/** A path, or bytes with a name; in the field that is named. */
export type Sent = string | { readonly name: string; readonly bytes: Uint8Array; readonly field?: string };

/** @param files one goes in the field `file`, a list of any length in `files[]`, unless it names its own @returns the job when it has ended, or the refusal */
export async function callTool(
  { url }: Pick<Service, 'url'>,
  slug: string,
  files: Sent | readonly Sent[],
  fields: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  const several = Array.isArray(files);
  for (const file of (several ? files : [files]) as readonly Sent[]) {
    const [blob, name] =
      typeof file === 'string' ? [await openAsBlob(file), basename(file)] : [new Blob([new Uint8Array(file.bytes)]), file.name];
    form.append((typeof file === 'string' ? undefined : file.field) ?? (several ? 'files[]' : 'file'), blob, name);
  }
  return settled(url, await readAnswer(await fetch(`${url}/api/v1/tools/${slug}`, { method: 'POST', body: form })));
}

/** What a job that is done made. @throws with the error where it failed */
export async function outputOf({ url }: Pick<Service, 'url'>, { status, data, error }: Answer): Promise<Buffer> {
  if (data?.output === undefined) throw new Error(`${status} ${JSON.stringify(error ?? data)}`);
  return Buffer.from(await (await fetch(`${url}/api/v1/jobs/${data.job_id}/output`)).arrayBuffer());
}
