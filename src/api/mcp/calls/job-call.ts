/** A call that creates a job: the same steps as a REST request, with the files that its arguments hold or name. */
import { Failure } from '../../../errors.ts';
import { type JobRecord, sourceBytes } from '../../../jobs/record.ts';
import { inputKey } from '../../../objects/keys.ts';
import type { ApiDeps } from '../../deps.ts';
import { PAGE_TOOL, storePage } from '../../intake/page.ts';
import type { ReceivedFile } from '../../intake/receive.ts';
import { waitForJob } from '../../submit/answer.ts';
import { conversionWork } from '../../submit/conversion.ts';
import { WITHOUT_KEY } from '../../submit/idempotency.ts';
import { type Admitted, type Ids, oneJob, onlyRecord, type SubmitSource, type SubmitWork } from '../../submit/stages.ts';
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

/** @throws Failure that names arguments instead of form fields */
export async function callForJob(deps: ApiDeps, tool: McpTool, call: ToolCall, context: CallContext): Promise<CallToolResult> {
  const { base, dueAt } = context;
  const ids = oneJob(context.id);
  try {
    call.progress?.(0, 'Reading the call.');
    const image = readFlag(call.args, INCLUDE);
    return await submit(deps, {
      ids,
      admit: () => admittedBefore(deps, context),
      open: () => openCall(deps, tool, ids, call, context),
      answer: {
        find: notRepeated,
        log: (submitted) => context.log({ job_id: ids.id, tool: tool.name, bytes: sourceBytes(onlyRecord(submitted)) }),
        async wait(submitted) {
          const unsubscribe = publishProgress(deps, ids.id, call.progress);
          try {
            const waitMs = Math.max(0, dueAt - MARGIN_MS - performance.now());
            return { ...submitted, records: [await waitForJob(deps, onlyRecord(submitted), { waitMs, gone: call.signal })] };
          } finally {
            unsubscribe();
          }
        },
        respond: (submitted) => resultOf(deps, onlyRecord(submitted), base, { image }),
      },
    });
  } catch (error) {
    throw namingArguments(advised(error, base), tool);
  }
}

/** A call is admitted with its message, whose exchange refunds it: the library may refuse it before a tool is called. */
export const admittedBefore = async ({ log }: ApiDeps, { client, share }: CallContext): Promise<Admitted> => ({
  client,
  share,
  isRefunded: () => false,
  idempotency: WITHOUT_KEY,
  log,
});

/** Calls have no key under which they could be repeated. */
export const notRepeated = (): Promise<never> => Promise.reject(new Error('a call has no earlier one'));

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
  deps: ApiDeps,
  tool: McpTool,
  ids: Ids,
  call: ToolCall,
  context: CallContext,
): { source: SubmitSource; work: SubmitWork } {
  const args = readCall(tool, call.args);
  const work = tool.slug === undefined ? conversionWork(deps, ids) : toolWork(deps, ids, findTool(deps, tool.slug));
  const source = callSource(deps, ids, { args, filename: args.filename, call, context, pages: isPageTool(deps, tool) });
  return {
    source,
    work: withRecords(work, async (record) => {
      const valid = (await asPage(deps, tool, source.named(), record, call.signal)) ?? record;
      return { ...valid, warnings: [...args.warnings, ...source.named().flatMap(assumedOf), ...valid.warnings] };
    }),
  };
}

/** @param change what becomes of the record of the job with this number */
export const withRecords = (work: SubmitWork, change: (record: JobRecord, index: number) => Promise<JobRecord>): SubmitWork => ({
  ...work,
  plan: (brought) =>
    work.plan(brought).map(({ validate, refused, ...plan }, index) => ({
      ...plan,
      validate: async (files) => change(await validate(files), index),
      ...(refused === undefined ? {} : { refused: async (files, error) => change(await refused(files, error), index) }),
    })),
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

export function callSource(deps: ApiDeps, { keyOf }: Ids, { args, filename, call, context, pages = false }: CallFiles): CallSource {
  let named: readonly FileArgument[] = [];
  return {
    named: () => named,
    receive: async () => ({ fields: args.fields, files: [], count: args.files.length }),
    async bring({ fields, count }, check) {
      // A wrong number of files is refused here, too.
      check({ fields, count });
      named = await readFiles(deps, args, context.base, pages);
      return { fields, files: await receiveFiles(deps, named, keyOf, { filename, call, context }), count };
    },
  };
}

const isPageTool = ({ catalog }: ApiDeps, { slug }: McpTool): boolean => slug !== undefined && catalog.tools.get(slug)?.takesPage === true;

/** Decodes what stands in the call itself, and tells apart the rest. @param pages each file is the URL of a web page @throws Failure */
async function readFiles(
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
  const record = await validateTool(deps, first.id, tool, { fields: new Map(), files: [page] });
  const ignored = Object.keys(first.options).map((name) => ({
    code: 'option_ignored',
    message: `The option ${name} has no effect on a web page.`,
  }));
  return { ...record, warnings: [...first.warnings.filter(({ code }) => code === 'option_unknown'), ...ignored, ...record.warnings] };
}

/** @throws Failure; then nothing is stored */
async function receiveFiles(
  deps: ApiDeps,
  named: readonly FileArgument[],
  keyOf: Ids['keyOf'],
  { filename, call, context: { dueAt, release } }: Pick<CallFiles, 'filename' | 'call' | 'context'>,
): Promise<readonly ReceivedFile[]> {
  const withinMs = Math.max(1, dueAt - 2 * MARGIN_MS - performance.now());
  const files = await receiveInputs(deps, named, { keyOf, filename, withinMs, gone: call.signal });
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
