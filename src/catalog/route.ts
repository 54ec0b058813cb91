/** A route from one format to another: engines one after the other, inside one toolchain. */
import type { Toolchain } from '../contracts/toolchains.ts';
import type { Engine } from './engine.ts';
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

/** How good the whole is: 90 is faithful, 70 good, 50 usable, 30 a last resort. */
export const rankOf = ({ hops }: Route): number => Math.min(...hops.map(({ rank }) => rank));

/** Ids of the engines that a pool needs for this route. */
export const enginesOf = ({ hops }: Route): readonly string[] => hops.map(({ engine }) => engine.id);

/** Sent options that no hop honours; the client gets a warning. */
export function ignoredOptions(route: Route, given: readonly OptionName[]): OptionName[] {
  return given.filter((name) => !route.hops.some((_, at) => honours(route, at, name)));
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

function honours({ hops }: Route, at: number, name: OptionName): boolean {
  const hop = hops[at];
  return hop !== undefined && honouredBy(hop, at === hops.length - 1).includes(name);
}

/** The options that a hop honours. @param isLast whether it makes the result */
export const honouredBy = ({ engine, source, target }: Pick<Hop, 'engine' | 'source' | 'target'>, isLast: boolean): readonly OptionName[] =>
  engine.options(source, target).filter((name) => isLast || optionApplies(name) !== 'result');
