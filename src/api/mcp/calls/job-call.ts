/** A call that creates a job: the same steps as a REST request, with the files that its arguments hold or name. */
import { Failure } from '../../../errors.ts';
import type { JobRecord } from '../../../jobs/record.ts';
import { inputKey } from '../../../objects/keys.ts';
import type { ApiDeps } from '../../deps.ts';
import { PAGE_TOOL, storePage } from '../../intake/page.ts';
import type { ReceivedFile } from '../../intake/receive.ts';
import { conversionWork } from '../../submit/conversion.ts';
import { WITHOUT_KEY } from '../../submit/idempotency.ts';
import {
  type Admitted,
  type ClientWait,
  type FilePart,
  type Ids,
  type JobPlan,
  keyOf,
  oneJob,
  onlyRecord,
  type SubmitSource,
  type SubmitWork,
} from '../../submit/stages.ts';
import { submit } from '../../submit/submit.ts';
import { toolWork, validateTool } from '../../submit/tool.ts';
import { findTool } from '../../tools/find.ts';
import type { CallToolResult, ToolCall } from '../protocol/protocol.ts';
import type { CallContext } from '../protocol/served.ts';
import type { McpTool } from '../tools/tool.ts';
import { type Arguments, FILES, INCLUDE, namingArguments, readCall, readFlag } from './arguments.ts';
import { type FileArgument, readFileArgument } from './file.ts';
import { receiveInputs } from './inputs.ts';
import { uploadAdvice } from './paths.ts';
import { resultOf } from './result.ts';

/** Time kept for creating the job and for answering, ms. */
export const MARGIN_MS = 500;

/** @param workOf what is made of the files @throws Failure that names arguments instead of form fields */
export async function callForJob(
  deps: ApiDeps,
  tool: McpTool,
  call: ToolCall,
  context: CallContext,
  workOf = (ids: Ids): SubmitWork => (tool.slug === undefined ? conversionWork(deps, ids) : toolWork(deps, ids, findTool(deps, tool.slug))),
): Promise<CallToolResult> {
  const { base } = context;
  const ids = oneJob(context.id);
  const unsubscribe = publishProgress(deps, ids.id, call.progress);
  try {
    call.progress?.(0, 'Reading the call.');
    const image = readFlag(call.args, INCLUDE);
    return await submit(deps, {
      ids,
      wait: callWait(call, context),
      admit: () => admittedBefore(context),
      open: () => openCall(deps, tool, ids, { call, context, workOf }),
      answer: (submitted) => resultOf(deps, onlyRecord(submitted), base, { image }),
    });
  } catch (error) {
    throw namingArguments(advised(error, base), tool);
  } finally {
    unsubscribe();
  }
}

/** Until shortly before the answer is due. */
export function callWait({ signal: gone }: ToolCall, context: CallContext): ClientWait {
  const dueAt = context.dueAt - MARGIN_MS;
  return { for: 'end', ms: Math.max(0, dueAt - performance.now()), dueAt, gone };
}

/** A call is admitted with its message, whose exchange refunds it: the library may refuse it before a tool is called. */
export const admittedBefore = async ({ client, base, share, log }: CallContext): Promise<Admitted> => ({
  client,
  base,
  share,
  refundAfter: async () => {},
  idempotency: WITHOUT_KEY,
  log,
});

/** What a server cannot fetch, its client may have. */
const UPLOADED_INSTEAD: readonly unknown[] = ['scheme', 'dns', 'unreachable'];

/** Adds to a URL's refusal how the file comes here without it. */
export function advised(error: unknown, base: string): unknown {
  if (!(error instanceof Failure) || error.code !== 'URL_REFUSED' || !UPLOADED_INSTEAD.includes(error.details['reason'])) return error;
  if (error.message.includes('/api/v1/uploads')) return error;
  return error.with({ says: `${error.message} If the file is at hand, ${uploadAdvice(base)}` });
}

/** @throws Failure `INVALID_OPTION`, `NOT_FOUND`, `NOT_IMPLEMENTED`, `OVERLOADED` */
function openCall(
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue' | 'service'>,
  tool: McpTool,
  ids: Ids,
  { call, context, workOf }: { readonly call: ToolCall; readonly context: CallContext; readonly workOf: (ids: Ids) => SubmitWork },
): { source: SubmitSource; work: SubmitWork } {
  const args = readCall(tool, call.args);
  const work = workOf(ids);
  const source = callSource(deps, ids, { args, filename: args.filename, call, context, pages: isPageTool(deps, tool) });
  return {
    source,
    work: withWarnings(
      changed(work, (plan) => ({
        ...plan,
        async validate(files) {
          const record = await plan.validate(files);
          return (await asPage(deps, tool, source.named(), record, call.signal)) ?? record;
        },
      })),
      () => [...args.warnings, ...source.named().flatMap(assumedOf)],
    ),
  };
}

/** @param warningsOf what is said first of the job with this number */
export const withWarnings = (work: SubmitWork, warningsOf: (index: number) => JobRecord['warnings']): SubmitWork =>
  changed(work, ({ known, validate, ...plan }, index) => {
    const warnings = warningsOf(index);
    return {
      ...plan,
      known: { ...known, warnings: [...warnings, ...(known.warnings ?? [])] },
      async validate(files) {
        const record = await validate(files);
        return { ...record, warnings: [...warnings, ...record.warnings] };
      },
    };
  });

const changed = (work: SubmitWork, change: <F extends FilePart>(plan: JobPlan<F>, index: number) => JobPlan<F>): SubmitWork => ({
  ...work,
  plan: (brought) => work.plan(brought).map(change),
});

/** What a call's arguments hold and name. */
export interface CallSource extends SubmitSource {
  /** The files, once they are brought. */
  readonly named: () => readonly FileArgument[];
}

interface CallFiles {
  readonly args: Arguments;
  /** The first file's. */
  readonly filename: string;
  readonly call: ToolCall;
  readonly context: CallContext;
  /** Each file is the URL of a web page. */
  readonly pages?: boolean;
}

export function callSource(
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue' | 'service'>,
  ids: Ids,
  { args, filename, call, context, pages = false }: CallFiles,
): CallSource {
  let named: readonly FileArgument[] = [];
  return {
    named: () => named,
    receive: async () => ({ fields: args.fields, files: [], count: args.files.length }),
    async bring({ fields, count }, check) {
      // A wrong number of files is refused here, too.
      check({ fields, count });
      named = await readFiles(deps, args, context.base, pages);
      return { fields, files: await receiveFiles(deps, named, ids, { filename, call, context }), count };
    },
  };
}

const isPageTool = ({ catalogue: { current } }: Pick<ApiDeps, 'catalogue'>, { slug }: McpTool): boolean =>
  slug !== undefined && current.tools.get(slug)?.takesPage === true;

/** Decodes what stands in the call itself, and tells apart the rest. @param pages each file is the URL of a web page @throws Failure */
async function readFiles(
  { service: { settings } }: Pick<ApiDeps, 'service'>,
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

/**
 * A page's URL is printed as a browser shows it: the file alone lacks its styles and pictures.
 * @param first the job of the file that the URL gave @returns the job of the page, whose input replaces the file; undefined for all else
 */
async function asPage(
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue' | 'service'>,
  { slug }: McpTool,
  [named]: readonly FileArgument[],
  first: JobRecord,
  signal: AbortSignal,
): Promise<JobRecord | undefined> {
  const tool = deps.catalogue.current.tools.get(PAGE_TOOL);
  const [source] = first.sources;
  if (slug !== undefined || named?.is !== 'url' || tool === undefined || deps.files.findPage === undefined) return undefined;
  if (source?.format !== 'html' || first.target.format !== 'pdf') return undefined;
  const page = await storePage(deps, named.url, inputKey(first.id, source.part), signal);
  const record = await validateTool(deps, first.id, tool, { fields: new Map(), files: [page] });
  const ignored = Object.keys(first.options).map((name) => ({
    code: 'option_ignored',
    message: `The option ${name} has no effect on a web page.`,
  }));
  return { ...record, warnings: [...first.warnings.filter(({ code }) => code === 'option_unknown'), ...ignored, ...record.warnings] };
}

/** @throws Failure; then nothing is stored */
async function receiveFiles(
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue' | 'service'>,
  named: readonly FileArgument[],
  ids: Ids,
  { filename, call, context: { dueAt, release } }: Pick<CallFiles, 'filename' | 'call' | 'context'>,
): Promise<readonly ReceivedFile[]> {
  const withinMs = Math.max(1, dueAt - 2 * MARGIN_MS - performance.now());
  const files = await receiveInputs(deps, named, { keyOf: (part) => keyOf(ids, part), filename, withinMs, gone: call.signal });
  // The memory that the call's text takes is free from here on.
  for (const name of FILES) delete call.args[name];
  release();
  call.progress?.(1, 'The file was received.');
  return files;
}

/** A text that came as it is has no name to show its kind. */
export const assumedOf = (file: FileArgument): JobRecord['warnings'] =>
  file.is === 'content' && file.assumed !== undefined
    ? [{ code: 'format_assumed', message: `The text was read as ${file.assumed}; to change that, pass "from_format" or "filename".` }]
    : [];

function publishProgress({ jobs: { signals } }: Pick<ApiDeps, 'jobs'>, id: string, send: ToolCall['progress']): () => void {
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
