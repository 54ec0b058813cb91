/** libarchive: files and folders from one archive into another. */
import { conversionFailed, inputLimit, type Reason } from '../../../errors.ts';
import { NO_PASSWORD, namesCollide, UNKNOWN_METHODS, WRONG_PASSWORD } from '../../archive-phrases.ts';
import { MAX_ENTRIES, MAX_NODES } from '../../bounds.ts';
import { type Engine, type EngineWarning, everyPair, type Facts, type Task } from '../../engine.ts';
import { TAR } from '../../known-good.ts';
import { kindsOf } from '../../planning/contents/measure.ts';
import { type ArchiveFacts, dateOf } from '../../planning/contents/others/archive.ts';
import { type Meanings, meaningOf } from '../../planning/phrases.ts';
import { shareOf } from '../../planning/progress.ts';

const TARS = ['tar', 'tgz', 'tbz2', 'txz', 'tzst', 'tlz4', 'tlz'];
const ZIPS = ['zip', 'cbz'];
/** They keep whatever a TAR can have. */
const FAITHFUL = [...ZIPS, ...TARS, '7z', 'cpio', 'iso'];
/** Others are only read. */
const READ = ['rar', 'cab', 'lha'];
const PACKAGES = ['deb', 'rpm'];
const LINKS_LOSE = ['cpio', 'rpm'];

const MEANINGS: Meanings<Reason> = [
  [['the password is wrong', ...WRONG_PASSWORD], 'wrong_password'],
  [['a password is needed', ...NO_PASSWORD], 'password_required'],
  [UNKNOWN_METHODS, 'unsupported_variant'],
];

export const engine: Engine = {
  id: 'libarchive',
  name: 'libarchive',
  role: 'archive',
  toolchains: ['assets'],
  binaries: {
    bsdtar: { at: ['/usr/bin/bsdtar'], version: { args: ['--version'], pattern: /libarchive (\d+\.\d+\.\d+)/ } },
    archive: { at: ['program:archives/archive.ts'], starts: 'bsdtar' },
  },
  conversions: [
    ...everyPair([...FAITHFUL, ...READ], FAITHFUL, { rank: 90 }),
    ...everyPair(PACKAGES, FAITHFUL, { rank: 80, loses: ['what a package manager reads'] }),
  ],
  trials: [{ file: TAR, target: 'zip' }],
  options: () => ['password'],
  inspect: {
    step: (input, { source, target, passwordFile }) => ({
      run: 'archive',
      args: ['inspect', input, source, '.', passwordFile ?? '/dev/null', target],
    }),
    read: bounded,
  },
  plan: ({ source, target, input, output, scratch, passwordFile, facts }) => ({
    warnings: warningsOf(facts as unknown as Found, target),
    steps: [
      {
        run: 'archive',
        args: [
          'convert',
          input,
          source,
          scratch,
          passwordFile ?? '/dev/null',
          target,
          `${output}/archive.${target}`,
          String(facts['bytes']),
          ...(isBeyondJoliet(facts as unknown as Found, target) ? ['unix'] : []),
        ],
        progress: shareOf,
      },
    ],
  }),
  explain: (text) => meaningOf(text, MEANINGS),
};

/** What `exec/programs/archives/archive.ts` prints. */
interface Found {
  readonly entries: number;
  readonly folders: number;
  readonly programs: number;
  readonly newest: number;
  readonly bytes: number;
  readonly most: number;
  readonly links: number;
  readonly hardLinks: number;
  readonly devices: number;
  readonly own: number;
  readonly sparse: number;
  readonly unsafe: number;
  readonly guessed: number;
  readonly changed: number;
  readonly apart: number;
  readonly alike: number;
  readonly nodes: number;
  readonly deepest: number;
  readonly longest: number;
  /** A TAR without its end. */
  readonly openEnded: boolean;
}

/** Bytes of a path in an ISO that Windows can read; libarchive writes none that is longer (Joliet Specification, "Relaxation of ISO 9660"). */
const MOST_JOLIET = 240;
/** Folders within one another: libarchive 3.6 crashes where Rock Ridge needs to move them twice. */
const DEEPEST_ISO = 13;

const isBeyondJoliet = ({ longest }: Found, target: string): boolean => target === 'iso' && longest > MOST_JOLIET;

/** @throws Failure `input_limit`, `corrupt_input`, `unsupported_variant` */
function bounded(stdout: string, { source, target }: Pick<Task, 'source' | 'target'>): Facts {
  const line = stdout.trimEnd().split('\n').at(-1) ?? '';
  const found = JSON.parse(line) as Found & { readonly encrypted?: true };
  if (found.encrypted === true)
    throw conversionFailed('unsupported_variant', {
      says: `The archive is encrypted, and no program here decrypts this ${source}: unpack it with its password, and send its files or a ZIP of them.`,
    });
  const all = found.entries + found.links + found.devices + found.unsafe + found.own;
  if (all > MAX_ENTRIES) throw inputLimit('entries', MAX_ENTRIES, all);
  if (found.nodes > MAX_NODES) throw inputLimit('entries', MAX_NODES, found.nodes);
  if (found.bytes > found.most) throw inputLimit('unpacked_bytes', found.most, found.bytes);
  if (target === 'iso' && found.deepest > DEEPEST_ISO)
    throw inputLimit(
      'folders within one another',
      DEEPEST_ISO,
      found.deepest,
      `An ISO made here has ${DEEPEST_ISO} folders within one another at most; the archive has ${found.deepest}.`,
    );
  if (found.entries === 0) throw conversionFailed('corrupt_input', { says: 'The archive contains no file or folder.' });
  // These have the content at one of a file's names, libarchive gives it to none of them.
  if (found.hardLinks > 0 && LINKS_LOSE.includes(source))
    throw conversionFailed('unsupported_variant', { says: `The archive contains hard links, which cannot be read from ${source}.` });
  if (found.sparse > 0) throw conversionFailed('unsupported_variant', { says: 'The archive contains sparse files.' });
  return { ...found, ...(!kindsOf(source).has('archive') && { contents: { archive: archiveFacts(found) } }) };
}

/** For the receipt, of what the judge does not read. */
const archiveFacts = ({ entries, folders, links, programs, newest, bytes }: Found): ArchiveFacts => ({
  ...{ files: entries - folders, folders, links, programs, bytes, newest: dateOf(newest) },
});

function warningsOf(found: Found, target: string): readonly EngineWarning[] {
  const { links, devices, unsafe, guessed, changed, apart, alike, openEnded } = found;
  const dropped = [
    [links, 'links'],
    [devices, 'special files'],
    [unsafe, 'entries whose names lead out of the archive or are too long'],
  ] as const;
  const left = dropped.filter(([count]) => count > 0).map(([count, what]) => `${what}: ${count}`);
  return [
    ...(openEnded ? [{ code: 'file_cut_off', message: 'The archive has no end: it may have been cut off.' }] : []),
    ...(left.length === 0 ? [] : [{ code: 'entries_dropped', message: `Not in the result: ${left.join(', ')}.` }]),
    ...(guessed === 0
      ? []
      : [{ code: 'names_guessed', message: `The encoding of ${guessed} names is not known; they were read as code page 437.` }]),
    ...(changed === 0
      ? []
      : [
          {
            code: 'names_changed',
            message: `${changed} names mislead, or cannot be had on every system: they were changed in the result.`,
          },
        ]),
    ...(isBeyondJoliet(found, target)
      ? [
          {
            code: 'names_for_unix',
            message: 'Paths are too long for an ISO on Windows: it shows short names, Linux and macOS show the whole.',
          },
        ]
      : []),
    ...namesCollide(apart),
    ...(alike === 0
      ? []
      : [{ code: 'names_alike', message: `${alike} names differ from others only in capital letters: some systems keep one of each.` }]),
  ];
}
