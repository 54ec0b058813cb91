/**
 * Reads an archive entry by entry, and writes its files and folders into another one. No entry's name ever names a file on this disk.
 *
 *   archive.ts --bsdtar=PATH inspect INPUT FORMAT FOLDER PASSWORD-FILE TARGET
 *   archive.ts --bsdtar=PATH convert INPUT FORMAT FOLDER PASSWORD-FILE TARGET OUTPUT TOTAL [unix]
 *   archive.ts filter REPORT TOTAL MOST TARGET
 *
 * libarchive unpacks to a pax stream (POSIX.1-2008, pax, "ustar Interchange Format"), `filter` passes on what may be in an archive, and libarchive
 * packs that. The shell joins them: Node's own pipes are sockets, which confined programs may not open. FOLDER is for temporary files, and
 * PASSWORD-FILE may be `/dev/null`. `inspect` prints one line of JSON, what `filter` found, or that it is encrypted; `convert` prints `5 of 20`, bytes, as it goes; with
 * `unix`, an ISO gets no names for Windows.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { DAMAGE, ENCRYPTED, NO_PASSWORD, UNKNOWN_METHODS, WRONG_PASSWORD } from '../../../catalog/archive-phrases.ts';
import { OUT_OF_MEMORY } from '../../../catalog/planning/out-of-memory.ts';
import { endsWhole } from './archive/end.ts';
import { filter } from './archive/filter.ts';
import { type Found, isTooMuch, mostUnpacked } from './archive/found.ts';

/** How libarchive writes a target (bsdtar(1), "--format" and "--options"). Times are whole seconds in all of them. */
const WRITERS: Readonly<Record<string, readonly string[]>> = {
  zip: ['--format=zip'],
  cbz: ['--format=zip', '--options=zip:compression=store'],
  tar: ['--format=pax'],
  tgz: ['--format=pax', '--gzip', '--options=gzip:!timestamp'],
  tbz2: ['--format=pax', '--bzip2'],
  txz: ['--format=pax', '--xz'],
  tzst: ['--format=pax', '--zstd'],
  tlz4: ['--format=pax', '--lz4'],
  tlz: ['--format=pax', '--lzip'],
  '7z': ['--format=7zip'],
  cpio: ['--format=newc'],
  iso: ['--format=iso9660', '--options=iso9660:joliet=long'],
};
/** An ISO with paths that Joliet does not allow gets the names of Rock Ridge alone, which Windows does not read. */
const WITHOUT_JOLIET = ['--format=iso9660', '--options=iso9660:!joliet'];

/** Formats that are unpacked on Windows, too; the others are for any Unix. */
const FOR_WINDOWS: ReadonlySet<string> = new Set(['zip', 'cbz', '7z', 'iso']);

/** $1 bsdtar, $2 input, $3 folder, $4 file with the password. What fails leaves its name in `failed`. */
const READ = `{ "$1" -cf - --format=pax @"$2" <"$4" 2>"$3/read" || echo read >>"$3/failed"; }`;
/** The files of a Debian package are an archive in it (deb(5)). */
const READ_DEB = `{ { "$1" -xOf "$2" 'data.tar*' 2>"$3/read" || echo read >>"$3/failed"; } | "$1" -cf - --format=pax @- 2>>"$3/read" || echo read >>"$3/failed"; }`;
/** $5 Node, $6 this program, $7 bytes that are expected, $8 bytes that are allowed, $10 the target. */
const FILTER = `{ "$5" "$6" filter "$3/found" "$7" "$8" "\${10}" || echo filter >>"$3/failed"; }`;
/** $9 output, and behind the target the options of the writer. */
const WRITE = `{ target=$9; bsdtar=$1; folder=$3; shift 10; "$bsdtar" -cf "$target" "$@" @- || echo write >>"$folder/failed"; }`;

/** bsdtar 3.6 says what is wrong with an archive where it extracts it, and not where it copies it. */
const EXTRACT = `"$1" -xOf "$2" <"$4" >/dev/null 2>"$3/read"`;
/** $5 bytes. libarchive stops at the end of the TAR, gzip at that of the stream, which may be much later; what follows that is a warning (2). */
const GUNZIP = `{ gzip -dc <"$2" 2>"$3/read" || [ $? = 2 ] || echo read >>"$3/failed"; } | head -c "$5" | wc -c >"$3/size"
  [ "$(cat "$3/size")" = "$5" ] || [ ! -e "$3/failed" ]`;
/**
 * By format of the source, what compares the checksums of its files: libarchive 3.6 copies a file of a ZIP whose checksum is wrong as if it were
 * right; that of gzip (RFC 1952, 2.3.1) it never compares.
 */
const VERIFIERS: Readonly<Record<string, string>> = {
  ...{ zip: EXTRACT, cbz: EXTRACT, rar: EXTRACT, cab: EXTRACT, lha: EXTRACT },
  tgz: GUNZIP,
};
/** Bytes of a TAR at most: besides its files, it has a header and padding for each. */
const mostStreamed = (most: number): number => 2 * most;

const PHRASES = [...WRONG_PASSWORD, ...NO_PASSWORD, ...UNKNOWN_METHODS, ...OUT_OF_MEMORY, ...DAMAGE];

/** Writes what libarchive detects as the archive's format: it is in the last line that it prints. */
const FORMAT = `"$1" --options='mtree:!checkfs' -tvvvqf "$2" '*' <"$4" 2>/dev/null | tail -n 1 >"$3/format"`;
const FORMAT_DEB = `"$1" -xOf "$2" 'data.tar*' 2>/dev/null | "$1" --options='mtree:!checkfs' -tvvvqf - '*' 2>/dev/null | tail -n 1 >"$3/format"`;
const TAR = /\b(?:tar|ustar|pax)\b/i;
/** By format of the source, what libarchive must detect: it goes by the content, which could be an mtree(5) that names files on this disk. */
const TAKEN_FOR: Readonly<Record<string, RegExp>> = {
  zip: /^ZIP/,
  cbz: /^ZIP/,
  '7z': /^7-Zip/,
  rar: /^RAR/,
  iso: /^ISO9660/,
  cpio: /cpio/,
  rpm: /cpio/,
  cab: /^CAB/,
  lha: /^lha/,
};

/** Lines of complaints that are read: an archive may have something wrong with each of a million files. */
const MOST_COMPLAINTS = 20;

interface Source {
  readonly input: string;
  readonly format: string;
  readonly folder: string;
  readonly passwordFile: string;
  /** Format of the result. */
  readonly target: string;
  /** Whether it is only looked at. */
  readonly isInspected: boolean;
}

const ENVIRONMENT = { ...process.env, LC_ALL: 'C.UTF-8', TZ: 'UTC' };

const [first = '', ...others] = process.argv.slice(2);
if (first === 'filter') {
  const [report = '', total = '', most = '', target = ''] = others;
  process.exitCode = filter(report, { total: Number(total), most: Number(most), forWindows: FOR_WINDOWS.has(target) }) ? 0 : 1;
} else {
  const bsdtar = first.replace(/^--bsdtar=/, '');
  const [mode = '', input = '', format = '', folder = '', passwordFile = '', target = '', output = '', total = '0', system] = others;
  const found = run(
    bsdtar,
    { input, format, folder, passwordFile, target, isInspected: mode === 'inspect' },
    mode === 'inspect' ? undefined : { output, total, forUnix: system === 'unix' },
  );
  if (mode === 'inspect') process.stdout.write(`${JSON.stringify({ ...found, openEnded: format === 'tar' && !endsWhole(input) })}\n`);
}

/** @returns what was found; ends the process where the archive cannot be read or written */
function run(bsdtar: string, source: Source, to?: { readonly output: string; readonly total: string; readonly forUnix: boolean }): Found {
  const { input, format, folder, passwordFile, target } = source;
  const isIt = isWhatItSays(bsdtar, source);
  if (isIt === undefined) fail(bsdtar, source, true);
  if (!isIt) {
    process.stderr.write('unrecognized archive format\n');
    process.exit(1);
  }
  const read = format === 'deb' ? READ_DEB : READ;
  const script = to === undefined ? `${read} | ${FILTER} >/dev/null` : `${read} | ${FILTER} | ${WRITE}`;
  const most = String(mostUnpacked(statSync(input).size));
  const names = [bsdtar, input, folder, passwordFile, process.execPath, process.argv[1] ?? '', to?.total ?? '0', most];
  const written = [to?.output ?? '', target];
  const writer = to === undefined ? [] : to.forUnix ? WITHOUT_JOLIET : (WRITERS[target] ?? []);
  for (const name of ['found', 'failed', 'read']) rmSync(`${folder}/${name}`, { force: true });
  const { status, error } = spawnSync('/bin/sh', ['-c', script, 'sh', ...names, ...written, ...writer], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: ENVIRONMENT,
  });
  if (error !== undefined) throw error;
  const found = existsSync(`${folder}/found`) ? (JSON.parse(readFileSync(`${folder}/found`, 'utf8')) as Found) : undefined;
  const failed = existsSync(`${folder}/failed`) ? readFileSync(`${folder}/failed`, 'utf8').split('\n') : [];
  // The reader stops the program that unpacks it.
  if (found !== undefined && isTooMuch(found)) return found;
  if (status !== 0 || failed.length > 0 || found === undefined) fail(bsdtar, source, failed.includes('read'));
  const verifier = VERIFIERS[format];
  if (to !== undefined || verifier === undefined) return found;
  // A second pass compares the checksums: the first one has shown that the archive is within its bounds.
  const mostBytes = mostStreamed(found.most);
  if (!reads(verifier, bsdtar, source, mostBytes)) failToRead(source);
  const streamed = verifier === GUNZIP ? Number(readFileSync(`${folder}/size`, 'latin1')) : 0;
  return streamed < mostBytes ? found : { ...found, bytes: streamed };
}

/** Whether the archive is read without a complaint; complaints are in the file `read`. */
function reads(script: string, bsdtar: string, { input, folder, passwordFile }: Source, mostBytes = 0): boolean {
  const names = [bsdtar, input, folder, passwordFile, String(mostBytes)];
  return spawnSync('/bin/sh', ['-c', script, 'sh', ...names], { stdio: 'ignore', env: ENVIRONMENT }).status === 0;
}

/** @returns undefined where libarchive cannot tell */
function isWhatItSays(bsdtar: string, { input, format, folder, passwordFile }: Source): boolean | undefined {
  const script = format === 'deb' ? FORMAT_DEB : FORMAT;
  spawnSync('/bin/sh', ['-c', script, 'sh', bsdtar, input, folder, passwordFile], {
    stdio: ['ignore', 'ignore', 'ignore'],
    env: ENVIRONMENT,
  });
  const [, told] = /^Archive Format: (.{1,200}), {2}Compression:/.exec(readFileSync(`${folder}/format`, 'latin1').slice(0, 1000)) ?? [];
  return told === undefined ? undefined : (TAKEN_FOR[format] ?? TAR).test(told);
}

/** Says why it failed, and ends. @param isSource whether it was the source that could not be read */
function fail(bsdtar: string, source: Source, isSource: boolean): never {
  if (!isSource) process.exit(1);
  if (!asksForPassword(source)) reads(EXTRACT, bsdtar, source);
  failToRead(source);
}

/** Says what the file `read` has of `PHRASES`: the service logs it, and judges the failure by it. Names of files are in these lines, too: only known phrases are passed on. */
function failToRead(source: Source): never {
  const { folder, passwordFile } = source;
  const words = asksForPassword(source)
    ? [statSync(passwordFile).size > 0 ? 'the password is wrong' : 'a password is needed']
    : beginningOf(`${folder}/read`)
        .split('\n', MOST_COMPLAINTS)
        .flatMap((line) => phrasesIn(line.slice(line.indexOf(': ') + 1)));
  if (source.isInspected && words.some((phrase) => ENCRYPTED.includes(phrase))) {
    process.stdout.write('{"encrypted":true}\n');
    process.exit(0);
  }
  process.stderr.write(`${words.join('\n') || 'the archive cannot be read'}\n`);
  process.exit(1);
}

function phrasesIn(complaint: string): readonly string[] {
  const said = complaint.slice(-1_000).toLowerCase();
  return PHRASES.filter((phrase) => said.includes(phrase));
}

function asksForPassword({ folder }: Source): boolean {
  return beginningOf(`${folder}/read`).includes('Enter passphrase');
}

/** Nothing where the file does not exist. */
function beginningOf(path: string): string {
  return existsSync(path) ? readFileSync(path, 'latin1').slice(0, 100_000) : '';
}
