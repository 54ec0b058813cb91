/** The tools as clients read them: inputs, outputs, engine, and why a tool is unavailable. */
import type { Catalog } from '../../catalog/catalog.ts';
import { fieldSchema, isRequired } from '../../catalog/options/field-schema.ts';
import { type Tool, wordsOf } from '../../catalog/tool.ts';
import type { ToolEntry } from '../../contracts/api/tools.ts';

/** Values that an operator may configure. */
export interface ToolLimits {
  readonly maxFileBytes: number;
  /** Requests of one client in 24 hours, by slug. */
  readonly ai: Readonly<Record<string, { readonly limit: number }>>;
}

type Known = Pick<Catalog, 'tools' | 'absent' | 'route'>;

/** Built once for each catalog. */
const described = new WeakMap<Known, readonly ToolEntry[]>();

export function describeTools(catalog: Known, limits?: ToolLimits): readonly ToolEntry[] {
  const list = described.get(catalog) ?? [...[...catalog.tools.values()].map((tool) => describe(catalog, tool)), ...absentOf(catalog)];
  described.set(catalog, list);
  return limits === undefined ? list : list.map((entry) => ({ ...entry, limits: limitsOf(entry, limits) }));
}

const absentOf = ({ absent }: Known): ToolEntry[] =>
  [...absent.values()].map(({ slug, summary, family, reason }) => ({ slug, summary, family, available: false, reason }));

const limitsOf = ({ slug }: ToolEntry, { maxFileBytes, ai }: ToolLimits): NonNullable<ToolEntry['limits']> => ({
  max_bytes: maxFileBytes,
  ...(Object.hasOwn(ai, slug) ? { daily: ai[slug]?.limit } : {}),
});

function describe(catalog: Known, tool: Tool): ToolEntry {
  const { slug, summary, family, accepts, files, input } = tool;
  const engine = engineOf(catalog, tool);
  return {
    slug,
    summary,
    family,
    available: true,
    ...(engine === undefined ? {} : { engine }),
    accepts: [...accepts],
    files: {
      field: files.fields[0] ?? 'file',
      min: files.min,
      max: files.max,
      ...(files.totalBytes === undefined ? {} : { total_bytes: files.totalBytes }),
    },
    options: Object.entries(input.shape).map(([name, schema]) => ({
      name,
      required: isRequired(schema),
      allowed: wordsOf(schema),
      schema: fieldSchema(schema) as Record<string, unknown>,
    })),
  };
}

/** Several engines may serve one tool, depending on the format: the one that serves most formats is shown. */
function engineOf({ route }: Known, { work, accepts }: Tool): string | undefined {
  if ('plan' in work) return work.engine.name;
  const counts = new Map<string, number>();
  for (const source of accepts) {
    const name = route(source, work.convert(source, {}).target)?.hops[0]?.engine.name;
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}
