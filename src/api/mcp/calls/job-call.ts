/** A call that creates a job: the same steps as a REST request, with the files that its arguments hold or name. */
import { readInput } from '../../../catalog/tool.ts';
import { Failure } from '../../../errors.ts';
import type { JobRecord } from '../../../jobs/record.ts';
import { inputKey } from '../../../objects/keys.ts';
import type { ApiDeps } from '../../deps.ts';
import { ownedInputs } from '../../intake/inputs.ts';
import { keepAll } from '../../intake/owned.ts';
import { storePage } from '../../intake/page.ts';
import { onlyFile, type ReceivedFile } from '../../intake/receive.ts';
import { readRequestOptions, validateConversion } from '../../submit/conversion.ts';
import { createJob, enqueue } from '../../submit/enqueue.ts';
import { waitForJob } from '../../submit/settle.ts';
import { validateTool } from '../../submit/tool.ts';
import { findTool } from '../../tools/find.ts';
import type { CallToolResult, ToolCall } from '../protocol/protocol.ts';
import type { McpTool } from '../tools/tool.ts';
import { type Arguments, FILES, INCLUDE, namingArguments, readArguments, readFlag } from './arguments.ts';
import { type FileArgument, readFileArgument } from './file.ts';
import { receiveInputs } from './inputs.ts';
import { uploadAdvice } from './paths.ts';
import { resultOf } from './result.ts';

/** What a call gets from its request. */
export interface CallContext {
  /** The job's id, chosen when the call was admitted. */
  readonly id: string;
  /** The client's key in the limits. */
  readonly client: string;
  readonly base: string;
  /** Whether the client can get progress before the answer. */
  readonly streams: boolean;
  /** Of the request, for what support looks up. */
  readonly requestId: string;
  /** Reserves for these jobs too, in a call that creates several. @throws Failure `RATE_LIMITED` */
  readonly admitMore: (jobs: readonly string[]) => Promise<void>;
  /** When the answer is due, by `performance.now()`. */
  readonly dueAt: number;
  /** To be called when no file of the request is in memory any more. */
  readonly release: () => void;
  readonly log: (about: object) => void;
}

/** Time kept for creating the job and for answering, ms. */
export const MARGIN_MS = 500;

/** Turns received files into the record of their job. @throws Failure */
type Validate = (files: readonly ReceivedFile[], count: number) => Promise<JobRecord>;

/** @throws Failure that names arguments instead of form fields */
export async function callForJob(deps: ApiDeps, tool: McpTool, call: ToolCall, context: CallContext): Promise<CallToolResult> {
  const { id, base, dueAt } = context;
  try {
    call.progress?.(0, 'Reading the call.');
    const image = readFlag(call.args, INCLUDE);
    const record = await submit(deps, tool, call, context);
    context.log({ job_id: id, tool: tool.name, bytes: record.sources.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) });
    const unsubscribe = publishProgress(deps, id, call.progress);
    try {
      const waitMs = Math.max(0, dueAt - MARGIN_MS - performance.now());
      return await resultOf(deps, await waitForJob(deps, record, waitMs, call.signal), base, { image });
    } finally {
      unsubscribe();
    }
  } catch (error) {
    throw namingArguments(advised(error, base), tool);
  }
}

/** What a server cannot fetch, its client may have. */
const UPLOADED_INSTEAD: readonly unknown[] = ['scheme', 'dns', 'unreachable'];

/** Adds to a URL's refusal how the file comes here without it. */
export function advised(error: unknown, base: string): unknown {
  if (!(error instanceof Failure) || error.code !== 'URL_REFUSED' || !UPLOADED_INSTEAD.includes(error.details['reason'])) return error;
  if (error.message.includes('/api/v1/uploads')) return error;
  const { code, message, details, cause, retryAfter } = error;
  const says = `${message} If the file is at hand, ${uploadAdvice(base)}`;
  return new Failure(code, { says, details, cause, ...(retryAfter === undefined ? {} : { retryAfter }) });
}

/** The call was admitted with its request. @returns the queued job; where it throws, nothing is left */
async function submit(deps: ApiDeps, tool: McpTool, call: ToolCall, context: CallContext): Promise<JobRecord> {
  const { id, client } = context;
  const args = readArguments(tool, call.args);
  // What needs no file is validated before any file is fetched.
  const validate = tool.slug === undefined ? conversion(deps, id, args) : toolJob(deps, id, tool.slug, args);
  const { min, max } = filesOf(deps, tool);
  const count = args.files.length;
  // A wrong number of files is refused by the validation, and nothing is fetched.
  if (count < min || count > max) return validate([], count);

  const named = await readFiles(deps, args, context.base, isPageTool(deps, tool));
  const files = await receiveFiles(deps, named, args.filename, call, context, (part) => inputKey(id, part));
  await using inputs = ownedInputs(
    deps.objects,
    files.map(({ part }) => inputKey(id, part)),
  );

  const first = await validate(files, count);
  const valid = (await asPage(deps, tool, named, first, call.signal)) ?? first;
  const warnings = [...args.warnings, ...named.flatMap(assumedOf), ...valid.warnings];

  await using created = await createJob(deps, { ...valid, warnings });
  const record = await enqueue(deps, created, client);
  keepAll(inputs, created);
  return record;
}

const isPageTool = ({ catalog }: ApiDeps, { slug }: McpTool): boolean => slug !== undefined && catalog.tools.get(slug)?.takesPage === true;

/** Decodes what stands in the call itself, and tells apart the rest. @param pages each file is the URL of a web page @throws Failure */
export async function readFiles(
  { settings }: ApiDeps,
  { files, filename, fields }: Pick<Arguments, 'files' | 'filename' | 'fields'>,
  base: string,
  pages = false,
): Promise<readonly FileArgument[]> {
  if (pages) return files.map((url) => ({ is: 'page' as const, url }));
  let left = settings.mcp.maxInlineBytes;
  const about = { filename, from: fields.get('from_format'), to: fields.get('to_format') };
  const read: FileArgument[] = [];
  for (const text of files) {
    const file = await readFileArgument(text, { base, maxInlineBytes: left, about });
    if (file.is === 'content') left -= file.bytes.length;
    read.push(file);
  }
  return read;
}

/** Prints what is on the web. */
const PAGE_TOOL = 'webpage-to-pdf';

/**
 * A page's URL is printed as a browser shows it: the file alone lacks its styles and pictures.
 * @param first the job of the file that the URL gave @returns the job of the page, whose input replaces the file; undefined for all else
 */
async function asPage(
  deps: ApiDeps,
  { slug }: McpTool,
  [named]: readonly FileArgument[],
  first: JobRecord,
  signal: AbortSignal,
): Promise<JobRecord | undefined> {
  const tool = deps.catalog.tools.get(PAGE_TOOL);
  const [source] = first.sources;
  if (slug !== undefined || named?.is !== 'url' || tool === undefined || deps.findPage === undefined) return undefined;
  if (source?.format !== 'html' || first.target.format !== 'pdf') return undefined;
  const page = await storePage(deps, named.url, inputKey(first.id, source.part), signal);
  const record = await validateTool(deps, first.id, tool, { fields: new Map(), files: [page], count: 1 });
  const ignored = Object.keys(first.options).map((name) => ({
    code: 'option_ignored',
    message: `The option ${name} has no effect on a web page.`,
  }));
  return { ...record, warnings: [...first.warnings.filter(({ code }) => code === 'option_unknown'), ...ignored, ...record.warnings] };
}

/** @throws Failure; then nothing is stored */
export async function receiveFiles(
  deps: ApiDeps,
  named: readonly FileArgument[],
  filename: string,
  call: ToolCall,
  { dueAt, release }: CallContext,
  keyOf: (part: number) => string,
): Promise<readonly ReceivedFile[]> {
  const withinMs = Math.max(1, dueAt - 2 * MARGIN_MS - performance.now());
  const files = await receiveInputs(deps, named, { keyOf, filename, withinMs, gone: call.signal });
  // The memory that the call's text takes is free from here on.
  for (const name of FILES) delete call.args[name];
  release();
  deps.metrics.uploaded(files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
  call.progress?.(1, 'The file was received.');
  return files;
}

/** A text that came as it is has no name to show its kind. */
export const assumedOf = (file: FileArgument): JobRecord['warnings'] =>
  file.is === 'content' && file.assumed !== undefined
    ? [{ code: 'format_assumed', message: `The text was read as ${file.assumed}; to change that, pass "from_format" or "filename".` }]
    : [];

function conversion(deps: ApiDeps, id: string, { fields }: Arguments): Validate {
  const requestOptions = readRequestOptions(fields, 'interactive');
  return (files, count) => validateConversion(deps, id, onlyFile({ fields, files, count }), requestOptions);
}

function toolJob(deps: ApiDeps, id: string, slug: string, { fields }: Arguments): Validate {
  const tool = findTool(deps, slug);
  readInput(tool, fields);
  return (files, count) => validateTool(deps, id, tool, { fields, files, count });
}

const filesOf = ({ catalog }: ApiDeps, { slug, files }: McpTool): { readonly min: number; readonly max: number } =>
  (slug === undefined ? undefined : catalog.tools.get(slug)?.files) ?? (files === 'one' ? { min: 1, max: 1 } : { min: 2, max: 20 });

function publishProgress({ signals }: ApiDeps, id: string, send: ToolCall['progress']): () => void {
  if (send === undefined) return () => {};
  let last = 1;
  const update = () => {
    const percent = signals.lastProgress(id) ?? 0;
    if (percent <= last) return;
    last = percent;
    send(percent, 'Processing.');
  };
  const unsubscribe = signals.onProgress(id, update);
  update();
  return unsubscribe;
}
