/** Finds a tool by its slug, for REST, MCP and ConversionJobs alike. */
import { isForModel } from '../../catalog/listed-tool.ts';
import type { Tool } from '../../catalog/tool.ts';
import { Failure } from '../../errors.ts';
import { type CatalogueDeps, startingOr } from '../admission/starting.ts';

/** @throws Failure `NOT_FOUND`, `NOT_IMPLEMENTED`, `OVERLOADED` */
export function findTool(deps: CatalogueDeps, slug: string): Tool {
  const { tools, absent } = deps.catalogue.current;
  const tool = tools.get(slug);
  if (tool !== undefined) return tool;
  const reason = absent.get(slug)?.reason;
  if (reason === undefined) throw unknownTool();
  const says = `The tool ${slug} is not available on this server: ${reason}.`;
  throw startingOr(
    deps,
    (other) => other.tools.has(slug),
    new Failure('NOT_IMPLEMENTED', { says, details: { slug, reason: isForModel(reason) ? 'model_not_installed' : reason } }),
  );
}

export const unknownTool = (): Failure => new Failure('NOT_FOUND', { says: 'There is no such tool; GET /api/v1/tools lists them.' });
