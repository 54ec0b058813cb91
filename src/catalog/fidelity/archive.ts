/** What an archive has that its result should have too, and which formats can contain it. */
import type { Options } from '../options/options.ts';
import type { ArchiveFacts } from '../planning/contents/others/archive.ts';
import { counted } from './counted.ts';
import type { FidelityProperty } from './fidelity.ts';

type ArchiveProperty = FidelityProperty<ArchiveFacts, Options>;

/** ZIP counts in steps of two seconds (APPNOTE 4.4.6), in the zone of the machine that packed it. */
const TIME_ROUNDS_MS = 2_000;
const QUARTER_MS = 900_000;
const MOST_ZONE_MS = 14 * 3_600_000;
const apart = (one: string, other: string): number => Math.abs(Date.parse(`${one}Z`) - Date.parse(`${other}Z`));

export const archiveProperties: readonly ArchiveProperty[] = [
  counted({ name: 'files', count: ({ files }) => files, fits: () => true, promised: () => true }),
  {
    name: 'file_bytes',
    show: ({ bytes }) => (bytes === 0 ? undefined : `${bytes} bytes`),
    fits: () => true,
  },
  counted({ name: 'folders', count: ({ folders }) => folders, fits: () => true }),
  {
    name: 'times',
    show: ({ newest }) => newest || undefined,
    same: (source, result) => apart(source.newest, result.newest) <= TIME_ROUNDS_MS,
    unsure: (source, result) => {
      const difference = apart(source.newest, result.newest);
      const rest = difference % QUARTER_MS;
      return difference <= MOST_ZONE_MS && Math.min(rest, QUARTER_MS - rest) <= TIME_ROUNDS_MS;
    },
    fits: () => true,
  },
  counted({ name: 'permissions', count: ({ programs }) => programs, fits: () => true, of: ' that may be run' }),
  // They may lead anywhere where they are unpacked: none is in a result.
  counted({ name: 'archive_links', count: ({ links }) => links, fits: () => false }),
];

/** Has all that an archive may have. */
export const RICH_ARCHIVE: ArchiveFacts = { files: 1, folders: 1, links: 1, newest: '2024-01-01 00:00:00', programs: 1, bytes: 1 };
