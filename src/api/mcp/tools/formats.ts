/** `list_supported_formats`: what can be converted into what here, short enough for a model to read. */
import { setImmediate } from 'node:timers/promises';
import type { Catalog } from '../../../catalog/catalog.ts';
import { formatByExtension, formatOf, formats, isUnproven } from '../../../catalog/formats.ts';
import { formOptionNames } from '../../../catalog/options/options.ts';
import { refuseField } from '../../../catalog/tool.ts';
import { asText } from '../../../contracts/json.ts';
import type { CallToolResult, ToolCall } from '../protocol/protocol.ts';
import { whyAbsent } from './list.ts';
import type { Formats } from './output-schemas.ts';
import { mcpTools } from './tools.ts';

const FAMILIES: readonly string[] = [...new Set([...formats.values()].map(({ family }) => family))];

/** @throws Failure `INVALID_OPTION` */
export async function listFormats(catalog: Catalog, { args }: Pick<ToolCall, 'args'>): Promise<CallToolResult> {
  const source = readSource(catalog, args['source']);
  const family = readFamily(args['family']);
  const tools = mcpTools.map(({ name, slug }) => {
    const reason = whyAbsent(catalog, slug);
    return { name, available: reason === undefined, ...(reason === undefined ? {} : { reason }) };
  });
  const answer: Formats =
    source === undefined ? { families: await byFamily(catalog, family), tools } : { source, targets: targetsOf(catalog, source), tools };
  return { content: [{ type: 'text', text: JSON.stringify(answer) }], structuredContent: answer };
}

/** Other requests are served between two sources. */
async function byFamily(catalog: Catalog, wanted: string | undefined): Promise<NonNullable<Formats['families']>> {
  const found = new Map<string, { sources: string[]; unproven: string[]; targets: Set<string> }>();
  for (const source of catalog.sources) {
    const { family } = formatOf(source);
    if (wanted !== undefined && family !== wanted) continue;
    const group = found.get(family) ?? { sources: [], unproven: [], targets: new Set() };
    (isUnproven(source) ? group.unproven : group.sources).push(source);
    for (const target of catalog.targets(source)) group.targets.add(target);
    found.set(family, group);
    await setImmediate();
  }
  return [...found].map(([family, { sources, unproven, targets }]) => ({
    family,
    sources,
    ...(unproven.length === 0 ? {} : { unproven }),
    targets: [...targets].sort(),
  }));
}

function targetsOf(catalog: Catalog, source: string): NonNullable<Formats['targets']> {
  return catalog.targets(source).map((target) => {
    const honours = catalog.honoured(source, target);
    const loses = catalog.route(source, target)?.hops.flatMap((hop) => hop.loses) ?? [];
    return { format: target, options: formOptionNames.filter((name) => honours.has(name)), loses: [...new Set(loses)] };
  });
}

function readSource(catalog: Catalog, sent: unknown): string | undefined {
  if (isEmpty(sent)) return undefined;
  const id = formatByExtension(asText(sent).trim().replace(/^\./, '').toLowerCase())?.id;
  if (id !== undefined && catalog.sources.includes(id)) return id;
  throw refuseField('source', asText(sent), `one of ${catalog.sources.join(', ')}`);
}

function readFamily(sent: unknown): string | undefined {
  if (isEmpty(sent)) return undefined;
  const family = asText(sent).trim().toLowerCase();
  if (FAMILIES.includes(family)) return family;
  throw refuseField('family', asText(sent), `one of ${FAMILIES.join(', ')}`);
}

const isEmpty = (sent: unknown): boolean => sent === undefined || sent === null || sent === '';
