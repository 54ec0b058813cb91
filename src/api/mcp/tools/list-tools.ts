/** `list_tools`: every tool of REST, and the options of one of them. */
import type { Catalog } from '../../../catalog/catalog.ts';
import { refuseField } from '../../../catalog/tool.ts';
import type { ToolEntry } from '../../../contracts/api/tools.ts';
import { describeTools } from '../../tools/list.ts';
import type { CallToolResult, ToolCall } from '../protocol/protocol.ts';
import { mcpTools } from './tools.ts';

/** @throws Failure `INVALID_OPTION` */
export function listTools(catalog: Catalog, { args }: Pick<ToolCall, 'args'>): CallToolResult {
  const all = describeTools(catalog);
  const wanted = args['tool'];
  const tools = wanted === undefined || wanted === null || wanted === '' ? all.map(inBrief) : [inFull(toolNamed(all, wanted))];
  return { content: [{ type: 'text', text: JSON.stringify({ tools }) }], structuredContent: { tools } };
}

/** The slug that is meant: with `_` for `-`, and by its name among the tools of MCP. @throws Failure `INVALID_OPTION` */
export function slugOf(catalog: Catalog, sent: unknown): string {
  return toolNamed(describeTools(catalog), sent).slug;
}

function toolNamed(all: readonly ToolEntry[], sent: unknown): ToolEntry {
  const name = typeof sent === 'string' ? sent.trim().toLowerCase().slice(0, 100) : '';
  const slug = mcpTools.find((tool) => tool.name === name)?.slug ?? name.replaceAll('_', '-');
  const found = all.find((tool) => tool.slug === slug);
  if (found !== undefined) return found;
  const received = name === '' ? undefined : name;
  throw refuseField('tool', received, `one of ${all.flatMap((tool) => (tool.available ? tool.slug : [])).join(', ')}`);
}

/** Enough to choose by. */
const inBrief = ({ slug, summary, available, reason }: ToolEntry) => ({
  tool: slug,
  summary,
  available,
  ...(reason === undefined ? {} : { reason }),
});

const inFull = (tool: ToolEntry) => ({
  ...inBrief(tool),
  accepts: tool.accepts,
  files: tool.files === undefined ? undefined : { min: tool.files.min, max: tool.files.max },
  options: tool.options?.map(({ name, required, allowed, schema }) => ({ name, required, allowed, schema })),
});
