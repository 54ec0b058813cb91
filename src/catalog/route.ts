/** From one format to another: which engines, in which order, inside one toolchain; the cheapest and least lossy way first. */
import { type Toolchain, toolchains } from '../contracts/toolchains.ts';
import type { Conversion, Engine } from './engine.ts';
import { type Format, formats } from './formats.ts';
import { type OptionName, type Options, optionApplies } from './options/options.ts';

export interface Hop {
  readonly engine: Engine;
  readonly source: string;
  readonly target: string;
  /** As the engine's conversion says. */
  readonly rank: number;
  readonly loses: readonly string[];
}

export interface Route {
  readonly toolchain: Toolchain;
  readonly hops: readonly Hop[];
}

/** Families that can contain a picture without text. */
const SHOWING: ReadonlySet<string> = new Set(['image', 'vector', 'video', 'pdf']);
/** Engines below this rank are not used in chains, since two such losses in a row leave nothing useful. */
const CHAIN_RANK = 50;
const MAX_HOPS = 3;
/** Costs in addition to 100 − rank of each hop: for each further hop, and for each ignored option. */
const HOP_COST = 25;
const IGNORED_COST = 200;

/** What a set of engines can do together. */
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

/** One conversion of one engine. */
interface Edge {
  readonly engine: Engine;
  readonly conversion: Conversion;
}

/** All engines that make one format of another, in their order, and the best of them. */
interface Pair {
  readonly edges: Edge[];
  best: Edge;
}

/** A toolchain's pairs by source. Those of a source are sorted when they are first asked for: a command asks for one, a service for all. */
interface Pairs {
  readonly sources: readonly string[];
  /** By target. */
  from(source: string): ReadonlyMap<string, Pair> | undefined;
}

/** The cheapest way to a target, without options. A table has tens of thousands of ways: `find` joins the hops of the one that it returns. */
interface Way {
  readonly toolchain: Toolchain;
  readonly cost: number;
  readonly first: Edge;
  readonly tail: Tail | undefined;
}

/** The cheapest way from a carrier onwards. */
interface Tail {
  readonly cost: number;
  readonly hops: readonly Edge[];
}

/**
 * Indexes the conversions, so that a question costs as many steps as there are ways between its two formats, whatever else there is.
 * @param engines the installed ones; the first of equals wins
 */
export function routesOf(engines: readonly Engine[], table: ReadonlyMap<string, Format> = formats): Routes {
  const graph = [...indexOf(engines)].map(([toolchain, pairs]) => ({
    toolchain,
    pairs,
    tails: new Map<string, ReadonlyMap<string, Tail>>(),
  }));
  const carriers = [...table.values()].flatMap(({ id, carries }) => (carries === undefined ? [] : [id]));
  /** For pictures: wrapping one in a document gives neither text nor shapes. */
  const pictureCarriers = carriers.filter((id) => table.get(id)?.carries === 'everything');
  const carriersOf = (source: string): readonly string[] => {
    const family = table.get(source)?.family;
    // What files it holds is not known.
    if (family === 'archive') return [];
    return family === 'image' || family === 'vector' ? pictureCarriers : carriers;
  };
  /** No text can be read from the smallest pictures. */
  const isTooSmall = (source: string, target: string) => table.get(source)?.tiny === true && !SHOWING.has(table.get(target)?.family ?? '');

  const used = (use: Format['use']) => new Set([...table.values()].flatMap((row) => (row.use === use ? [row.id] : [])));
  const [common, rare] = [used('common'), used('rare')];
  /** From and to a rare format lead only ways to and from common ones. Asked for each of thousands of pairs. */
  const isUseful = (source: string): ((target: string) => boolean) => {
    if (rare.has(source)) return (target) => common.has(target);
    return common.has(source) ? () => true : (target) => !rare.has(target);
  };

  /** From a carrier onwards, in at most two hops that may be part of a chain, past `source`. */
  const tailOf = ({ pairs, tails }: (typeof graph)[number], carrier: string, source: string): ReadonlyMap<string, Tail> => {
    // That the chain began elsewhere matters only where it began at a carrier.
    const isShared = !carriers.includes(source);
    const before = isShared ? tails.get(carrier) : undefined;
    if (before !== undefined) return before;
    const onward = pairs.from(carrier);
    const ways = new Map<string, Tail>();
    for (const [target, { best }] of onward ?? []) if (target !== carrier && mayChain(best)) offer(ways, target, costOfHop(best), [best]);
    for (const second of carriersOf(carrier)) {
      const first = onward?.get(second)?.best;
      if (second === carrier || second === source || first === undefined || !mayChain(first)) continue;
      const begun = costOfHop(first) + HOP_COST;
      for (const [target, { best }] of pairs.from(second) ?? [])
        if (target !== second && target !== carrier && mayChain(best)) offer(ways, target, begun + costOfHop(best), [best], first);
    }
    if (isShared) tails.set(carrier, ways);
    return ways;
  };

  /** All that can be reached from a format. */
  const explore = (source: string): ReadonlyMap<string, Way> => {
    const reached = new Map<string, Way>();
    const offerWay = (target: string, toolchain: Toolchain, cost: number, first: Edge, tail?: Tail): void => {
      const known = reached.get(target);
      if (known === undefined || cost < known.cost) reached.set(target, { toolchain, cost, first, tail });
    };
    for (const part of graph) {
      const onward = part.pairs.from(source);
      if (onward === undefined) continue;
      for (const [target, { best }] of onward) offerWay(target, part.toolchain, costOfHop(best), best);
      for (const carrier of carriersOf(source)) {
        const first = onward.get(carrier)?.best;
        if (carrier === source || first === undefined || !mayChain(first)) continue;
        const begun = costOfHop(first) + HOP_COST;
        for (const [target, tail] of tailOf(part, carrier, source))
          if (target !== source) offerWay(target, part.toolchain, begun + tail.cost, first, tail);
      }
    }
    const useful = isUseful(source);
    for (const target of reached.keys()) if (isTooSmall(source, target) || !useful(target)) reached.delete(target);
    return reached;
  };
  const known = new Map<string, ReturnType<typeof explore>>();
  const reachedFrom = (source: string) => {
    const before = known.get(source) ?? explore(source);
    known.set(source, before);
    return before;
  };

  /** Every way, by all engines and with re-encodings: only where options are to be honoured. */
  const everyWay = function* (source: string, target: string): Generator<{ toolchain: Toolchain; hops: readonly Edge[] }> {
    for (const { toolchain, pairs } of graph)
      for (const hops of ways({ pairs, carriersOf }, source, target, MAX_HOPS)) yield { toolchain, hops };
  };
  const order = [...table.keys()];
  const inOrder = (ids: Pick<ReadonlySet<string>, 'has'>) => order.filter((id) => ids.has(id));
  return {
    sources: inOrder(new Set(graph.flatMap(({ pairs }) => pairs.sources))),
    targets: (source) => inOrder(reachedFrom(source)),
    find(source, target, given = []) {
      const reached = reachedFrom(source).get(target);
      if (reached === undefined) return undefined;
      const { toolchain, first, tail } = reached;
      let best = { toolchain, hops: [first, ...(tail?.hops ?? [])] as readonly Edge[], cost: Number.POSITIVE_INFINITY };
      if (ignoredBy(best.hops, given) === 0) return toRoute(best);
      for (const { toolchain, hops } of everyWay(source, target)) {
        const cost = costOf(hops) + IGNORED_COST * ignoredBy(hops, given);
        if (cost < best.cost) best = { toolchain, hops, cost };
      }
      return toRoute(best);
    },
    honoured: (source, target) =>
      new Set([...everyWay(source, target)].flatMap(({ hops }) => hops.flatMap((edge, at) => optionsOf(edge, at === hops.length - 1)))),
  };
}

function indexOf(engines: readonly Engine[]): ReadonlyMap<Toolchain, Pairs> {
  const edges = new Map(toolchains.map((toolchain) => [toolchain, new Map<string, Edge[]>()]));
  for (const engine of engines)
    for (const toolchain of engine.toolchains) {
      const bySource = edges.get(toolchain);
      for (const conversion of engine.conversions) bySource?.getOrInsertComputed(conversion.source, () => []).push({ engine, conversion });
    }
  return new Map([...edges].map(([toolchain, bySource]) => [toolchain, pairsOf(bySource)]));
}

function pairsOf(bySource: ReadonlyMap<string, readonly Edge[]>): Pairs {
  const known = new Map<string, ReadonlyMap<string, Pair>>();
  return {
    sources: [...bySource.keys()],
    from: (source) => {
      const edges = bySource.get(source);
      return edges && known.getOrInsertComputed(source, () => byTarget(edges));
    },
  };
}

function byTarget(edges: readonly Edge[]): ReadonlyMap<string, Pair> {
  const pairs = new Map<string, Pair>();
  for (const edge of edges) {
    const pair = pairs.getOrInsertComputed(edge.conversion.target, () => ({ edges: [], best: edge }));
    pair.edges.push(edge);
    if (edge.conversion.rank > pair.best.conversion.rank) pair.best = edge;
  }
  return pairs;
}

/** @param cost of all hops @param first a hop that comes before the others */
function offer(ways: Map<string, Tail>, target: string, cost: number, hops: readonly Edge[], first?: Edge): void {
  const known = ways.get(target);
  if (known === undefined || cost < known.cost) ways.set(target, { cost, hops: first === undefined ? hops : [first, ...hops] });
}

interface Graph {
  readonly pairs: Pairs;
  readonly carriersOf: (source: string) => readonly string[];
}

/** All acyclic paths of at most `left` hops, also with a final re-encoding of the target, which can apply options that the path cannot. */
function* ways(graph: Graph, source: string, target: string, left: number, passed: readonly string[] = []): Generator<readonly Edge[]> {
  const edges = (from: string, to: string) => graph.pairs.from(from)?.get(to)?.edges ?? [];
  for (const edge of edges(source, target)) {
    yield [edge];
    if (source !== target && left > 1) for (const again of edges(target, target)) yield [edge, again];
  }
  if (left < 2 || source === target) return;
  for (const carrier of graph.carriersOf(source)) {
    if (carrier === source || carrier === target || passed.includes(carrier)) continue;
    for (const edge of edges(source, carrier).filter(mayChain))
      for (const rest of ways(graph, carrier, target, left - 1, [...passed, source])) if (rest.every(mayChain)) yield [edge, ...rest];
  }
}

const mayChain = ({ conversion }: Edge): boolean => conversion.rank >= CHAIN_RANK;

const costOfHop = ({ conversion }: Edge): number => 100 - conversion.rank;
const costOf = (hops: readonly Edge[]): number => hops.reduce((sum, hop) => sum + costOfHop(hop), HOP_COST * (hops.length - 1));

/** The options that a hop honours. */
const optionsOf = ({ engine, conversion: { source, target } }: Edge, isLast: boolean): readonly OptionName[] =>
  engine.options(source, target).filter((name) => isLast || optionApplies(name) !== 'result');

/** How many of the options no hop honours. */
const ignoredBy = (hops: readonly Edge[], given: readonly OptionName[]): number =>
  given.filter((name) => !hops.some((hop, at) => optionsOf(hop, at === hops.length - 1).includes(name))).length;

const toRoute = ({ toolchain, hops }: { readonly toolchain: Toolchain; readonly hops: readonly Edge[] }): Route => ({
  toolchain,
  hops: hops.map(({ engine, conversion }) => ({
    engine,
    source: conversion.source,
    target: conversion.target,
    rank: conversion.rank,
    loses: conversion.loses ?? [],
  })),
});

/** How good the whole is: 90 is faithful, 70 good, 50 usable, 30 a last resort. */
export const rankOf = ({ hops }: Route): number => Math.min(...hops.map(({ rank }) => rank));

/** Ids of the engines that a pool needs for this route. */
export const enginesOf = ({ hops }: Route): readonly string[] => hops.map(({ engine }) => engine.id);

/** Sent options that no hop honours; the client gets a warning. */
export function ignoredOptions(route: Route, given: readonly OptionName[]): OptionName[] {
  return given.filter((name) => !route.hops.some((_, at) => honours(route, at, name)));
}

function honours({ hops }: Route, at: number, name: OptionName): boolean {
  const hop = hops[at];
  return hop !== undefined && optionsOf({ engine: hop.engine, conversion: hop }, at === hops.length - 1).includes(name);
}

/** The options that one hop applies. Most apply to one hop only: rotating twice would be wrong. */
export function optionsForHop(route: Route, index: number, options: Options): Options {
  const mine = (Object.keys(options) as OptionName[]).filter((name) => {
    if (!honours(route, index, name)) return false;
    const takers = route.hops.flatMap((_, at) => (honours(route, at, name) ? [at] : []));
    if (optionApplies(name) === 'each') return true;
    return (optionApplies(name) === 'first' ? takers[0] : takers.at(-1)) === index;
  });
  return Object.fromEntries(mine.map((name) => [name, options[name]])) as Options;
}
