/** Peers built from checkouts of their repositories: nothing of theirs is kept here. */
import { execFile } from 'node:child_process';
import { access, mkdir, readFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const BUILD_MS = 20 * 60_000;

/** Debian's programs that Gotenberg starts, by the variables that it finds them by (its build/Dockerfile). */
const GOTENBERG_PROGRAMS = {
  CHROMIUM_BIN_PATH: '/usr/bin/chromium',
  LIBREOFFICE_BIN_PATH: '/usr/lib/libreoffice/program/soffice.bin',
  QPDF_BIN_PATH: '/usr/bin/qpdf',
  PDFTK_BIN_PATH: '/usr/bin/pdftk',
  EXIFTOOL_BIN_PATH: '/usr/bin/exiftool',
} as const;

export interface Built {
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
  /** The commit that was built, or `unknown` where the folder is no repository. */
  readonly commit: string;
}

export interface Missing {
  /** A sentence that says what it lacks. */
  readonly missing: string;
}

/** @param checkouts has a folder `gotenberg`, and `unoconverter`, which Gotenberg starts */
export async function gotenberg(checkouts: string): Promise<Built | Missing> {
  const source = join(checkouts, 'gotenberg');
  const unoconverter = join(checkouts, 'unoconverter/unoconv');
  const lacking = await firstMissing([source, unoconverter, ...Object.values(GOTENBERG_PROGRAMS)]);
  if (lacking !== undefined) return { missing: `Gotenberg lacks ${lacking}` };
  return build('Gotenberg', async (into) => {
    const program = join(into, 'gotenberg');
    await run('go', ['build', '-o', program, './cmd/gotenberg'], { cwd: source, timeout: BUILD_MS });
    // The version that its image has.
    const [, version] = /^ARG PDFCPU_VERSION=(v[\d.]+)$/m.exec(await readFile(join(source, 'build/Dockerfile'), 'utf8')) ?? [];
    if (version === undefined) throw new Error('its build/Dockerfile names no version of pdfcpu');
    const env = { ...process.env, GOBIN: into };
    await run('go', ['install', `github.com/pdfcpu/pdfcpu/cmd/pdfcpu@${version}`], { env, timeout: BUILD_MS });
    // unoconverter starts `python`, which has to be Debian's: that one has LibreOffice's module.
    await rm(join(into, 'python'), { force: true });
    await symlink('/usr/bin/python3', join(into, 'python'));
    const programs = {
      ...GOTENBERG_PROGRAMS,
      CHROMIUM_HYPHEN_DATA_DIR_PATH: join(source, 'build/chromium-hyphen-data'),
      UNOCONVERTER_BIN_PATH: unoconverter,
      PDFCPU_BIN_PATH: join(into, 'pdfcpu'),
    };
    return { program, env: programs, commit: await commitOf(source) };
  });
}

/** @param checkouts has a folder `imgproxy`; Debian's libvips-dev is there */
export async function imgproxy(checkouts: string): Promise<Built | Missing> {
  const source = join(checkouts, 'imgproxy');
  const lacking = await firstMissing([source]);
  if (lacking !== undefined) return { missing: `imgproxy lacks ${lacking}` };
  return build('imgproxy', async (into) => {
    const program = join(into, 'imgproxy');
    // Flags that libvips' own description of how to link it asks for.
    const env = { ...process.env, CGO_LDFLAGS_ALLOW: '-s|-w' };
    await run('go', ['build', '-o', program, './cli'], { cwd: source, timeout: BUILD_MS, env });
    return { program, env: {}, commit: await commitOf(source) };
  });
}

/** A peer that cannot be built is said to be missing: it must not end the run, nor get a figure. */
async function build(name: string, make: (into: string) => Promise<Built>): Promise<Built | Missing> {
  const into = join(import.meta.dirname, '../../.cache/peers');
  await mkdir(into, { recursive: true });
  console.log(`  building ${name} (minutes the first time)`);
  try {
    return await make(into);
  } catch (error) {
    const { stderr, message } = error as Error & { readonly stderr?: string };
    return { missing: `${name} could not be built: ${(stderr || message).trim().split('\n').at(-1)}` };
  }
}

async function firstMissing(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const isThere = await access(path).then(
      () => true,
      () => false,
    );
    if (!isThere) return path;
  }
  return undefined;
}

const commitOf = (source: string): Promise<string> =>
  run('git', ['-C', source, 'rev-parse', '--short', 'HEAD']).then(
    ({ stdout }) => stdout.trim(),
    () => 'unknown',
  );
