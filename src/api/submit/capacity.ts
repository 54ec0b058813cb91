/** Refuses work that no queue has room for, before it is received: by its headers, then as soon as its form shows which pools could take it. */
import type { Catalog } from '../../catalog/catalog.ts';
import { formatByExtension } from '../../catalog/formats.ts';
import { askedOptions } from '../../catalog/options/defaults.ts';
import { type OptionName, optionNames, readOptions } from '../../catalog/options/options.ts';
import { enginesOf } from '../../catalog/route.ts';
import type { Tool } from '../../catalog/tool.ts';
import { Failure } from '../../errors.ts';
import { poolsFor } from '../../pools/registry.ts';
import type { ApiDeps } from '../deps.ts';
import type { SeenFile } from '../intake/receive.ts';

/** @param pools any of which could take it; none where it will be refused for another reason @throws Failure `OVERLOADED` where all are full */
export async function refuseFull({ jobs: { room } }: Pick<ApiDeps, 'jobs'>, pools: readonly string[]): Promise<void> {
  if (pools.length === 0) return;
  const full = await Promise.all(pools.map((pool) => room.isFull(pool)));
  if (full.every(Boolean)) throw new Failure('OVERLOADED', { details: { pool: pools[0] } });
}

/** By headers alone: a conversion may go to any pool. */
export const poolsOfAll = ({ catalogue: { pools } }: Pick<ApiDeps, 'catalogue'>): readonly string[] =>
  [...pools.values()].filter(({ paused, engines }) => !paused && engines.size > 0).map(({ name }) => name);

/** By headers alone: all pools that can run the tool. */
export const poolsOfTool = ({ catalogue: { pools, current } }: Pick<ApiDeps, 'catalogue'>, tool: Tool): readonly string[] =>
  unique(toolchainsOf(current, tool).flatMap((toolchain) => poolsFor(pools, toolchain, [])));

/** @returns a check of one file before it is stored; it throws Failure `OVERLOADED` */
export function checkCapacity(deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue'>): (seen: SeenFile) => Promise<void> {
  return async (seen) => {
    // Usually no pool is full: then the file need not be inspected.
    const full = await Promise.all(poolsOfAll(deps).map((pool) => deps.jobs.room.isFull(pool)));
    if (full.some(Boolean)) await refuseFull(deps, await poolsOfConversion(deps, seen));
  };
}

/** The pools that could take it; none where that is not known yet, or where it will be refused for another reason. */
async function poolsOfConversion(
  { files: { judge }, catalogue: { pools, current: catalog } }: Pick<ApiDeps, 'files' | 'catalogue'>,
  { fields, filename, sample, isWhole }: SeenFile,
): Promise<readonly string[]> {
  // A ZIP lists its content at its end.
  if (!isWhole && ZIP.every((byte, at) => sample.head[at] === byte)) return [];
  const source = await judge
    .sourceOf(sample, filename, fields.get('from_format')?.trim().slice(0, 100) || undefined)
    .catch(() => undefined);
  if (source === undefined) return [];
  const to = fields.get('to_format');
  const target = to === undefined ? undefined : formatByExtension(to.slice(0, 10).toLowerCase());
  if (target === undefined && (isWhole || to !== undefined)) return [];
  const given = askedIn(fields);
  const routes = (target === undefined ? catalog.targets(source) : [target.id]).map((id) => catalog.route(source, id, given));
  return unique(routes.flatMap((route) => (route === undefined ? [] : poolsFor(pools, route.toolchain, enginesOf(route)))));
}

/** None where one is invalid: the request is refused for that. */
function askedIn(fields: ReadonlyMap<string, string>): readonly OptionName[] {
  try {
    return askedOptions(readOptions(fields));
  } catch {
    return [];
  }
}

const ZIP = [0x50, 0x4b];

const known = new WeakMap<Catalog, Map<string, readonly string[]>>();

/** The toolchains that may run a tool, for any file. */
function toolchainsOf(catalog: Catalog, tool: Tool): readonly string[] {
  const { work, accepts, slug, input } = tool;
  if ('methods' in work) return [...new Set(catalog.methods(work).flatMap(({ engine }) => engine.toolchains))];
  const ofTools = known.get(catalog) ?? new Map<string, readonly string[]>();
  known.set(catalog, ofTools);
  const before = ofTools.get(slug);
  if (before !== undefined) return before;
  const routes = accepts.flatMap((source) => {
    const { target, options } = work.convert(source, {});
    // With each option that it may set, and without.
    const given = optionNames.filter((name) => name in options || name in input.shape);
    return [catalog.route(source, target), catalog.route(source, target, given)];
  });
  const found = [...new Set(routes.flatMap((route) => (route === undefined ? [] : [route.toolchain])))];
  ofTools.set(slug, found);
  return found;
}

const unique = (pools: readonly { readonly name: string }[]): readonly string[] => [...new Set(pools.map(({ name }) => name))];
