/** A call that makes a job: the same readers, records and orders as REST, with the files that the call names. */
import { readInput } from '../../catalog/tool.ts';
import { Failure } from '../../errors.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { inputKey } from '../../objects/keys.ts';
import { enqueue } from '../enqueue.ts';
import { orRemove } from '../inputs.ts';
import type { ApiParts } from '../parts.ts';
import { onlyFile, type ReceivedFile } from '../receive.ts';
import { settledWithin } from '../settle.ts';
import { conversionOf, readWish } from '../submit.ts';
import { toolJobOf } from '../tool-job.ts';
import { type Arguments, FILES, inWordsOfCall, readArguments } from './arguments.ts';
import { type FileWord, readFileWord } from './file.ts';
import { bringInputs } from './inputs.ts';
import type { CallToolResult, ToolCall } from './protocol.ts';
import { resultOf } from './result.ts';
import type { McpTool } from './tool.ts';

/** What a call needs to know of the request that brought it. */
export interface CallPlace {
  /** The job's, chosen when it was admitted. */
  readonly id: string;
  /** Who called, as limits know clients. */
  readonly client: string;
  readonly base: string;
  /** Whether the client can be told more than the answer. */
  readonly streams: boolean;
  /** When the answer is due, by `performance.now()`. */
  readonly dueAt: number;
  /** Says that no file of the request is in memory any more. */
  readonly release: () => void;
  readonly log: (about: object) => void;
}

/** Left for the job to be made and told of, ms. */
const MARGIN_MS = 500;

/** Makes ready what has no need of the files, then turns the files into a record. @throws Failure */
type Begin = (files: readonly ReceivedFile[], count: number) => Promise<JobRecord>;

/** @throws Failure, in words of the call */
export async function callForJob(parts: ApiParts, tool: McpTool, call: ToolCall, place: CallPlace): Promise<CallToolResult> {
  const { id, base, dueAt } = place;
  try {
    call.progress?.(0, 'Reading the call.');
    const record = await beginJob(parts, tool, call, place);
    place.log({ job_id: id, tool: tool.name, bytes: record.sources.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) });
    const deafen = tellProgress(parts, id, call.progress);
    try {
      const waitMs = Math.max(0, dueAt - MARGIN_MS - performance.now());
      return await resultOf(parts, await settledWithin(parts, record, waitMs, call.signal), base);
    } finally {
      deafen();
    }
  } catch (error) {
    throw inWordsOfCall(error, tool);
  }
}

async function beginJob(
  parts: ApiParts,
  tool: McpTool,
  call: ToolCall,
  { id, client, base, dueAt, release }: CallPlace,
): Promise<JobRecord> {
  const { objects, settings, metrics } = parts;
  const args = readArguments(tool, call.args);
  const begin = tool.slug === undefined ? conversion(parts, id, args) : toolJob(parts, id, tool.slug, args);
  const { min, max } = filesOf(parts, tool);
  // Of a refused number nothing is fetched: the reader of records says which is allowed.
  if (args.files.length < min || args.files.length > max) return begin([], args.files.length);
  let left = settings.mcp.maxInlineBytes;
  const words: FileWord[] = [];
  for (const file of args.files) {
    const word = await readFileWord(file, { base, maxInlineBytes: left });
    if (word.is === 'content') left -= word.bytes.length;
    words.push(word);
  }
  const keyOf = (part: number) => inputKey(id, part);
  const withinMs = Math.max(1, dueAt - 2 * MARGIN_MS - performance.now());
  const files = await bringInputs(parts, words, { keyOf, filename: args.filename, withinMs, gone: call.signal });
  for (const name of FILES) delete call.args[name];
  release();
  metrics.uploaded(files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
  call.progress?.(1, 'The file was received.');
  return orRemove(
    objects,
    files.map(({ part }) => keyOf(part)),
    async () => enqueue(parts, await begin(files, files.length), client),
  );
}

function conversion(parts: ApiParts, id: string, { fields }: Arguments): Begin {
  const wish = readWish(fields, 'interactive');
  return (files, count) => conversionOf(parts, id, onlyFile({ fields, files, count }), wish);
}

function toolJob(parts: ApiParts, id: string, slug: string, { fields }: Arguments): Begin {
  const tool = parts.catalog.tools.get(slug);
  if (tool === undefined) throw absent(parts, slug);
  readInput(tool, fields);
  return (files, count) => toolJobOf(parts, id, tool, { fields, files, count });
}

const filesOf = ({ catalog }: ApiParts, { slug, files }: McpTool): { readonly min: number; readonly max: number } =>
  (slug === undefined ? undefined : catalog.tools.get(slug)?.files) ?? (files === 'one' ? { min: 1, max: 1 } : { min: 2, max: 20 });

/** Why a tool that is listed cannot be called here. */
export function absent({ catalog }: Pick<ApiParts, 'catalog'>, slug: string): Failure {
  const reason = catalog.absent.get(slug)?.reason ?? 'it is not installed';
  return new Failure('NOT_IMPLEMENTED', { says: `The tool is not available here: ${reason}.`, details: { slug, reason } });
}

function tellProgress({ signals }: ApiParts, id: string, tell: ToolCall['progress']): () => void {
  if (tell === undefined) return () => {};
  let told = 1;
  const look = () => {
    const percent = signals.lastProgress(id) ?? 0;
    if (percent <= told) return;
    told = percent;
    tell(percent, 'Processing.');
  };
  const deafen = signals.onProgress(id, look);
  look();
  return deafen;
}
