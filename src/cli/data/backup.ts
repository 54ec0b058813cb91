/** `filemill backup`: packs the data folder of a running service into one file; `filemill restore` unpacks it into an empty folder. */
import { closeSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { humanSize } from '../../api/jobs/view.ts';
import { type Config, ConfigError, loadConfig } from '../../config.ts';
import { runSystem, type SystemFailure } from '../../exec/system.ts';
import { printable } from '../../printable.ts';
import { CannotStart, errorCode } from '../../roles/process/cannot-start.ts';
import { versionAt } from '../../roles/process/program.ts';
import { tell } from '../print.ts';
import { restoreBackup } from './restore-backup.ts';
import { type BackupManifest, stageBackup } from './stage-backup.ts';

/** Packing and unpacking: hundreds of gigabytes on a slow disk, ms. */
const LONGEST_MS = 12 * 3_600_000;
/** Owners by number only: names differ between machines. Restored files belong to the user who restores them. */
const PACKING = ['--create', '--format=posix', '--numeric-owner', '--owner=0', '--group=0', '--sort=name'];
const UNPACKING = ['--extract', '--no-same-owner', '--no-same-permissions', '--delay-directory-restore'];

/** @returns what to print @throws ConfigError · CannotStart */
export async function backUp(args: readonly string[], checkout: string): Promise<string | undefined> {
  const path = onlyArgument('backup', args, 'filemill backup <file.tar>, or - for standard output');
  const { dataDir } = embeddedConfig('backup');
  const version = versionAt(checkout);
  const staged = await stageBackup(dataDir, version, Date.now);
  try {
    await writeTar(path, (file) => tar([...PACKING, '--directory', staged.folder, '.'], { output: file }));
  } finally {
    await staged.remove();
  }
  const said = `backed up ${contentOf(staged.manifest)} of ${dataDir}: keep it as you keep the key of the service, which it contains`;
  if (path !== '-') return said;
  tell(said);
  return undefined;
}

/** @returns what to print @throws ConfigError · CannotStart */
export async function restore(args: readonly string[], checkout: string): Promise<string> {
  const path = onlyArgument('restore', args, 'filemill restore <file.tar>, or - for standard input');
  const { dataDir } = embeddedConfig('restore');
  const unpack = (folder: string) => readTar(path, (file) => tar([...UNPACKING, '--directory', folder], { input: file }));
  const manifest = await restoreBackup(dataDir, unpack, versionAt(checkout));
  return `restored ${contentOf(manifest)} into ${dataDir}, as of ${manifest.createdAt}: start the service there`;
}

const contentOf = ({ jobs, files, bytes }: BackupManifest): string => `${jobs} jobs and ${files} files (${humanSize(bytes)})`;

/** @throws CannotStart for a cluster, which has no data folder */
function embeddedConfig(command: string): Config {
  const config = loadConfig(process.env);
  if (config.nats === undefined && config.s3 === undefined) return config;
  throw new CannotStart(
    `${command} is for one machine: NATS and the bucket are backed up by their own means (docs/cluster.md, Backup and restore)`,
  );
}

/** As a whole or not at all, readable by its owner alone: it contains the key. @throws CannotStart where a file is there already */
async function writeTar(path: string, write: (file: number) => Promise<void>): Promise<void> {
  if (path === '-') return write(1);
  const target = resolve(path);
  const part = `${target}.part`;
  // The name is claimed first: an hour of packing must not end with a name that is taken.
  closeSync(opened(() => openSync(target, 'wx', 0o600), path));
  const ours = [target];
  try {
    const file = opened(
      () => openSync(part, 'wx', 0o600),
      `${path}.part`,
      'another backup writes it, or left it when it was killed: remove it, or name another file',
    );
    ours.push(part);
    await write(file).finally(() => closeSync(file));
    renameSync(part, target);
  } catch (error) {
    for (const each of ours) rmSync(each, { force: true });
    throw error;
  }
}

async function readTar(path: string, read: (file: number) => Promise<void>): Promise<void> {
  if (path === '-') return read(0);
  const file = opened(() => openSync(path, 'r'), path);
  await read(file).finally(() => closeSync(file));
}

function opened(open: () => number, path: string, whereThere = 'the file exists already: name another'): number {
  try {
    return open();
  } catch (cause) {
    const why = {
      EEXIST: whereThere,
      ENOENT: `there is no such file or folder (${dirname(resolve(path))})`,
    };
    const code = errorCode(cause);
    throw new CannotStart(`${printable(path)} cannot be used: ${why[code as keyof typeof why] ?? code}`, { cause });
  }
}

/** @throws CannotStart with tar's message */
async function tar(args: readonly string[], between: { readonly input?: number; readonly output?: number }): Promise<void> {
  const failed = await runSystem('tar', [...args, '--file', '-'], { ...between, withinMs: LONGEST_MS }).catch((cause: unknown) => {
    throw new CannotStart(`tar cannot be started (${errorCode(cause)}): install it`, { cause });
  });
  if (failed !== undefined && !(args.includes('--create') && isOnlyRenamed(failed))) throw new CannotStart(`tar failed (${failed.says})`);
}

/**
 * The service has deleted files while tar was reading our hard links to them: only their link count has changed. tar 1.34 warns of that with status 1;
 * newer versions do not.
 */
const isOnlyRenamed = ({ ended, complaint }: SystemFailure): boolean =>
  ended === 1 &&
  complaint !== '' &&
  complaint
    .trimEnd()
    .split('\n')
    .every((line) => line.endsWith(': file changed as we read it'));

/** @throws ConfigError */
function onlyArgument(command: string, args: readonly string[], usage: string): string {
  try {
    const { positionals } = parseArgs({ args: [...args], allowPositionals: true, options: {} });
    const [path, ...more] = positionals;
    if (path !== undefined && path !== '' && more.length === 0) return path;
  } catch {
    // Reported below.
  }
  throw new ConfigError([`invalid arguments "${command} ${printable(args.join(' '))}"; usage: ${usage}`]);
}
