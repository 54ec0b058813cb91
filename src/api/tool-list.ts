/** The tools as clients read them: what each takes and gives, and why one is not there. */
import type { Catalog } from '../catalog/catalog.ts';
import { type Tool, wordsOf } from '../catalog/tool.ts';

export function describeTools({ tools, absent }: Pick<Catalog, 'tools' | 'absent'>): object[] {
  const there = [...tools.values()].map(describe);
  const missing = [...absent.values()].map(({ slug, summary, family, reason }) => ({ slug, summary, family, available: false, reason }));
  return [...there, ...missing];
}

function describe({ slug, summary, family, accepts, files, input, work }: Tool): object {
  return {
    slug,
    summary,
    family,
    available: true,
    ...('plan' in work ? { engine: work.engine.name } : {}),
    accepts,
    files: {
      field: files.fields[0],
      min: files.min,
      max: files.max,
      ...(files.totalBytes === undefined ? {} : { total_bytes: files.totalBytes }),
    },
    options: Object.entries(input.shape).map(([name, schema]) => ({
      name,
      required: !schema.safeParse(undefined).success,
      allowed: wordsOf(schema),
    })),
  };
}
