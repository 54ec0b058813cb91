/** Proves conversions through the running service: each pair by content, and by a judge that is shown not to be blind. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { formatOf } from '../../src/catalog/formats.ts';
import type { Family, Toolchain } from '../../src/contracts/toolchains.ts';
import { fixtures as archives } from '../kit/fixtures/archives.ts';
import { fixtures as columns } from '../kit/fixtures/data/columns.ts';
import { fixtures as pim } from '../kit/fixtures/data/pim.ts';
import { fixtures as documents } from '../kit/fixtures/documents/documents.ts';
import { fixtures as mails } from '../kit/fixtures/documents/mail.ts';
import { fixtures as microsoft } from '../kit/fixtures/documents/microsoft.ts';
import { fixtures as fonts } from '../kit/fixtures/fonts/fonts.ts';
import { fixtures as media } from '../kit/fixtures/media/media.ts';
import { subtitled, fixtures as subtitles } from '../kit/fixtures/media/subtitles.ts';
import { fixtures as models } from '../kit/fixtures/models3d/models.ts';
import { animatedWebp, fixtures as images } from '../kit/fixtures/pictures/images.ts';
import { judge as judgeArchive } from '../kit/judges/archives.ts';
import { judge as judgeComic } from '../kit/judges/documents/comics.ts';
import { judge as judgeDocument, judgeMailed, judgePicture } from '../kit/judges/documents/documents.ts';
import { judge as judgeFont } from '../kit/judges/fonts/fonts.ts';
import { judge as judgeRecording } from '../kit/judges/media.ts';
import { judge as judgeModel } from '../kit/judges/models3d/models.ts';
import { judge as judgeImage } from '../kit/judges/pictures/images.ts';
import { judge as judgeSubtitles } from '../kit/judges/subtitles.ts';
import { convertTo, type Service } from '../kit/roles/service.ts';
import { sharedService } from '../kit/roles/shared-service.ts';
import { pageOfGrid, pageOfText, tabled } from './pictured.ts';
import { choosePairs, listOf, offered, type Pair, pairsOf, releaseToProve, seedOfCatalog, testNameOf, unlisted } from './spread.ts';

type Build = (seed: string, folder: string) => Promise<string>;
/** @throws unless the file shows the seed that its source was made from */
type Judge = (path: string, seed: string) => Promise<void>;

interface Proof {
  readonly build: Build;
  /** Which source of the format it is, where a format has several. */
  readonly shows?: 'text' | 'grid' | 'subtitles' | 'motion' | 'table';
  readonly judge: Judge;
  readonly fields?: Readonly<Record<string, string>>;
}

const PICTURES: readonly Family[] = ['image', 'vector'];
const RECORDINGS: readonly Family[] = ['audio', 'video'];
const TABLES: ReadonlySet<string> = new Set(['csv', 'tsv', 'xlsx', 'ods']);
const SEEDS = ['kestrel', 'marble'] as const;

/** What proves one pair: a seeded source, and a judge that tells whether the result shows the seed. */
export function proofOf(source: string, target: string): Proof {
  const [from, to] = [formatOf(source).family, formatOf(target).family];
  const build = {
    ...documents,
    ...mails,
    ...pim,
    ...columns,
    ...microsoft,
    ...media,
    ...images,
    ...archives,
    ...fonts,
    ...models,
    ...subtitles,
  }[source];
  if (build === undefined) throw new Error(`no fixture builds a ${source}`);
  if (from === '3d') return { build, judge: (path, seed) => judgeModel(path, target, seed, source) };
  if (to === 'font') return { build, judge: (path, seed) => judgeFont(path, target, seed) };
  if (to === 'archive' && from !== 'archive') return { build, judge: (path, seed) => judgeMailed(path, seed, source) };
  if (to === 'archive') return { build, judge: (path, seed) => judgeArchive(path, target, seed, source) };
  if (source === 'cbz') return { build, judge: (path, seed) => judgeComic(path, target, seed) };
  const speaks = RECORDINGS.includes(from) ? { build: subtitled(source), shows: 'subtitles' as const } : { build };
  if (to === 'subtitle') return { ...speaks, judge: (path, seed) => judgeSubtitles(path, target, seed, source) };
  if (RECORDINGS.includes(from) && target === 'txt') return { ...speaks, judge: (path, seed) => judgeDocument(path, target, seed, source) };
  const moves = source === 'webp' ? { build: animatedWebp, shows: 'motion' as const } : { build };
  if (target === 'apng') return { ...moves, judge: (path, seed) => judgeImage(path, target, seed) };
  // An animation is a picture to some and a recording to others.
  if (RECORDINGS.includes(to)) return { ...moves, judge: (path, seed) => judgeRecording(path, target, seed) };
  if (PICTURES.includes(from) && (PICTURES.includes(to) || to === 'pdf'))
    return { build, judge: (path, seed) => judgeImage(path, target, seed) };
  if (RECORDINGS.includes(from)) return { build, judge: (path, seed) => judgeImage(path, target, seed) };
  if (PICTURES.includes(from))
    return { build: pageOfText(source), shows: 'text', judge: (path, seed) => judgeDocument(path, target, seed) };
  // Icons are too small for letters: it shows the grid, from a page that does.
  if (target === 'ico' || target === 'icns')
    return { build: pageOfGrid, shows: 'grid', judge: (path, seed) => judgeImage(path, target, seed) };
  const table = tabled[source];
  if (table !== undefined && TABLES.has(target))
    return { build: table, shows: 'table', judge: (path, seed) => judgeDocument(path, target, seed) };
  // A scan has no text but what is seen.
  if (PICTURES.includes(to) || (source === 'djvu' && target === 'pdf'))
    return { build, judge: (path, seed) => judgePicture(path, target, seed) };
  return { build, judge: (path, seed) => judgeDocument(path, target, seed, source) };
}

/**
 * One test for each pair that is done in this toolchain: for all of them with PAIRS=all, for those that are not in the list with PAIRS=new, for a spread of
 * them without. Sources are built once. PROVE_AT is the URL of a service that converts instead of one that is started here, such as one on another Debian.
 */
export function provePairs(toolchain: Toolchain): void {
  let service: Pick<Service, 'url'>;
  let folder: string;
  const built = new Map<string, Promise<string>>();
  const source = ({ build, shows }: Proof, format: string, seed: string): Promise<string> => {
    const key = `${format} ${seed} ${shows ?? 'itself'}`;
    const path = built.get(key) ?? mkdtemp(join(folder, 'source-')).then((place) => build(seed, place));
    built.set(key, path);
    return path;
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filemill-pairs-'));
    const at = process.env['PROVE_AT'];
    service = at === undefined ? await sharedService() : { url: at };
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  const all = pairsOf(offered);
  const chosen = chosenOf(all, process.env['PAIRS']);
  const ours = chosen.filter(({ route }) => route.toolchain === toolchain);
  describe.concurrent(toolchain, () => {
    it.each(ours.map((pair) => ({ ...pair, name: testNameOf(pair) })))('$name', async ({ source: from, target }) => {
      const proof = proofOf(from, target);
      const { judge, fields } = proof;
      const [seed, other] = SEEDS;
      const { path } = await convertTo(service.url, folder, await source(proof, from, seed), target, fields);
      await judge(path, seed);
      // A judge that would pass another picture, sound or text of the same format proves nothing.
      await expect(judge(path, other), `the judge of ${target} takes ${seed} for ${other}`).rejects.toThrow();
    });
  });
}

function chosenOf(all: readonly Pair[], which: string | undefined): readonly Pair[] {
  if (which === 'all') return all;
  if (which === 'new') return unlisted(all, listOf(releaseToProve()));
  return choosePairs(all, seedOfCatalog());
}
