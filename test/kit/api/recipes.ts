/** Sends recipes, and reads what comes of them. */
import { type ErrorBody, type JobBody, untilEnded } from '../roles/service.ts';

export interface NamedOutput {
  readonly name: string;
  readonly filename: string;
  readonly size_bytes: number;
  readonly url: string;
  readonly files: number;
  readonly sha256: string;
}

export interface RecipeAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly data?: JobBody & { readonly outputs?: readonly NamedOutput[] };
  readonly error?: ErrorBody;
}

export interface SentFile {
  readonly name: string;
  readonly bytes: Uint8Array | string;
}

/** @param recipe as an object, or the name of one */
export async function sendRecipe(
  url: string,
  recipe: unknown,
  files: readonly SentFile[],
  fields: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<RecipeAnswer> {
  const form = new FormData();
  form.set('recipe', typeof recipe === 'string' ? recipe : JSON.stringify(recipe));
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  for (const { name, bytes } of files) form.append('files[]', new Blob([new Uint8Array(Buffer.from(bytes))]), name);
  return readRecipe(await fetch(`${url}/api/v1/recipes/run`, { method: 'POST', body: form, headers: { ...headers } }));
}

export const readRecipe = async (response: Response): Promise<RecipeAnswer> => ({
  status: response.status,
  headers: response.headers,
  ...((await response.json()) as object),
});

/** The same, after the end of its job. */
export async function runRecipe(
  url: string,
  recipe: unknown,
  files: readonly SentFile[],
  fields: Readonly<Record<string, string>> = {},
): Promise<RecipeAnswer> {
  const answer = await sendRecipe(url, recipe, files, fields);
  if (answer.data?.status !== 'processing') return answer;
  return (await untilEnded(url, answer.data.job_id)) as unknown as RecipeAnswer;
}

export const bytesAt = async (url: string): Promise<Buffer> => Buffer.from(await (await fetch(url)).arrayBuffer());
