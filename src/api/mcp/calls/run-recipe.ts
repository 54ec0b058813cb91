/** `run_recipe`: several steps on the files that the call names, as one job. */
import { Failure } from '../../../errors.ts';
import type { ApiDeps } from '../../deps.ts';
import { recipeWork } from '../../recipes/work.ts';
import type { CallToolResult, ToolCall } from '../protocol/protocol.ts';
import type { CallContext } from '../protocol/served.ts';
import { RUN_RECIPE } from '../tools/list.ts';
import type { McpTool } from '../tools/tool.ts';
import { filesIn, readOptionsObject } from './arguments.ts';
import { callForJob } from './job-call.ts';

/** It is neither the conversion nor a tool: only its files are read as theirs are. */
const AD_HOC: McpTool = { name: RUN_RECIPE, title: '', description: '', slug: RUN_RECIPE, files: 'several', params: {} };

/** @throws Failure `BAD_REQUEST`, `INVALID_OPTION`, `OVERLOADED`, and as its steps do */
export function runRecipe(deps: ApiDeps, call: ToolCall, context: CallContext): Promise<CallToolResult> {
  const { recipe, options, filename, ...rest } = call.args;
  const { files, others } = filesIn(rest);
  // The call's own copy: without it, a file in it would stay in memory as long as its job runs.
  for (const name of Object.keys(call.args)) delete call.args[name];
  const args = { ...others, ...readOptionsObject(options), recipe: asText(recipe), files, filename };
  const { recipes: named, maxBatchFiles: maxFiles } = deps.service.settings;
  return callForJob(deps, AD_HOC, { ...call, args }, context, (ids) => recipeWork(deps, ids, { named, maxFiles, client: context.client }));
}

/** Models write JSON as an object or as text. */
function asText(recipe: unknown): string {
  if (typeof recipe === 'string') return recipe;
  if (typeof recipe === 'object' && recipe !== null) return JSON.stringify(recipe);
  throw new Failure('BAD_REQUEST', {
    says: 'The argument recipe is missing; expected the steps as JSON, or the name of a recipe.',
    details: { field: 'recipe' },
  });
}
