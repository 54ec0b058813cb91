/** A call that makes a job: the same readers, records and orders as REST, with the files that the call names. */
import { readInput } from '../../../catalog/tool.ts';
import { Failure } from '../../../errors.ts';
import type { JobRecord } from '../../../jobs/record.ts';
import { inputKey } from '../../../objects/keys.ts';
import type { ApiDeps } from '../../deps.ts';
import { orRemove } from '../../intake/inputs.ts';
import { onlyFile, type ReceivedFile } from '../../intake/receive.ts';
import { conversionOf, readRequestOptions } from '../../jobs/conversion.ts';
import { enqueue } from '../../jobs/enqueue.ts';
import { settledWithin } from '../../jobs/settle.ts';
import { toolJobOf } from '../../tools/job.ts';
import type { CallToolResult, ToolCall } from '../protocol/protocol.ts';
import type { McpTool } from '../tools/tool.ts';
import { type Arguments, FILES, namingArguments, readArguments } from './arguments.ts';
import { type FileArgument, readFileArgument } from './file.ts';
import { receiveInputs } from './inputs.ts';
import { resultOf } from './result.ts';

/** What a call needs to know of the request that brought it. */
export interface CallContext {
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
export async function callForJob(deps: ApiDeps, tool: McpTool, call: ToolCall, context: CallContext): Promise<CallToolResult> {
  const { id, base, dueAt } = context;
  try {
    call.progress?.(0, 'Reading the call.');
    const record = await beginJob(deps, tool, call, context);
    context.log({ job_id: id, tool: tool.name, bytes: record.sources.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) });
    const unsubscribe = publishProgress(deps, id, call.progress);
    try {
      const waitMs = Math.max(0, dueAt - MARGIN_MS - performance.now());
      return await resultOf(deps, await settledWithin(deps, record, waitMs, call.signal), base);
    } finally {
      unsubscribe();
    }
  } catch (error) {
    throw namingArguments(error, tool);
  }
}

async function beginJob(
  deps: ApiDeps,
  tool: McpTool,
  call: ToolCall,
  { id, client, base, dueAt, release }: CallContext,
): Promise<JobRecord> {
  const { objects, settings, metrics } = deps;
  const args = readArguments(tool, call.args);
  const begin = tool.slug === undefined ? conversion(deps, id, args) : toolJob(deps, id, tool.slug, args);
  const { min, max } = filesOf(deps, tool);
  // Of a refused number nothing is fetched: the reader of records says which is allowed.
  if (args.files.length < min || args.files.length > max) return begin([], args.files.length);
  let left = settings.mcp.maxInlineBytes;
  const words: FileArgument[] = [];
  for (const file of args.files) {
    const word = await readFileArgument(file, { base, maxInlineBytes: left });
    if (word.is === 'content') left -= word.bytes.length;
    words.push(word);
  }
  const keyOf = (part: number) => inputKey(id, part);
  const withinMs = Math.max(1, dueAt - 2 * MARGIN_MS - performance.now());
  const files = await receiveInputs(deps, words, { keyOf, filename: args.filename, withinMs, gone: call.signal });
  for (const name of FILES) delete call.args[name];
  release();
  metrics.uploaded(files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
  call.progress?.(1, 'The file was received.');
  return orRemove(
    objects,
    files.map(({ part }) => keyOf(part)),
    async () => enqueue(deps, await begin(files, files.length), client),
  );
}

function conversion(deps: ApiDeps, id: string, { fields }: Arguments): Begin {
  const requestOptions = readRequestOptions(fields, 'interactive');
  return (files, count) => conversionOf(deps, id, onlyFile({ fields, files, count }), requestOptions);
}

function toolJob(deps: ApiDeps, id: string, slug: string, { fields }: Arguments): Begin {
  const tool = deps.catalog.tools.get(slug);
  if (tool === undefined) throw absent(deps, slug);
  readInput(tool, fields);
  return (files, count) => toolJobOf(deps, id, tool, { fields, files, count });
}

const filesOf = ({ catalog }: ApiDeps, { slug, files }: McpTool): { readonly min: number; readonly max: number } =>
  (slug === undefined ? undefined : catalog.tools.get(slug)?.files) ?? (files === 'one' ? { min: 1, max: 1 } : { min: 2, max: 20 });

/** Why a tool that is listed cannot be called here. */
export function absent({ catalog }: Pick<ApiDeps, 'catalog'>, slug: string): Failure {
  const reason = catalog.absent.get(slug)?.reason ?? 'it is not installed';
  return new Failure('NOT_IMPLEMENTED', { says: `The tool is not available here: ${reason}.`, details: { slug, reason } });
}

function publishProgress({ signals }: ApiDeps, id: string, tell: ToolCall['progress']): () => void {
  if (tell === undefined) return () => {};
  let told = 1;
  const look = () => {
    const percent = signals.lastProgress(id) ?? 0;
    if (percent <= told) return;
    told = percent;
    tell(percent, 'Processing.');
  };
  const unsubscribe = signals.onProgress(id, look);
  look();
  return unsubscribe;
}
