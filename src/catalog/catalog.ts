/** What this installation can do: the installed engines, and the routes between formats that follow from them. */
import type { Toolchain } from '../contracts/toolchains.ts';
import type { Engine } from './engine.ts';
import type { OptionName } from './options/options.ts';
import type { Hop, Route } from './route.ts';
import { routesOf } from './routes/routes.ts';
import type { Absent, ByPlan, Input, Method, Tool } from './tool.ts';
import { absentTools, tools } from './tools.ts';

/** An engine whose binaries were found. */
export interface Installed {
  readonly engine: Engine;
  /** Upstream's version; empty if unknown. */
  readonly version: string;
  /** It reads each file in a process that is forked for it (`Binary.forkServer`). */
  readonly forks?: boolean;
}

export interface Catalog {
  readonly engines: readonly Engine[];
  /** Canonical ids of every format that can be read. */
  readonly sources: readonly string[];
  /** Canonical ids of every format that `source` can be converted to, in the order of the table. */
  targets(source: string): readonly string[];
  /** @param given names of the options sent: a route that honours them is preferred */
  route(source: string, target: string, given?: readonly OptionName[]): Route | undefined;
  /** Options that some route between the formats honours; `route` prefers that one if they are sent. */
  honoured(source: string, target: string): ReadonlySet<OptionName>;
  version(engineId: string): string;
  /** Whether it reads each file in a process that is forked for it. Undefined: it is no engine that forks anywhere. */
  forks(engineId: string): boolean | undefined;
  /** How a tool with its own plan works here: by the engine that its field `model` names, else the first of its methods whose engine is there. */
  method(work: ByPlan, input?: Input): Method | undefined;
  /** The methods whose engines are here; the first is the default. */
  methods(work: ByPlan): readonly Method[];
  /** Every tool that can be called here. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** Tools that are listed but cannot be called, and why. */
  readonly absent: ReadonlyMap<string, Absent>;
}

/** @param why by engine id: why an engine is missing, unless it is just not installed */
export function createCatalog(installed: readonly Installed[], why: ReadonlyMap<string, string> = new Map()): Catalog {
  const engines = installed.map(({ engine }) => engine);
  const versions = new Map(installed.map(({ engine, version }) => [engine.id, version]));
  const routes = routesOf(engines);
  const forking = new Map(installed.filter(({ engine }) => isForkServer(engine)).map(({ engine, forks }) => [engine.id, forks === true]));
  const methodsOf = ({ methods }: ByPlan) => {
    const here = methods.filter(({ engine }) => versions.has(engine.id));
    const preferred = here.find(({ onRequest }) => !onRequest);
    return preferred === undefined ? here : [preferred, ...here.filter((method) => method !== preferred)];
  };
  const methodOf = (work: ByPlan, { model }: Input = {}) =>
    methodsOf(work).find(({ engine, onRequest }) => (model === undefined ? !onRequest : engine.name === model));
  const read = new Set(routes.sources);
  const lacks = ({ work, accepts }: Tool): string | undefined => {
    if ('convert' in work) return accepts.some((source) => read.has(source)) ? undefined : 'no engine that reads its formats is installed';
    if (methodOf(work) !== undefined) return undefined;
    const [{ engine }] = work.methods;
    return why.get(engine.id) ?? `${engine.name} is not installed`;
  };
  return {
    engines,
    sources: routes.sources,
    targets: routes.targets,
    route: routes.find,
    honoured: routes.honoured,
    version: (engineId) => versions.get(engineId) ?? '',
    method: methodOf,
    methods: methodsOf,
    forks: (engineId) => forking.get(engineId),
    tools: new Map(tools.filter((tool) => lacks(tool) === undefined).map((tool) => [tool.slug, tool])),
    absent: new Map([...absentTools, ...tools.flatMap((tool) => absentFor(tool, lacks(tool)))].map((absent) => [absent.slug, absent])),
  };
}

const isForkServer = ({ binaries }: Engine): boolean => Object.values(binaries).some(({ forkServer }) => forkServer === true);

function absentFor({ slug, summary, family }: Tool, reason: string | undefined): Absent[] {
  return reason === undefined ? [] : [{ slug, summary, family, reason }];
}

export type { Hop, Route, Toolchain };
