/** `run_tool`: any tool of REST, by its slug, on the files that the call names. */
import { Failure } from '../../../errors.ts';
import type { ApiDeps } from '../../deps.ts';
import { findTool } from '../../tools/find.ts';
import type { CallToolResult, ToolCall } from '../protocol/protocol.ts';
import type { CallContext } from '../protocol/served.ts';
import { slugOf } from '../tools/list-tools.ts';
import type { McpTool } from '../tools/tool.ts';
import { filesIn, INCLUDE, readOptionsObject } from './arguments.ts';
import { callForJob } from './job-call.ts';

/** @throws Failure `INVALID_OPTION`, `NOT_IMPLEMENTED`, `OVERLOADED`, and as the tool does */
export function runTool(deps: ApiDeps, call: ToolCall, context: CallContext): Promise<CallToolResult> {
  const { tool: sent, options, filename, [INCLUDE]: image, ...rest } = call.args;
  const slug = slugOf(deps.catalogue.current, sent);
  const tool = findTool(deps, slug);
  const { files, others } = filesIn(rest);
  // The call's own copy: without it, a file in it would stay in memory as long as its job runs.
  for (const name of Object.keys(call.args)) delete call.args[name];
  const several = tool.files.max > 1;
  if (!several && files.length > 1)
    throw new Failure('BAD_REQUEST', { says: `The tool ${slug} accepts one file; ${files.length} were sent. Call it once for each file.` });
  const given = several ? { files } : { file: files[0] };
  const adHoc: McpTool = { name: 'run_tool', title: '', description: '', slug, files: several ? 'several' : 'one', params: {} };
  // An option beside `options` is meant as one.
  const args = { ...others, ...readOptionsObject(options), ...given, filename, [INCLUDE]: image };
  return callForJob(deps, adHoc, { ...call, args }, context);
}
