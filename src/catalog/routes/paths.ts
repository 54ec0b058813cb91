/** Every path from one format to another, by all engines: slow, and only asked for where options are to be honoured. */
import { type ConversionGraph, type Edge, mayChain } from './graph.ts';
import type { RoutePolicy } from './policy.ts';

/** As many as `cheapest.ts` goes. */
const MAX_HOPS = 3;

/** All acyclic paths, also with a final re-encoding of the target, which can apply options that the path cannot. */
export function* paths(
  graph: ConversionGraph,
  policy: RoutePolicy,
  source: string,
  target: string,
  left = MAX_HOPS,
  passed: readonly string[] = [],
): Generator<readonly Edge[]> {
  const edges = (from: string, to: string) => graph.from(from)?.get(to)?.edges ?? [];
  for (const edge of edges(source, target)) {
    yield [edge];
    if (source !== target && left > 1) for (const again of edges(target, target)) yield [edge, again];
  }
  if (left < 2 || source === target) return;
  for (const carrier of policy.carriersOf(source)) {
    if (carrier === source || carrier === target || passed.includes(carrier)) continue;
    for (const edge of edges(source, carrier).filter(mayChain))
      for (const rest of paths(graph, policy, carrier, target, left - 1, [...passed, source]))
        if (rest.every(mayChain)) yield [edge, ...rest];
  }
}
