/** What a set of engines can do together: which format leads to which, and by which route. */
import type { Toolchain } from '../../contracts/toolchains.ts';
import type { Engine } from '../engine.ts';
import { type Format, formats } from '../formats.ts';
import type { OptionName } from '../options/options.ts';
import type { Route } from '../route.ts';
import { type Cheapest, cheapestIn } from './cheapest.ts';
import { costOf, type Edge, graphsOf, honouredByAny } from './graph.ts';
import { paths } from './paths.ts';
import { policyOf } from './policy.ts';

export interface Routes {
  /** Every format that some engine reads, in the order of the table. */
  readonly sources: readonly string[];
  /** Every format that some route from `source` reaches, in the order of the table. */
  targets(source: string): readonly string[];
  /** @param given names of the options that the client sent: a route that honours them is preferred */
  find(source: string, target: string, given?: readonly OptionName[]): Route | undefined;
  /** Options that some route from one format to the other honours; `find` prefers that route if they are sent. */
  honoured(source: string, target: string): ReadonlySet<OptionName>;
}

/** In addition to the costs of the hops, for each ignored option. */
const IGNORED_COST = 200;

/** A way through one toolchain. */
interface Path {
  readonly toolchain: Toolchain;
  readonly hops: readonly Edge[];
}

/**
 * Indexes the conversions, so that a question costs as many steps as there are ways between its two formats, whatever else there is.
 * @param engines the installed ones; the first of equals wins
 */
export function routesOf(engines: readonly Engine[], table: ReadonlyMap<string, Format> = formats): Routes {
  const graphs = graphsOf(engines);
  const policy = policyOf(table);
  const cheapestFrom = cheapestIn(graphs, policy);
  const order = [...table.keys()];
  const inOrder = (ids: Pick<ReadonlySet<string>, 'has'>) => order.filter((id) => ids.has(id));

  return {
    sources: inOrder(new Set(graphs.flatMap((graph) => graph.sources))),
    targets: (source) => inOrder(cheapestFrom(source)),
    find(source, target, given = []) {
      const found = cheapestFrom(source).get(target);
      if (found === undefined) return undefined;
      const cheapest = pathOf(found);
      return routeOf(ignoredBy(cheapest, given) === 0 ? cheapest : cheapestHonouring(given, cheapest, everyPath(source, target)));
    },
    honoured: (source, target) => new Set([...everyPath(source, target)].flatMap(({ hops }) => honouredByAny(hops))),
  };

  function* everyPath(source: string, target: string): Generator<Path> {
    for (const graph of graphs) for (const hops of paths(graph, policy, source, target)) yield { toolchain: graph.toolchain, hops };
  }
}

const pathOf = ({ toolchain, first, onward }: Cheapest): Path => ({ toolchain, hops: [first, ...(onward?.hops ?? [])] });

/** @param otherwise where there is no path at all */
function cheapestHonouring(given: readonly OptionName[], otherwise: Path, all: Iterable<Path>): Path {
  let best = { path: otherwise, cost: Number.POSITIVE_INFINITY };
  for (const path of all) {
    const cost = costOf(path.hops) + IGNORED_COST * ignoredBy(path, given);
    if (cost < best.cost) best = { path, cost };
  }
  return best.path;
}

/** How many of the options no hop honours. */
function ignoredBy({ hops }: Path, given: readonly OptionName[]): number {
  const honoured = given.length === 0 ? [] : honouredByAny(hops);
  return given.filter((name) => !honoured.includes(name)).length;
}

const routeOf = ({ toolchain, hops }: Path): Route => ({
  toolchain,
  hops: hops.map(({ engine, conversion: { source, target, rank, loses = [] } }) => ({ engine, source, target, rank, loses })),
});
