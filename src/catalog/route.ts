/** From one format to another: which engines, in which order, inside one toolchain; the cheapest and least lossy way first. */
import { type Toolchain, toolchains } from '../contracts/toolchains.ts';
import type { Conversion, Engine } from './engine.ts';
import { formatOf, formats } from './formats.ts';
import type { OptionName, Options } from './options/options.ts';
import { optionApplies } from './options/options.ts';

export interface Hop {
  readonly engine: Engine;
  readonly source: string;
  readonly target: string;
  readonly loses: readonly string[];
}

export interface Route {
  readonly toolchain: Toolchain;
  readonly hops: readonly Hop[];
}

/** Formats that chains may pass through: they hold nearly everything that their neighbours hold. */
const CARRIERS = ['png', 'pdf', 'docx', 'odt', 'html'] as const;
/** For pictures: wrapping one in a document gives neither text nor shapes. */
const PICTURE_CARRIERS = ['png'] as const;
/** Families that can contain a picture without text. */
const SHOWING: ReadonlySet<string> = new Set(['image', 'vector', 'video', 'pdf']);
/** Engines below this rank are not used in chains, since two such losses in a row leave nothing useful. */
const CHAIN_RANK = 50;
const MAX_HOPS = 3;
/** Costs in addition to 100 − rank of each hop: for each further hop, and for each ignored option. */
const HOP_COST = 25;
const IGNORED_COST = 200;

/** Ids of the engines that a pool needs for this route. */
export const enginesOf = ({ hops }: Route): readonly string[] => hops.map(({ engine }) => engine.id);

/** @param engines the installed ones @param given names of the options that the client sent */
export function findRoute(
  engines: readonly Engine[],
  source: string,
  target: string,
  given: readonly OptionName[] = [],
): Route | undefined {
  if (formatOf(source).tiny && !SHOWING.has(formatOf(target).family)) return undefined;
  let best: { route: Route; cost: number } | undefined;
  for (const toolchain of toolchains) {
    const inside = engines.filter((engine) => engine.toolchains.includes(toolchain));
    for (const hops of ways(inside, source, target, MAX_HOPS)) {
      const cost = costOf(hops, given);
      if (best === undefined || cost < best.cost) best = { route: { toolchain, hops: hops.map(toHop) }, cost };
    }
  }
  return best?.route;
}

/** Options that some route from one format to the other honours; `findRoute` prefers that route if they are sent. */
export function honouredOptions(engines: readonly Engine[], source: string, target: string): ReadonlySet<OptionName> {
  const hops = toolchains.flatMap((toolchain) => [
    ...ways(
      engines.filter((engine) => engine.toolchains.includes(toolchain)),
      source,
      target,
      MAX_HOPS,
    ),
  ]);
  return new Set(hops.flat().flatMap(({ engine, conversion }) => engine.options(conversion.source, conversion.target)));
}

/** Every format that some route reaches, in the order of the table. */
export function reachable(engines: readonly Engine[], source: string): string[] {
  return [...formats.keys()].filter((target) => findRoute(engines, source, target) !== undefined);
}

/** Every format that some engine reads. */
export const sources = (engines: readonly Engine[]): string[] =>
  [...formats.keys()].filter((id) => engines.some(({ conversions }) => conversions.some(({ source }) => source === id)));

/** Sent options that no hop honours; the client gets a warning. */
export function ignoredOptions(route: Route, given: readonly OptionName[]): OptionName[] {
  return given.filter((name) => !route.hops.some((hop) => hop.engine.options(hop.source, hop.target).includes(name)));
}

/** The options that one hop applies. Most apply to one hop only: rotating twice would be wrong. */
export function optionsForHop(route: Route, index: number, options: Options): Options {
  const honours = (hop: Hop, name: OptionName) => hop.engine.options(hop.source, hop.target).includes(name);
  const mine = (Object.keys(options) as OptionName[]).filter((name) => {
    const hop = route.hops[index];
    if (hop === undefined || !honours(hop, name)) return false;
    const takers = route.hops.flatMap((other, at) => (honours(other, name) ? [at] : []));
    if (optionApplies(name) === 'each') return true;
    return (optionApplies(name) === 'first' ? takers[0] : takers.at(-1)) === index;
  });
  return Object.fromEntries(mine.map((name) => [name, options[name]])) as Options;
}

type Edge = { readonly engine: Engine; readonly conversion: Conversion };

/** All acyclic paths of at most `left` hops, also with a final re-encoding of the target, which can apply options that the path cannot. */
function* ways(
  engines: readonly Engine[],
  source: string,
  target: string,
  left: number,
  passed: readonly string[] = [],
): Generator<readonly Edge[]> {
  for (const edge of edges(engines, source, target)) {
    yield [edge];
    if (source !== target && left > 1) for (const again of edges(engines, target, target)) yield [edge, again];
  }
  if (left < 2 || source === target) return;
  for (const carrier of carriersOf(source)) {
    if (carrier === source || carrier === target || passed.includes(carrier)) continue;
    for (const edge of edges(engines, source, carrier)) {
      if (edge.conversion.rank < CHAIN_RANK) continue;
      for (const rest of ways(engines, carrier, target, left - 1, [...passed, source]))
        if (rest.every(({ conversion }) => conversion.rank >= CHAIN_RANK)) yield [edge, ...rest];
    }
  }
}

const carriersOf = (source: string): readonly string[] =>
  ['image', 'vector'].includes(formatOf(source).family) ? PICTURE_CARRIERS : CARRIERS;

function edges(engines: readonly Engine[], source: string, target: string): Edge[] {
  return engines.flatMap((engine) =>
    engine.conversions
      .filter((conversion) => conversion.source === source && conversion.target === target)
      .map((conversion) => ({ engine, conversion })),
  );
}

function costOf(hops: readonly Edge[], given: readonly OptionName[]): number {
  const quality = hops.reduce((sum, { conversion }) => sum + 100 - conversion.rank, 0);
  const ignored = given.filter(
    (name) => !hops.some(({ engine, conversion }) => engine.options(conversion.source, conversion.target).includes(name)),
  );
  return quality + HOP_COST * (hops.length - 1) + IGNORED_COST * ignored.length;
}

const toHop = ({ engine, conversion }: Edge): Hop => ({
  engine,
  source: conversion.source,
  target: conversion.target,
  loses: conversion.loses ?? [],
});
