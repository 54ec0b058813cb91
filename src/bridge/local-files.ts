/** What the bridge adds to a server's tools: local files as arguments, and results that are saved. */

import { isRecord } from '../contracts/json.ts';
import { type Folders, PathRefused } from './folders.ts';
import type { Server } from './server.ts';
import { downloadTo, uploadPath } from './transfer.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Result {
  readonly content?: readonly Fields[];
  readonly structuredContent?: Fields;
  readonly isError?: boolean;
}

/** The argument that the bridge itself reads. */
const SAVE_TO = 'save_to';

/** @param tools as the server lists them @returns the same with what the bridge adds */
export function withLocalFiles(tools: unknown, { names }: Folders): unknown {
  if (!Array.isArray(tools) || names.length === 0) return tools;
  return tools.map((tool) => {
    const schema = isRecord(tool) ? tool['inputSchema'] : undefined;
    const properties = isRecord(schema) ? schema['properties'] : undefined;
    if (!isRecord(tool) || !isRecord(schema) || !isRecord(properties)) return tool;
    const { file, files, job_id } = properties;
    if (file === undefined && files === undefined && !(job_id !== undefined && 'wait_seconds' in properties)) return tool;
    const added = {
      ...properties,
      ...(file === undefined ? {} : { file: withPath(file, names) }),
      [SAVE_TO]: { type: 'string', maxLength: 4_096, description: `Local path or folder to save the result to, in ${names.join(' or ')}.` },
    };
    return { ...tool, inputSchema: { ...schema, properties: added } };
  });
}

function withPath(file: unknown, names: readonly string[]): unknown {
  const said = isRecord(file) && typeof file['description'] === 'string' ? file['description'] : '';
  if (!isRecord(file) || !said.startsWith('An https')) return file;
  const [ways = ''] = said.split(' A local path cannot be read');
  return { ...file, description: `A local path in ${names.join(' or ')}. Or ${ways.charAt(0).toLowerCase()}${ways.slice(1)}` };
}

/**
 * @param uploads gets the ids of what was uploaded, also where this throws
 * @returns the arguments with an upload in place of each local file @throws PathRefused; then nothing is called
 */
export async function uploadLocal(server: Server, folders: Folders, args: Fields, signal: AbortSignal, uploads: string[]): Promise<Fields> {
  const uploaded = async (value: unknown): Promise<unknown> => {
    const path = typeof value === 'string' ? await folders.find(value.trim()) : undefined;
    if (path === undefined) return value;
    const id = await uploadPath(server, folders, path, signal);
    uploads.push(id);
    return id;
  };
  const { [SAVE_TO]: _, ...others } = args;
  const sent: Record<string, unknown> = others;
  for (const name of ['file', 'files', 'files[]']) {
    const value = sent[name];
    if (value === undefined) continue;
    if (!Array.isArray(value)) sent[name] = await uploaded(value);
    else {
      const ids: unknown[] = [];
      for (const one of value.slice(0, MOST_FILES)) ids.push(await uploaded(one));
      sent[name] = [...ids, ...value.slice(MOST_FILES)];
    }
  }
  return sent;
}

/** More are refused by the server, and need not be uploaded for that. */
const MOST_FILES = 20;

/** @returns the result, with where it was saved, or why it was not */
export async function saveResult(server: Server, folders: Folders, args: Fields, result: Result, signal: AbortSignal): Promise<Result> {
  const saveTo = args[SAVE_TO];
  if (typeof saveTo !== 'string' || saveTo.trim() === '' || result.isError === true) return result;
  const link = result.content?.find(({ type }) => type === 'resource_link');
  const say = (text: string, more: object = {}): Result => ({
    ...result,
    content: [{ type: 'text', text }, ...(result.content ?? [])],
    ...more,
  });
  if (typeof link?.['uri'] !== 'string')
    return say('Nothing was saved: there is no file yet. If the job is still processing, call get_job_status with save_to.');
  const output = result.structuredContent?.['output'];
  // People save a file without the suffix of the service.
  const name = isRecord(output) && typeof output['save_as'] === 'string' ? output['save_as'] : String(link['name'] ?? 'file');
  try {
    const path = await downloadTo(server, folders, link['uri'], saveTo.trim(), name, signal);
    return say(`Saved to ${path}`, { structuredContent: { ...result.structuredContent, saved_to: path } });
  } catch (error) {
    if (!(error instanceof PathRefused)) throw error;
    return say(`The result was not saved. ${error.message} It can still be downloaded, or saved with get_job_status.`, { isError: true });
  }
}
