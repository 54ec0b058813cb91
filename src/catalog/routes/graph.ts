/** The conversions of a toolchain as a graph: its nodes are formats, and each conversion of an engine is an edge. */
import { type Toolchain, toolchains } from '../../contracts/toolchains.ts';
import type { Conversion, Engine } from '../engine.ts';
import type { OptionName } from '../options/options.ts';
import { honouredBy } from '../route.ts';

/** One conversion of one engine. */
export interface Edge {
  readonly engine: Engine;
  readonly conversion: Conversion;
}

/** All engines that make one format of another, in their order, and the best of them. */
export interface ConversionPair {
  readonly edges: Edge[];
  best: Edge;
}

export interface ConversionGraph {
  readonly toolchain: Toolchain;
  readonly sources: readonly string[];
  /** By target. They are sorted when they are first asked for: a command asks for one source, a service for all. */
  from(source: string): ReadonlyMap<string, ConversionPair> | undefined;
}

/** @param engines the first of equals wins @returns one for each toolchain */
export function graphsOf(engines: readonly Engine[]): readonly ConversionGraph[] {
  const edges = new Map(toolchains.map((toolchain) => [toolchain, new Map<string, Edge[]>()]));
  for (const engine of engines)
    for (const toolchain of engine.toolchains) {
      const bySource = edges.get(toolchain);
      for (const conversion of engine.conversions) bySource?.getOrInsertComputed(conversion.source, () => []).push({ engine, conversion });
    }
  return [...edges].map(([toolchain, bySource]) => graphOf(toolchain, bySource));
}

function graphOf(toolchain: Toolchain, bySource: ReadonlyMap<string, readonly Edge[]>): ConversionGraph {
  const sorted = new Map<string, ReadonlyMap<string, ConversionPair>>();
  return {
    toolchain,
    sources: [...bySource.keys()],
    from(source) {
      const edges = bySource.get(source);
      return edges && sorted.getOrInsertComputed(source, () => byTarget(edges));
    },
  };
}

function byTarget(edges: readonly Edge[]): ReadonlyMap<string, ConversionPair> {
  const pairs = new Map<string, ConversionPair>();
  for (const edge of edges) {
    const pair = pairs.getOrInsertComputed(edge.conversion.target, () => ({ edges: [], best: edge }));
    pair.edges.push(edge);
    if (edge.conversion.rank > pair.best.conversion.rank) pair.best = edge;
  }
  return pairs;
}

/** Engines below this rank are not used in chains, since two such losses in a row leave nothing useful. */
const CHAIN_RANK = 50;
export const mayChain = ({ conversion }: Edge): boolean => conversion.rank >= CHAIN_RANK;

/** For each further hop, in addition to 100 − rank of each. */
export const HOP_COST = 25;
export const costOfHop = ({ conversion }: Edge): number => 100 - conversion.rank;
export const costOf = (hops: readonly Edge[]): number => hops.reduce((sum, hop) => sum + costOfHop(hop), HOP_COST * (hops.length - 1));

/** The options that some hop honours. */
export const honouredByAny = (hops: readonly Edge[]): readonly OptionName[] =>
  hops.flatMap(({ engine, conversion: { source, target } }, at) => honouredBy({ engine, source, target }, at === hops.length - 1));
