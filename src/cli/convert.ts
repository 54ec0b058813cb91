/** `filemill convert`: files to another format, here or by a server. */
import { statSync } from 'node:fs';
import { basename, dirname, extname, resolve } from 'node:path';
import { formatByExtension, formatByName } from '../catalog/formats.ts';
import { distinctNames, numberedNames, SUFFIX } from '../catalog/names.ts';
import { optionSchemas, readOptions } from '../catalog/options/options.ts';
import { Failure } from '../errors.ts';
import { CONVERT_FLAGS, type FileArguments, inFlags, readFileArguments } from './files/arguments.ts';
import { type LikelyWork, UsageError } from './files/converter.ts';
import { openConverter } from './files/open.ts';
import { type FileWork, runFiles } from './files/run.ts';

/** @returns the exit code @throws UsageError · CannotStart */
export async function convertCommand(args: readonly string[], checkout: string): Promise<number> {
  const asked = readFileArguments(args, CONVERT_FLAGS, optionSchemas);
  const { target, work } = planWork(asked);
  const fields = new Map([...asked.options, ['to_format', target]]);
  if (asked.from !== undefined) fields.set('from_format', asked.from);
  checkFields(() => readOptions(fields));
  const { force, json, quiet } = asked;
  const stdinName = `stdin${asked.from === undefined ? '' : `.${asked.from}`}`;
  const likely = likelyWork(work[0]?.inputs[0], target, asked.from);
  return runFiles(work, () => openConverter(asked, work.length, checkout, likely), {
    tool: undefined,
    fields,
    force,
    json,
    quiet,
    stdinName,
  });
}

function likelyWork(input = '', target: string, from: string | undefined): LikelyWork | undefined {
  const source = from === undefined ? formatByName(input) : formatByExtension(from);
  const wanted = formatByExtension(target);
  return source === undefined || wanted === undefined ? undefined : { source: source.id, target: wanted.id };
}

/** An option that no file could make valid is a mistake of the command line, whatever the files. @throws UsageError */
export function checkFields(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    throw error instanceof Failure ? new UsageError(inFlags(error.message)) : error;
  }
}

/** Where each result goes. @throws UsageError */
export function planWork({ positionals, to, out, json }: FileArguments): { readonly target: string; readonly work: readonly FileWork[] } {
  const inputs = [...positionals];
  let output = out;
  // IN OUT, and `- -`.
  if (to === undefined ? out === undefined && inputs.length === 2 : out === undefined && inputs.length === 2 && inputs[1] === '-')
    output = inputs.pop();
  if (inputs.length === 0) throw new UsageError('name a file to convert, or - for standard input');
  if (inputs.filter((input) => input === '-').length > 1) throw new UsageError('- can be read only once');
  const target = (to ?? extname(output ?? '').slice(1)).toLowerCase();
  if (target === '')
    throw new UsageError(
      to === undefined && inputs.length > 1
        ? 'several files need --to, as in --to jpg --out photos/'
        : 'the target format is missing: name an output file with an extension, or send --to, as in --to pdf',
    );
  if (formatByExtension(target) === undefined)
    throw new UsageError(`"${target}" is not a format that filemill knows; filemill formats lists them`);
  if (output === undefined && inputs[0] === '-') output = '-';
  if (output === '-') {
    if (inputs.length > 1) throw new UsageError('standard output takes the result of one file');
    if (json) throw new UsageError('--json prints to standard output, where the result would go: name an output file');
    return { target, work: [{ inputs, destination: { to: 'stdout' }, expected: undefined }] };
  }
  if (output !== undefined && inputs.length === 1 && !isFolder(output, to))
    return { target, work: [{ inputs, destination: { to: 'file', path: output }, expected: basename(output) }] };
  const takers = new Map<string, ReturnType<typeof distinctNames>>();
  return {
    target,
    work: inputs.map((input) => {
      const folder = output ?? dirname(input);
      const base = input === '-' ? 'stdin' : basename(input, extname(input));
      // No result takes the place of another file's source.
      const others = inputs.filter((each) => each !== input && resolve(dirname(each)) === resolve(folder)).map((each) => basename(each));
      const take = takers.getOrInsertComputed(folder, () => distinctNames(others));
      // A result never takes its source's name.
      const own = folder === dirname(input) && basename(input) === `${base}.${target}` ? `${base}${SUFFIX}` : base;
      const name = take(candidates(own, `.${target}`));
      const nameOf = (filename: string) => (extname(filename) === '.zip' ? `${basename(name, extname(name))}.zip` : name);
      return { inputs: [input], destination: { to: 'folder', folder, nameOf }, expected: `x.${target}` };
    }),
  };
}

/** Candidates for a result's name, in order of preference. */
export function* candidates(base: string, end: string): Generator<string> {
  yield `${base}${end}`;
  yield* numberedNames(base, end);
}

/** A file's name has the extension of the target; everything else is a folder. */
function isFolder(path: string, to: string | undefined): boolean {
  if (path.endsWith('/')) return true;
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? to !== undefined && extname(path) === '' : found.isDirectory();
}
