/** What this installation can do: the engines that are there, and the routes between formats that follow from them. */
import type { Toolchain } from '../contracts/toolchains.ts';
import type { Engine } from './engine.ts';
import type { OptionName } from './options/options.ts';
import { findRoute, type Hop, type Route, reachable, sources } from './route.ts';
import type { Absent, Tool } from './tool.ts';
import { absentTools, tools } from './tools.ts';

/** An engine whose binaries were found. */
export interface Installed {
  readonly engine: Engine;
  /** Upstream's version; empty if unknown. */
  readonly version: string;
}

export interface Catalog {
  readonly engines: readonly Engine[];
  /** Canonical ids of every format that can be read. */
  readonly sources: readonly string[];
  /** Canonical ids of every format that `source` can be converted to, in the order of the table. */
  targets(source: string): readonly string[];
  /** @param given names of the options sent: a route that honours them is preferred */
  route(source: string, target: string, given?: readonly OptionName[]): Route | undefined;
  version(engineId: string): string;
  /** Every tool that can be called here. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** Tools that are listed but cannot be called, and why. */
  readonly absent: ReadonlyMap<string, Absent>;
}

/** @param why by engine id: why an engine is missing, unless it is just not installed */
export function createCatalog(installed: readonly Installed[], why: ReadonlyMap<string, string> = new Map()): Catalog {
  const engines = installed.map(({ engine }) => engine);
  const versions = new Map(installed.map(({ engine, version }) => [engine.id, version]));
  const targetsOf = memoise((source: string) => reachable(engines, source));
  const routeOf = memoise((question: string) => {
    const [source = '', target = '', given = ''] = question.split(' ');
    return findRoute(engines, source, target, given === '' ? [] : (given.split(',') as OptionName[]));
  });
  const route: Catalog['route'] = (source, target, given = []) => routeOf(`${source} ${target} ${[...given].sort().join(',')}`);
  const lacks = ({ work }: Tool): string | undefined => {
    if ('convert' in work) return undefined;
    return versions.has(work.engine.id) ? undefined : (why.get(work.engine.id) ?? `${work.engine.name} is not installed`);
  };
  return {
    engines,
    sources: sources(engines),
    targets: targetsOf,
    route,
    version: (engineId) => versions.get(engineId) ?? '',
    tools: new Map(tools.filter((tool) => lacks(tool) === undefined).map((tool) => [tool.slug, tool])),
    absent: new Map([...absentTools, ...tools.flatMap((tool) => absentFor(tool, lacks(tool)))].map((absent) => [absent.slug, absent])),
  };
}

function absentFor({ slug, summary, family }: Tool, reason: string | undefined): Absent[] {
  return reason === undefined ? [] : [{ slug, summary, family, reason }];
}

/** Clients choose the questions, so the cache is bounded. */
const MAX_CACHED = 5_000;

function memoise<T>(answer: (question: string) => T): (question: string) => T {
  const known = new Map<string, T>();
  return (question) => {
    const before = known.get(question);
    if (before !== undefined || known.has(question)) return before as T;
    if (known.size >= MAX_CACHED) known.clear();
    const now = answer(question);
    known.set(question, now);
    return now;
  };
}

export type { Hop, Route, Toolchain };
