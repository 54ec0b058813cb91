/** `filemill convert`: files to another format, here or by a server. */
import { basename, dirname, extname, join as joined, resolve as resolved } from 'node:path';
import { formatByExtension, formatByName } from '../catalog/formats.ts';
import { distinctNames, numberedNames, SUFFIX } from '../catalog/names.ts';
import { optionSchemas, readOptions } from '../catalog/options/options.ts';
import { Failure } from '../errors.ts';
import { CONVERT_FLAGS, type FileArguments, inFlags, readFileArguments } from './files/arguments.ts';
import { type LikelyWork, UsageError } from './files/converter.ts';
import { type FoundInput, findInputs, statOf } from './files/meaning/inputs.ts';
import { meantFormat } from './files/meaning/meant.ts';
import { nameBy } from './files/meaning/template.ts';
import { openConverter, suffixFor } from './files/open.ts';
import { type FileWork, runFiles } from './files/run.ts';

/** @returns the exit code @throws UsageError · CannotStart */
export async function convertCommand(args: readonly string[], checkout: string): Promise<number> {
  const asked = readFileArguments(args, CONVERT_FLAGS, optionSchemas);
  const { target, work, passedOver } = planWork(asked, await suffixFor(asked.server));
  const fields = new Map([...asked.options, ['to_format', target]]);
  if (asked.from !== undefined) fields.set('from_format', asked.from);
  checkFields(() => readOptions(fields));
  const stdinName = `stdin${asked.from === undefined ? '' : `.${asked.from}`}`;
  const likely = likelyWork(work[0]?.inputs[0], target, asked.from);
  return runFiles(work, () => openConverter(asked, work.length, checkout, likely), {
    ...asked,
    tool: undefined,
    fields,
    stdinName,
    passedOver,
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

export interface PlannedWork {
  readonly target: string;
  readonly work: readonly FileWork[];
  /** Files in folders that were left out by their names. */
  readonly passedOver: number;
}

/** Where each result goes. @param suffix added to a name that would be its source's @throws UsageError */
export function planWork(
  { positionals, to, out, json, name, recursive }: Omit<FileArguments, 'options'>,
  suffix: string = SUFFIX,
): PlannedWork {
  const given = [...positionals];
  let output = out;
  // The forms `IN OUT` and `- -`.
  if (to === undefined ? out === undefined && given.length === 2 : out === undefined && given.length === 2 && given[1] === '-')
    output = given.pop();
  if (given.length === 0) throw new UsageError('name a file to convert, or - for standard input');
  if (given.filter((input) => input === '-').length > 1) throw new UsageError('- can be read only once');
  const target = (to ?? extname(output ?? '').slice(1)).toLowerCase();
  const format = targetFormat(target, to === undefined && given.length > 1);
  if (output === undefined && given[0] === '-') output = '-';
  if (output === '-') {
    if (given.length > 1) throw new UsageError('standard output takes the result of one file');
    if (json) throw new UsageError('--json prints to standard output, where the result would go: name an output file');
    return { target, work: [{ inputs: given, destination: { to: 'stdout' }, expected: undefined, isFound: false }], passedOver: 0 };
  }
  const [only = ''] = given;
  if (output !== undefined && given.length === 1 && !isFolder(output, to) && !(recursive && statOf(only)?.isDirectory() === true)) {
    const destination = { to: 'file', path: output } as const;
    return { target, work: [{ inputs: given, destination, expected: basename(output), isFound: false }], passedOver: 0 };
  }
  const { inputs, passedOver } = findInputs(given, { recursive, out: output, isWanted: (source) => source !== format });
  return { target, work: placesOf(inputs, { target, out: output, template: name, suffix }), passedOver };
}

/** @returns its id @throws UsageError */
function targetFormat(target: string, isSeveral: boolean): string {
  if (target === '')
    throw new UsageError(
      isSeveral
        ? 'several files need --to, as in --to jpg --out photos/'
        : 'the target format is missing: name an output file with an extension, or add --to, as in --to pdf',
    );
  const format = formatByExtension(target);
  if (format === undefined)
    throw new UsageError(`"${target}" is not a format that filemill knows${meantFormat(target) || '; filemill formats lists them'}`);
  return format.id;
}

/** No result takes the place of a source, its own or another's, nor of another result. */
function placesOf(
  inputs: readonly FoundInput[],
  {
    target,
    out,
    template,
    suffix,
  }: { readonly target: string; readonly out: string | undefined; readonly template: string | undefined; readonly suffix: string },
): readonly FileWork[] {
  const placed = inputs.map((input) => ({ ...input, folder: out === undefined ? dirname(input.path) : joined(out, input.below) }));
  const sources = Map.groupBy(inputs, ({ path }) => resolved(dirname(path)));
  const digits = String(inputs.length).length;
  const takers = new Map<string, ReturnType<typeof distinctNames>>();
  return placed.map(({ path, folder, isFound }, index) => {
    const source = path === '-' ? 'stdin' : basename(path);
    const base = basename(source, extname(source));
    const beside = (sources.get(resolved(folder)) ?? []).map((each) => basename(each.path));
    const take = takers.getOrInsertComputed(folder, () => distinctNames(beside));
    const n = String(index + 1).padStart(digits, '0');
    const named = { name: base, from: extname(source).slice(1), folder: basename(resolved(dirname(path))), ext: target, n };
    const preferred = template === undefined ? `${base}.${target}` : nameBy(template, named);
    // A result never takes its source's name.
    const isOwn = path !== '-' && resolved(folder) === resolved(dirname(path)) && preferred.toLowerCase() === source.toLowerCase();
    const [stem, end] = [preferred.slice(0, -target.length - 1), preferred.slice(-target.length - 1)];
    const name = take(candidates(isOwn ? `${stem}${suffix}` : stem, end));
    const nameOf = (filename: string) => (extname(filename) === '.zip' ? `${basename(name, extname(name))}.zip` : name);
    return { inputs: [path], destination: { to: 'folder', folder, nameOf }, expected: `x.${target}`, isFound };
  });
}

/** Candidates for a result's name, in order of preference. */
export function* candidates(base: string, end: string): Generator<string> {
  yield `${base}${end}`;
  yield* numberedNames(base, end);
}

/** A file's name has the extension of the target; everything else is a folder. */
function isFolder(path: string, to: string | undefined): boolean {
  if (path.endsWith('/')) return true;
  const found = statOf(path);
  return found === undefined ? to !== undefined && extname(path) === '' : found.isDirectory();
}
