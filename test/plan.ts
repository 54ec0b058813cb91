/** What `make test` runs of each test file; `make test-all` runs all of each. */
import { createHash } from 'node:crypto';

/**
 * `whole`: all of its tests. A number n: one test in n of each of its groups, at least one, drawn by a seed. `rows`: all tests that are written out, and
 * of each table (`it.each`, `describe.each`) one row in so many, at least one.
 */
export type Share = 'whole' | number | { readonly rows: number };

/** Where a table shows the same of many formats, fields or ways. */
const TABLES: Share = { rows: 6 };

/** By path from the top of the checkout, a folder or a file; the longest path that fits counts. `test/unit/project/plan.test.ts` compares it with the files. */
export const plan: Readonly<Record<string, Share>> = {
  'test/architecture.test.ts': 'whole',
  'test/unit': 'whole',
  // It has engines make a sample of each format.
  'test/unit/catalog/sniff.test.ts': 12,
  'test/unit/exec/programs/around-models.test.ts': 3,
  'test/unit/exec/programs/columns.test.ts': 3,
  'test/unit/exec/programs/ocr.test.ts': 3,
  'test/unit/exec/programs/raster.test.ts': 3,
  'test/unit/exec/programs/values.test.ts': 4,
  'test/unit/project/linear.test.ts': 4,
  'test/conformance': TABLES,
  'test/cluster': TABLES,
  'test/formats': 24,
  'test/integration': TABLES,
  // A group for each property, so that each is in every run.
  'test/integration/fidelity/matrix.test.ts': 12,

  // Files made to do harm: each is a row of a table, and what must hold after each is the same.
  'test/integration/hostile/archives.test.ts': 6,
  'test/integration/hostile/fonts.test.ts': 3,
  'test/integration/hostile/growth.test.ts': 6,
  'test/integration/hostile/growth-fonts.test.ts': 6,
  'test/integration/hostile/growth-models.test.ts': 7,
  'test/integration/hostile/growth-pdf.test.ts': 8,
  'test/integration/hostile/growth-pictures.test.ts': 6,
  'test/integration/hostile/growth-sound.test.ts': 6,
  'test/integration/hostile/images.test.ts': 36,
  'test/integration/hostile/media.test.ts': 16,
  'test/integration/hostile/models.test.ts': 16,
  'test/integration/hostile/names.test.ts': 16,
  'test/integration/hostile/office.test.ts': 96,
  'test/integration/hostile/pdf.test.ts': 48,
  'test/integration/exec/confine.test.ts': 12,

  // Each option with each format that it concerns; each real file.
  'test/integration/exec/residents.test.ts': 6,
  'test/integration/catalog/animations.test.ts': 8,
  'test/integration/catalog/charsets.test.ts': 12,
  'test/integration/catalog/cut-recordings.test.ts': 10,
  'test/integration/catalog/film-frames.test.ts': 8,
  'test/integration/catalog/large-pictures.test.ts': 5,
  'test/integration/catalog/photoshop.test.ts': 6,
  'test/integration/catalog/models.test.ts': 6,
  'test/integration/catalog/options-images.test.ts': 24,
  'test/integration/catalog/options-pages.test.ts': 10,
  'test/integration/catalog/options-sound.test.ts': 12,
  'test/integration/catalog/pdfa.test.ts': 8,
  'test/integration/catalog/pictures-kept.test.ts': 8,
  'test/integration/catalog/rare-tiffs.test.ts': 24,
  'test/integration/catalog/real-files.test.ts': 10,
  'test/integration/catalog/real-recordings.test.ts': 12,
  'test/integration/catalog/sound-kept.test.ts': 8,
  'test/integration/catalog/tools-images.test.ts': 10,
  'test/integration/catalog/tools-photos.test.ts': 8,
  'test/integration/catalog/tools-recordings.test.ts': 5,
  'test/integration/cli/local.test.ts': 5,
  'test/integration/page/brush.test.ts': 8,
  'test/integration/page/page.test.ts': 10,
  'test/integration/catalog/tools-media.test.ts': 16,
  'test/integration/catalog/tools-pdf.test.ts': 16,
  'test/integration/catalog/webpage.test.ts': 6,
  'test/integration/catalog/tools-speech.test.ts': 4,
  'test/integration/catalog/tools-backgrounds.test.ts': 4,
  'test/integration/catalog/web-archives.test.ts': 3,
  'test/integration/exec/fresh-process.test.ts': 3,

  // What a client may do, and each way in which it is refused.
  'test/integration/api/http.test.ts': 8,
  'test/integration/api/options.test.ts': 12,
  'test/integration/fetch/url.test.ts': 5,
  'test/integration/limits/limits.test.ts': 8,
  'test/integration/limits/memory-share.test.ts': 2,
  'test/integration/mcp/calls.test.ts': 8,
  'test/integration/mcp/clients.test.ts': 8,
  'test/integration/mcp/limits.test.ts': 3,
  // Its commands need what those before them left.
  'test/integration/service/examples.test.ts': 'whole',
  'test/integration/service/start.test.ts': 8,
  'test/integration/uploads/resumable.test.ts': 6,
  'test/integration/uploads/uploads.test.ts': 8,

  // The same promises on stores of three servers as of one, and the same refusals by each field.
  'test/conformance/stores-nats.test.ts': 10,
  'test/conformance/objects-s3.test.ts': 6,
  'test/conformance/objects-s3-credentials.test.ts': 2,
  'test/conformance/objects-s3-faults.test.ts': 4,
  'test/conformance/outages-nats.test.ts': 2,
  'test/cluster/chart-values.test.ts': 8,
  'test/cluster/crds.test.ts': 6,
  // It draws causes itself: each is held first, and cured later.
  'test/cluster/failures.test.ts': 'whole',
  'test/cluster/reflector.test.ts': 3,
  'test/cluster/rbac.test.ts': 6,

  // Deaths, outages and clocks under load, of which each takes long.
  'test/cluster/chart-release.test.ts': 3,
  'test/integration/cluster/unwell.test.ts': 7,
  'test/integration/cluster/versions.test.ts': 8,
  'test/integration/api/floods.test.ts': 8,
  'test/integration/exec/residents-http.test.ts': 8,
};

const fits = (path: string, row: string): boolean => path === row || path.startsWith(`${row}/`);

/** The row that counts for a file, or undefined where the table has none. */
export const rowOf = (path: string): string | undefined =>
  Object.keys(plan)
    .filter((row) => fits(path, row))
    .toSorted((a, b) => b.length - a.length)[0];

export const shareOf = (path: string): Share => plan[rowOf(path) ?? ''] ?? 'whole';

/**
 * The names that a run takes of a group, the same for the same seed.
 * @param names of all tests in the group; equal ones are told apart by their place
 */
export function draw(names: readonly string[], share: 'whole' | number, seed: string): ReadonlySet<number> {
  const places = names.map((_, place) => place);
  if (share === 'whole') return new Set(places);
  const rankOf = (place: number) => createHash('sha256').update(`${seed} ${place} ${names[place]}`).digest('hex');
  const ranked = places.map((place) => ({ place, rank: rankOf(place) })).toSorted((a, b) => (a.rank < b.rank ? -1 : 1));
  return new Set(ranked.slice(0, Math.ceil(names.length / share)).map(({ place }) => place));
}
