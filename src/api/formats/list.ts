/** The formats as clients read them: each source with what can be made of it here, and the options of each target once. */

import { setImmediate } from 'node:timers/promises';
import type { Catalog, Route } from '../../catalog/catalog.ts';
import type { Engine } from '../../catalog/engine.ts';
import { propertiesWithoutRoom } from '../../catalog/fidelity/receipt.ts';
import { formatOf, isUnproven } from '../../catalog/formats.ts';
import { type FormOption, formOptionNames, type OptionName, optionSchemas } from '../../catalog/options/options.ts';
import { describedSchema } from '../../catalog/options/texts.ts';
import { proved } from '../../catalog/proved.gen.ts';
import { rankOf } from '../../catalog/route.ts';
import type { FormatList, FormatSource, FormatTarget, FormatWay } from '../../contracts/api/formats.ts';
import type { Family } from '../../contracts/toolchains.ts';

interface Pair {
  readonly source: string;
  readonly target: string;
  readonly route: Route;
  readonly honours: ReadonlySet<OptionName>;
}

/** Other requests are served in between. */
export async function describeFormats(catalog: Catalog): Promise<FormatList> {
  const pairs: Pair[] = [];
  let since = performance.now();
  for (const source of catalog.sources)
    for (const target of catalog.targets(source)) {
      pairs.push(...pairOf(catalog, source, target));
      if (performance.now() - since < SLICE_MS) continue;
      await setImmediate();
      since = performance.now();
    }
  const [ofSource, ofTarget] = [Map.groupBy(pairs, ({ source }) => source), Map.groupBy(pairs, ({ target }) => target)];
  const byTarget = new Map<string, FormOption[]>();
  const options: Record<string, FormatList['options'][string]> = {};
  for (const [target, making] of ofTarget) {
    const known = formOptionNames.filter((name) => making.some(({ honours }) => honours.has(name)));
    byTarget.set(target, known);
    options[target] = schemasOf(known);
    await setImmediate();
  }
  const about = (source: string): FormatSource => ({
    ...aboutFormat(source),
    targets: (ofSource.get(source) ?? []).map((pair) => shownTarget(pair, byTarget.get(pair.target) ?? [])),
  });
  const [unproven, tried] = [catalog.sources.filter(isUnproven), catalog.sources.filter((source) => !isUnproven(source))];
  return {
    sources: tried.map(about),
    unproven: unproven.map(about),
    options,
    engines: Object.fromEntries(catalog.engines.map((engine) => [engine.id, aboutEngine(catalog, engine)])),
  };
}

/** How long it keeps the event loop before other requests get a turn, ms. */
const SLICE_MS = 5;

/** The requested part, with the options and engines that it refers to. */
export function selectFormats(
  { sources, unproven, options, engines }: FormatList,
  from: string | undefined,
  family: Family | undefined,
): FormatList {
  const isWanted = ({ format, family: own }: FormatSource) => (from ?? format) === format && (family ?? own) === own;
  const [chosen, others] = [sources.filter(isWanted), unproven.filter(isWanted)];
  const targets = [...chosen, ...others].flatMap((source) => source.targets);
  const [made, used] = [new Set(targets.map(({ format }) => format)), new Set(targets.flatMap(({ engines: ids }) => ids))];
  const only = <T>(all: Readonly<Record<string, T>>, wanted: ReadonlySet<string>) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => wanted.has(name)));
  return { sources: chosen, unproven: others, options: only(options, made), engines: only(engines, used) };
}

/** A third of the size: each option's schema appears once, and a pair has only its engines. */
export function inShort({ sources, unproven, options, engines }: FormatList): FormatList {
  const short = (source: FormatSource): FormatSource => ({
    ...source,
    targets: source.targets.map(({ format, engines: ids }) => ({ format, engines: ids })),
  });
  return {
    sources: sources.map(short),
    unproven: unproven.map(short),
    options: {},
    option_names: Object.fromEntries(Object.entries(options).map(([target, schemas]) => [target, Object.keys(schemas)])),
    option_schemas: Object.assign({}, ...Object.values(options)) as FormatList['option_schemas'],
    engines,
  };
}

function pairOf(catalog: Catalog, source: string, target: string): Pair[] {
  const route = catalog.route(source, target);
  return route === undefined ? [] : [{ source, target, route, honours: catalog.honoured(source, target) }];
}

function aboutFormat(id: string): Omit<FormatSource, 'targets'> {
  const { family, mime, aliases } = formatOf(id);
  return { format: id, family, content_type: mime, aliases: [...aliases] };
}

/** @returns undefined where no route leads from one to the other */
export function explainWay(catalog: Catalog, from: string, to: string): FormatWay | undefined {
  const [pair] = pairOf(catalog, from, to);
  if (pair === undefined) return undefined;
  const { route, honours } = pair;
  return {
    ...{ from, to, toolchain: route.toolchain, rank: rankOf(route) },
    steps: route.hops.map(({ engine, source, target, rank, loses }) => {
      const { name, version } = aboutEngine(catalog, engine);
      return { ...{ engine: engine.id, name, version, from: source, to: target, rank }, loses: [...loses] };
    }),
    loses: lossesOf(route),
    cannot_hold: [...propertiesWithoutRoom(from, to)],
    options: schemasOf(formOptionNames.filter((name) => honours.has(name))),
  };
}

const lossesOf = ({ hops }: Route): string[] => [...new Set(hops.flatMap((hop) => hop.loses))];

function shownTarget({ target, route, honours }: Pair, known: readonly FormOption[]): FormatTarget {
  const ignores = known.filter((name) => !honours.has(name));
  const loses = lossesOf(route);
  return {
    format: target,
    engines: route.hops.map(({ engine }) => engine.id),
    rank: rankOf(route),
    ...(ignores.length === 0 ? {} : { ignores }),
    ...(loses.length === 0 ? {} : { loses }),
  };
}

const schemasOf = (names: readonly FormOption[]): FormatList['options'][string] =>
  Object.fromEntries(names.map((name) => [name, describedSchema(name, optionSchemas[name]) as Record<string, unknown>]));

/** Proof is of upstream's major.minor: a patch of the same is the same program. */
function aboutEngine(catalog: Catalog, { id, name }: Engine): FormatList['engines'][string] {
  const version = catalog.version(id);
  const proofs = [...new Set(Object.values(proved).flatMap((release) => release[id] ?? []))];
  const isProved = proofs.length === 0 || proofs.some((proof) => version === proof || version.startsWith(`${proof}.`));
  return { name, version, ...(isProved ? {} : { proved_with: proofs.join(', ') }) };
}
