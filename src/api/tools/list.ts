/** The tools as clients read them: inputs, outputs, engine, and why a tool is unavailable. */
import type { Catalog } from '../../catalog/catalog.ts';
import { isRequired } from '../../catalog/options/field-schema.ts';
import { wordsOf } from '../../catalog/options/fields.ts';
import { describedSchema } from '../../catalog/options/texts.ts';
import { boundsOf } from '../../catalog/planning/bounds.ts';
import type { Tool } from '../../catalog/tool.ts';
import { toolNamed } from '../../catalog/tools.ts';
import type { ToolEntry } from '../../contracts/api/tools.ts';

/** Values that an operator may configure. */
export interface ToolLimits {
  readonly maxFileBytes: number;
  /** Requests of one client in 24 hours, by slug. */
  readonly ai: Readonly<Record<string, { readonly limit: number }>>;
}

type Known = Pick<Catalog, 'tools' | 'absent' | 'route' | 'methods'>;

/** Built once for each catalog. */
const described = new WeakMap<Known, readonly ToolEntry[]>();

export function describeTools(catalog: Known, limits?: ToolLimits): readonly ToolEntry[] {
  const list = described.get(catalog) ?? [...[...catalog.tools.values()].map((tool) => describe(catalog, tool)), ...absentOf(catalog)];
  described.set(catalog, list);
  return limits === undefined ? list : list.map((entry) => ({ ...entry, limits: limitsOf(entry.slug, limits) }));
}

/** A tool whose engine is not installed is described by its file all the same. */
const absentOf = (catalog: Known): ToolEntry[] =>
  [...catalog.absent.values()].map(({ slug, summary, family, reason }) => {
    const tool = toolNamed(slug);
    return { ...(tool === undefined ? { slug, summary, family } : describe(catalog, tool)), available: false, reason };
  });

function limitsOf(slug: string, { maxFileBytes, ai }: ToolLimits): NonNullable<ToolEntry['limits']> {
  const tool = toolNamed(slug);
  const { maxBytes = maxFileBytes, maxPixels, maxPages, maxSeconds } = tool === undefined ? {} : boundsOf(tool);
  const total = tool?.files.totalBytes;
  return {
    max_bytes: Math.min(maxFileBytes, maxBytes),
    ...(total === undefined ? {} : { max_total_bytes: total }),
    ...(maxPixels === undefined ? {} : { max_pixels: maxPixels }),
    ...(maxPages === undefined ? {} : { max_pages: maxPages }),
    ...(maxSeconds === undefined ? {} : { max_seconds: maxSeconds }),
    ...(Object.hasOwn(ai, slug) ? { daily: ai[slug]?.limit } : {}),
  };
}

function describe(catalog: Known, tool: Tool): ToolEntry {
  const { slug, summary, family, accepts, files, input } = tool;
  const engines = enginesFor(catalog, tool);
  // The others of a tool with its own plan work when its field `model` asks for them.
  const usual = 'methods' in tool.work ? engines.slice(0, 1) : engines;
  return {
    slug,
    summary,
    family,
    available: true,
    ...(engines.length === 0 ? {} : { engine: usual.join(' or ') }),
    engines,
    ...(tool.widget === undefined ? {} : { widget: tool.widget }),
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
      schema: {
        ...(describedSchema(name, schema, tool) as Record<string, unknown>),
        // What is installed decides it.
        ...(name === 'model' && 'methods' in tool.work && engines.length > 0 ? { enum: engines, default: engines[0] } : {}),
      },
    })),
  };
}

/** Several engines may serve one tool, depending on the format, and one after the other: those that serve most formats first. */
function enginesFor({ route, methods }: Known, { work, accepts }: Tool): string[] {
  if ('methods' in work) return methods(work).map(({ engine }) => engine.name);
  const counts = new Map<string, number>();
  for (const source of accepts)
    for (const { engine } of route(source, work.convert(source, {}).target)?.hops ?? [])
      counts.set(engine.name, (counts.get(engine.name) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a).map(([name]) => name);
}
