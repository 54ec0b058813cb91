/** Which conversions every run proves: whatever the catalogue tells apart at least once, and a share of all others. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Catalog, createCatalog } from '../../src/catalog/catalog.ts';
import { engines } from '../../src/catalog/engines.gen.ts';
import { formatOf, isUnproven } from '../../src/catalog/formats.ts';
import type { Route } from '../../src/catalog/route.ts';

/** One in so many of the pairs that show nothing new is proved in each run. */
const ONE_IN = 32;
const CATALOG = join(import.meta.dirname, '../../src/catalog');

export interface Pair {
  readonly source: string;
  readonly target: string;
  readonly route: Route;
}

/** The Debian release whose list `make verify` compares with the catalogue: CI has it. */
export const CHECKED_RELEASE = 'bookworm';

/** Codename of the release that is proved: this machine's, or with PROVE_AT the one that RELEASE names. */
export function releaseToProve(): string {
  const named = process.env['RELEASE'];
  if (named !== undefined) return named;
  if (process.env['PROVE_AT'] !== undefined)
    throw new Error('RELEASE is not set: the codename of the release on which the service at PROVE_AT runs');
  return /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'unknown';
}

/** Where the pairs that were proved on a release are listed. */
export const listPath = (release: string): string =>
  join(import.meta.dirname, `proved${release === CHECKED_RELEASE ? '' : `-${release}`}.txt`);

/** What is listed for a release; empty where nothing is. */
export const listOf = (release: string): string => (existsSync(listPath(release)) ? readFileSync(listPath(release), 'utf8') : '');

/** Every pair that the engines together offer. */
export const offered: Catalog = createCatalog(engines.map((engine) => ({ engine, version: '' })));

export const nameOf = ({ source, target }: Pick<Pair, 'source' | 'target'>): string => `${source} to ${target}`;

export const testNameOf = (pair: Pick<Pair, 'source' | 'target'>): string => `converts ${nameOf(pair)}`;

/** All pairs of a catalogue whose source can be made here. */
export function pairsOf(catalog: Catalog): readonly Pair[] {
  return catalog.sources
    .filter((source) => !isUnproven(source))
    .flatMap((source) =>
      catalog.targets(source).flatMap((target) => {
        const route = catalog.route(source, target);
        return route === undefined ? [] : [{ source, target, route }];
      }),
    );
}

/**
 * What one conversion proves beyond itself: that each engine of its route reads this source, writes this target and loses what it says,
 * that the engines work as a chain in that toolchain, that the source can be converted and the target be made, and that one family can be had from the other.
 */
export function proves({ source, target, route: { toolchain, hops } }: Pair): readonly string[] {
  const [from, to] = [formatOf(source).family, formatOf(target).family];
  return [
    ...hops.flatMap(({ engine: { id }, source: read, target: written, loses }) => [
      `${id} reads ${read}`,
      `${id} writes ${written}`,
      ...loses.map((loss) => `${id} loses ${loss}`),
    ]),
    `${toolchain}: ${hops.map(({ engine }) => engine.id).join(', ')}`,
    source,
    `to ${target}`,
    `${from} to ${to}`,
  ];
}

/** In an order that depends on nothing but the seed. */
const shuffled = (pairs: readonly Pair[], seed: string): readonly Pair[] =>
  pairs
    .map((pair) => ({
      pair,
      rank: createHash('sha256')
        .update(`${seed} ${nameOf(pair)}`)
        .digest('hex'),
    }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ pair }) => pair);

/**
 * A small set of pairs that together prove all that `pairs` prove, and one in `oneIn` of the rest. The same for the same seed.
 * Greedy set cover (Chvátal, 1979): the pair that proves most of what is still open comes next.
 */
export function choosePairs(pairs: readonly Pair[], seed: string, oneIn = ONE_IN): readonly Pair[] {
  const order = shuffled(pairs, seed);
  const open = new Set(order.flatMap(proves));
  const chosen = new Set<Pair>();
  // A pair's gain only falls: those of a level are looked at when the level is reached, once.
  const levels: Pair[][] = [];
  const gain = (pair: Pair) => new Set(proves(pair).filter((each) => open.has(each))).size;
  const file = (pair: Pair) => {
    const level = gain(pair);
    levels[level] ??= [];
    levels[level].push(pair);
  };
  for (const pair of order) file(pair);
  for (let level = levels.length - 1; level > 0; level--) {
    for (const pair of levels[level] ?? []) {
      if (gain(pair) < level) {
        file(pair);
        continue;
      }
      chosen.add(pair);
      for (const each of proves(pair)) open.delete(each);
    }
  }
  const rest = order.filter((pair) => !chosen.has(pair));
  return [...chosen, ...rest.slice(0, Math.ceil(rest.length / oneIn))];
}

/** Changes with the catalogue and with nothing else: a commit that leaves conversions alone proves the same pairs again. */
export function seedOfCatalog(): string {
  const hash = createHash('sha256');
  const files = readdirSync(CATALOG, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !path.endsWith('.gen.ts'),
  );
  for (const path of files.sort()) hash.update(path).update(readFileSync(join(CATALOG, path)));
  return hash.digest('hex');
}

/** The pairs that `make proved` has not listed yet, or not by these engines. @param listed what `listOf` gives */
export function unlisted(pairs: readonly Pair[], listed: string): readonly Pair[] {
  const known = new Set(
    listed.split('\n').flatMap((line) => {
      const [key, targets = ''] = line.split(': ');
      return targets.split(' ').map((target) => `${key} to ${target}`);
    }),
  );
  return pairs.filter((pair) => !known.has(`${keyOf(pair)} to ${pair.target}`));
}

const keyOf = ({ source, route }: Pair): string => `${source} by ${route.hops.map(({ engine }) => engine.id).join(', ')}`;

/** One line for each source and chain of engines: `csv by libreoffice, poppler: png jpg`. What `make proved` writes down. */
export function proofList(pairs: readonly Pair[]): string {
  const lines = new Map<string, string[]>();
  for (const pair of pairs) {
    const key = keyOf(pair);
    lines.set(key, [...(lines.get(key) ?? []), pair.target]);
  }
  return [...lines].map(([key, targets]) => `${key}: ${targets.join(' ')}\n`).join('');
}
