/** The commit before this one, as a separate checkout: what runs beside us while an upgrade is under way. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkout } from './service.ts';

export interface VersionBefore {
  /** Its checkout. */
  readonly folder: string;
  /** Its `scripts/filemill`. */
  readonly program: string;
  remove(): Promise<void>;
}

/** @returns undefined in a clone without history, where there is no commit before */
export function commitBefore(): string | undefined {
  try {
    return execFileSync('git', ['rev-parse', '--verify', '--quiet', 'HEAD~1^{commit}'], { cwd: checkout, encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

/** With the libraries of this checkout and a separate launcher. @throws when git cannot read the commit */
export async function checkOut(commit: string): Promise<VersionBefore> {
  const folder = await mkdtemp(join(tmpdir(), 'filemill-before-'));
  // Converters run as separate users.
  await chmod(folder, 0o755);
  const archive = execFileSync('git', ['archive', '--format=tar', commit], { cwd: checkout, maxBuffer: 1 << 28 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  await symlink(join(checkout, 'node_modules'), join(folder, 'node_modules'));
  // Older versions have the launcher alone.
  for (const script of ['build-launcher', 'build-native'].map((name) => join(folder, 'scripts', name)))
    if (existsSync(script)) execFileSync(script, { cwd: folder, stdio: 'pipe' });
  return { folder, program: join(folder, 'scripts/filemill'), remove: () => rm(folder, { recursive: true, force: true }) };
}
