/** Makes our own programs ready to be started by the slots' users: as JavaScript, where these users can read it. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { basename, dirname, join, sep } from 'node:path';
import { isAlive } from '../../alive.ts';
import { NATIVE_PROGRAMS, type NativeProgram } from './policy.ts';

const PROGRAMS = 'src/exec/programs';
/** What they import of the service: files that import nothing. */
export const SHARED = [
  'src/catalog/archive-phrases.ts',
  'src/catalog/bounds.ts',
  'src/catalog/looks/json.ts',
  'src/catalog/looks/wide.ts',
  'src/catalog/names.ts',
  'src/catalog/planning/out-of-memory.ts',
];
/** This file: how it compiles them counts too. */
const STAGE = 'src/exec/confine/stage.ts';
/** libvips as sharp's packages bring it, with all that it needs: sharp itself is not used here. */
export const LIBVIPS = `node_modules/@img/sharp-libvips-linux-${process.arch}/lib`;
/** What our programs import, with all that these packages need: none has anything native. */
export const PACKAGES = [
  ...['papaparse', 'smol-toml', 'yaml', 'chardet'],
  // E-mail, and the HTML in it.
  ...[
    'postal-mime',
    'parse5',
    'entities',
    '@csstools/css-tokenizer',
    '@kenjiuno/msgreader',
    '@kenjiuno/decompressrtf',
    'rtf-stream-parser',
    'safer-buffer',
  ],
  // Web pages in the form of e-mail.
  ...['@zone-eu/mailsplit', 'libmime', 'libqp', 'libbase64', 'iconv-lite', 'encoding-japanese'],
  // Address cards and calendars.
  'ical.js',
  // Tables with typed columns, of which Parquet is in WebAssembly.
  ...['apache-arrow', 'flatbuffers', 'json-with-bigint', 'tslib', 'parquet-wasm'],
  // JPEG-LS, in WebAssembly.
  '@cornerstonejs/codec-charls',
  // The parser of XML and its own.
  ...['fast-xml-parser', '@nodable/entities', 'fast-xml-builder', 'is-unsafe', 'path-expression-matcher', 'strnum', 'anynum', 'xml-naming'],
].map((name) => `node_modules/${name}`);
/** ONNX Runtime, of which only this platform's files are taken. */
export const ONNX_RUNTIME = ['node_modules/onnxruntime-common', 'node_modules/onnxruntime-node'];
const isRun = (path: string): boolean => !/\.(?:[cm]?ts|map|md)$/.test(path) && !/\/parquet-wasm\/(?:esm|bundler)$/.test(path);
/** Without what other platforms need. @param into absolute path of the folder that gets `node_modules` */
export async function copyOnnxRuntime(checkout: string, into: string): Promise<void> {
  const isForeign = (path: string): boolean => {
    const [, platform, cpu] = /\/napi-v\d+\/(\w+)(?:\/(\w+))?/.exec(path) ?? [];
    return (platform !== undefined && platform !== process.platform) || (cpu !== undefined && cpu !== process.arch);
  };
  for (const path of ONNX_RUNTIME)
    await cp(join(checkout, path), join(into, path), { recursive: true, filter: (from) => isRun(from) && !isForeign(from) });
}
/** Where `scripts/build-native` puts what it builds. */
const NATIVE = '.cache/bin';

export interface Runtime {
  /** The Node that runs our programs. */
  readonly node: string;
  /** Path of a program by its name among the sources. */
  pathOf(program: string): string;
  /** A program of `native/`, and the library that it loads. */
  native(program: NativeProgram): { readonly program: string; readonly library: string };
  /** Paths that they need to read. */
  readonly reads: readonly string[];
}

/**
 * Types are stripped once, here: a Node that is given TypeScript takes more time for that (40 ms of CPU) than for its own start. Where the users
 * cannot enter the checkout or read Node, as in a closed home folder, everything is copied.
 * @param checkout absolute path of the project
 * @param node absolute path of the program
 * @param into absolute path of a folder that all users can enter
 */
export async function stage(checkout: string, node: string, into: string): Promise<Runtime> {
  const program = await realpath(node);
  const shared = SHARED.map((path) => join(checkout, path)).filter((path) => existsSync(path));
  const sources = [...everythingBelow(join(checkout, PROGRAMS)), ...shared];
  const isOpen = process.getuid?.() !== 0 || (everyoneReaches(checkout) && everyoneReaches(program));
  // An image has them as JavaScript.
  if (isOpen && !sources.some(isTypeScript)) return runtimeAt(checkout, checkout, program);
  const own = ['package.json', 'package-lock.json', STAGE].map((path) => join(checkout, path)).filter((path) => existsSync(path));
  const compiled = [...own, ...sources];
  if (isOpen) {
    const made = await publish(join(checkout, '.cache/programs'), stampOf(checkout, compiled), (fresh) => compile(checkout, fresh)).catch(
      unlessUnwritable,
    );
    if (made !== undefined) return runtimeAt(made, checkout, program);
  }
  const natives = await Promise.all(
    NATIVE_PROGRAMS.map((name) => join(checkout, NATIVE, name)).map(async (path) => ((await isThere(path)) ? [path] : [])),
  );
  const copied = stampOf(checkout, [program, ...natives.flat(), ...compiled]);
  const copy = await publish(join(into, 'runtime'), copied, async (fresh) => {
    await compile(checkout, fresh);
    for (const part of [LIBVIPS, ...NATIVE_PROGRAMS.map((name) => join(NATIVE, name))])
      await cp(join(checkout, part), join(fresh, part), { recursive: true }).catch(unlessAbsent);
    await copyOnnxRuntime(checkout, fresh).catch(unlessAbsent);
    if (!isOpen) await cp(program, join(fresh, 'node'));
  });
  return runtimeAt(copy, copy, isOpen ? program : join(copy, 'node'));
}

/** The programs without types, `package.json`, and the packages that they import, at the same paths as in the checkout. */
export async function compile(checkout: string, into: string): Promise<void> {
  for (const path of PACKAGES) await cp(join(checkout, path), join(into, path), { recursive: true, filter: isRun });
  for (const path of [PROGRAMS, ...SHARED]) await cp(join(checkout, path), join(into, path), { recursive: true });
  await cp(join(checkout, 'package.json'), join(into, 'package.json'));
  for (const path of [...everythingBelow(join(into, PROGRAMS)), ...SHARED.map((each) => join(into, each))].filter(isTypeScript)) {
    const code = stripTypeScriptTypes(await readFile(path, 'utf8'));
    await writeFile(asJavaScript(path), code.replaceAll(/( from |import\()'(\.\.?\/[\w./-]+)\.ts'/g, "$1'$2.js'"));
    await rm(path);
  }
}

/**
 * A folder in `home` for what a stamp stands for, made once however many processes ask for it at a time. It takes the place of older ones,
 * but for those that other processes still use: a service goes on while a command of an updated checkout runs.
 * @param fill is given an empty folder
 */
async function publish(home: string, stamp: string, fill: (fresh: string) => Promise<void>): Promise<string> {
  const path = join(home, stamp);
  if ((await isThere(path)) && noteUse(path)) return path;
  await mkdir(home, { recursive: true });
  const older = await readdir(home);
  const fresh = await mkdtemp(join(home, FRESH));
  await fill(fresh);
  // The checkout may be readable by its owner only.
  for (const each of [home, fresh, ...everythingBelow(fresh)]) await chmod(each, ((await stat(each)).mode & 0o100) === 0 ? 0o644 : 0o755);
  await rename(fresh, path).catch(async (error: unknown) => {
    await rm(fresh, { recursive: true, force: true });
    // Another process was faster.
    if (!(await isThere(path))) throw error;
  });
  noteUse(path);
  for (const name of older.filter((each) => each !== stamp)) {
    const old = join(home, name);
    // Others may be removing it, too, or begin to use it: it stays then, until the next version is made.
    if (!(await isUsed(old)) && !(await isBeingMade(old))) await rm(old, { recursive: true, force: true }).catch(() => {});
  }
  return path;
}

/** In a version's folder: one file for each process that uses it, named by the process id. */
const USERS = '.used-by';
const noted = new Set<string>();

/** @returns whether the version is there still: another process may have removed it a moment ago */
function noteUse(path: string): boolean {
  const note = join(path, USERS, String(process.pid));
  if (noted.has(path)) return existsSync(path);
  try {
    makeFolder(dirname(note));
    writeFileSync(note, '');
  } catch (error) {
    unlessUnwritable(error);
    // In another user's checkout no note can be written.
    return existsSync(path);
  }
  noted.add(path);
  process.once('exit', () => rmSync(note, { force: true }));
  return true;
}

/** Without its parents: a version that was removed must not come back as an empty folder. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Only the version that this process asked for last is in use. A note that a killed process left counts for nothing. */
async function isUsed(path: string): Promise<boolean> {
  // Another process may be removing it.
  const users = await readdir(join(path, USERS)).catch(() => []);
  return users.map(Number).some((pid) => pid !== process.pid && isAlive(pid));
}

const FRESH = 'fresh-';
/** A process that takes longer was killed, ms. */
const LONGEST_MS = 10 * 60_000;
const isBeingMade = async (path: string): Promise<boolean> =>
  basename(path).startsWith(FRESH) && Date.now() - (await stat(path).catch(() => ({ mtimeMs: 0 }))).mtimeMs < LONGEST_MS;
const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** On a read-only file system, Node says ENOENT of folders that it would have to create on the way. */
function unlessUnwritable(error: unknown): undefined {
  if (!/^(EACCES|EPERM|EROFS|ENOENT|ENOSPC|EDQUOT)$/.test(String((error as NodeJS.ErrnoException).code))) throw error;
}

/** A program that was not built is missed by the engines that need it, and by nothing else. */
function unlessAbsent(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

const isTypeScript = (path: string): boolean => path.endsWith('.ts');
const asJavaScript = (path: string): string => path.replace(/\.ts$/, '.js');

/** @param root of the programs @param home of what is native */
function runtimeAt(root: string, home: string, node: string): Runtime {
  const library = libvipsIn(join(home, LIBVIPS));
  return {
    node,
    pathOf: (program) => join(root, PROGRAMS, asJavaScript(program)),
    native: (program) => ({ program: join(home, NATIVE, program), library }),
    // Node finds the packages of the checkout from a folder in it.
    reads: [
      node,
      ...[PROGRAMS, ...SHARED.map(asJavaScript), 'package.json', ...PACKAGES].map((part) => join(root, part)),
      ...ONNX_RUNTIME.map((part) => join(home, part)),
    ],
  };
}

/** Its name ends with its version. */
function libvipsIn(folder: string): string {
  const name = existsSync(folder) ? readdirSync(folder).find((each) => each.startsWith('libvips-cpp.so')) : undefined;
  return join(folder, name ?? 'libvips-cpp.so');
}

/** Whether other users can enter every folder on the path, and read what it names. */
export function everyoneReaches(path: string): boolean {
  for (let at = path; at !== sep; at = dirname(at)) {
    const { mode } = statSync(at);
    if ((mode & 0o001) === 0) return at === path && statSync(path).isFile() && (mode & 0o004) !== 0;
  }
  return true;
}

/** Changes when one of the files is edited, added or removed: a folder's own modification time covers names only. */
function stampOf(checkout: string, paths: readonly string[]): string {
  const lines = paths.map((path) => {
    const { mtimeMs, size } = statSync(path);
    return `${mtimeMs} ${size} ${path.slice(checkout.length + 1)}`;
  });
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex').slice(0, 16);
}

// Synchronous, as all that each start does: a call takes microseconds, and the thread pool would cost twenty times that. So would `join`.
const everythingBelow = (folder: string): string[] =>
  readdirSync(folder, { encoding: 'utf8', recursive: true }).map((name) => `${folder}${sep}${name}`);
