/**
 * The cheapest way from a format to each that can be reached, without options: in one hop, or through one or two carriers. The whole table is
 * computed at the start of a service, so each carrier's onward ways are computed once and shared by all formats that become it.
 */
import type { Toolchain } from '../../contracts/toolchains.ts';
import { type ConversionGraph, costOfHop, type Edge, HOP_COST, mayChain } from './graph.ts';
import type { RoutePolicy } from './policy.ts';

/** A table has tens of thousands of these. `routes.ts` joins the hops of the one that it returns. */
export interface Cheapest {
  readonly toolchain: Toolchain;
  readonly cost: number;
  readonly first: Edge;
  readonly onward: Onward | undefined;
}

/** The cheapest way from a carrier to a target. */
interface Onward {
  readonly cost: number;
  readonly hops: readonly Edge[];
}

/** @returns by target */
export function cheapestIn(graphs: readonly ConversionGraph[], policy: RoutePolicy): (source: string) => ReadonlyMap<string, Cheapest> {
  const parts = graphs.map((graph) => ({ graph, onwardFrom: onwardIn(graph, policy) }));
  const known = new Map<string, ReadonlyMap<string, Cheapest>>();
  return (source) => known.getOrInsertComputed(source, () => search(source));

  function search(source: string): ReadonlyMap<string, Cheapest> {
    const found = new Map<string, Cheapest>();
    const offer = (target: string, toolchain: Toolchain, cost: number, first: Edge, onward?: Onward): void => {
      const before = found.get(target);
      if (before === undefined || cost < before.cost) found.set(target, { toolchain, cost, first, onward });
    };
    for (const { graph, onwardFrom } of parts) {
      const { toolchain } = graph;
      const pairs = graph.from(source);
      if (pairs === undefined) continue;
      for (const [target, { best }] of pairs) offer(target, toolchain, costOfHop(best), best);
      for (const carrier of policy.carriersOf(source)) {
        const first = pairs.get(carrier)?.best;
        if (carrier === source || first === undefined || !mayChain(first)) continue;
        const begun = costOfHop(first) + HOP_COST;
        for (const [target, onward] of onwardFrom(carrier, source))
          if (target !== source) offer(target, toolchain, begun + onward.cost, first, onward);
      }
    }
    const mayLead = policy.leadsFrom(source);
    for (const target of found.keys()) if (!mayLead(target)) found.delete(target);
    return found;
  }
}

/** From a carrier onwards, in one hop or two that may be part of a chain, and not back to the source. @returns by target */
function onwardIn(graph: ConversionGraph, policy: RoutePolicy): (carrier: string, source: string) => ReadonlyMap<string, Onward> {
  const known = new Map<string, ReadonlyMap<string, Onward>>();
  return (carrier, source) =>
    // Which format became the carrier matters only where that is a carrier, too.
    policy.isCarrier(source) ? search(carrier, source) : known.getOrInsertComputed(carrier, () => search(carrier));

  function search(carrier: string, source?: string): ReadonlyMap<string, Onward> {
    const found = new Map<string, Onward>();
    const offer = (target: string, cost: number, last: Edge, before?: Edge): void => {
      const known = found.get(target);
      if (known === undefined || cost < known.cost) found.set(target, { cost, hops: before === undefined ? [last] : [before, last] });
    };
    const pairs = graph.from(carrier);
    for (const [target, { best }] of pairs ?? []) if (target !== carrier && mayChain(best)) offer(target, costOfHop(best), best);
    for (const second of policy.carriersOf(carrier)) {
      const before = pairs?.get(second)?.best;
      if (second === carrier || second === source || before === undefined || !mayChain(before)) continue;
      const begun = costOfHop(before) + HOP_COST;
      for (const [target, { best }] of graph.from(second) ?? [])
        if (target !== second && target !== carrier && mayChain(best)) offer(target, begun + costOfHop(best), best, before);
    }
    return found;
  }
}
