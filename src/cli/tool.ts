/** `filemill tool`: one of the tools, on a file, on several one by one, or on several together. */
import { basename, dirname, extname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { distinctNames, numberedNames, SUFFIX } from '../catalog/names.ts';
import { readInput, type Tool } from '../catalog/tool.ts';
import { absentTools, toolNamed, tools } from '../catalog/tools.ts';
import { checkFields } from './convert.ts';
import { COMMON_FLAGS, type FileArguments, optionsOfFlags, readFileArguments } from './files/arguments.ts';
import { UsageError } from './files/converter.ts';
import { findInputs, statOf } from './files/meaning/inputs.ts';
import { meantWord } from './files/meaning/meant.ts';
import { nameBy } from './files/meaning/template.ts';
import { openConverter, suffixFor } from './files/open.ts';
import { type FileWork, runFiles } from './files/run.ts';

/** @returns the exit code @throws UsageError · CannotStart */
export async function toolCommand(given: readonly string[], checkout: string): Promise<number> {
  const { slug, args } = toolIn(given);
  const tool = toolBySlug(slug);
  const asked = readFileArguments(args, {}, tool.input.shape);
  checkFields(() => readInput(tool, asked.options));
  const { work, passedOver } = planTool(tool, asked, await suffixFor(asked.server));
  const settings = { ...asked, tool: slug, fields: asked.options, stdinName: 'stdin', passedOver };
  return runFiles(work, () => openConverter(asked, work.length, checkout), settings);
}

/** Flags that every tool has may stand before its name. */
function toolIn(given: readonly string[]): { readonly slug: string; readonly args: readonly string[] } {
  const { tokens } = parseArgs({
    args: [...given],
    options: optionsOfFlags(COMMON_FLAGS),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const at = tokens.find(({ kind }) => kind === 'positional')?.index ?? given.length;
  return { slug: given[at] ?? '', args: given.toSpliced(at, 1) };
}

/** @throws UsageError */
export function toolBySlug(slug: string): Tool {
  const tool = toolNamed(slug);
  if (tool?.takesPage) throw new UsageError(`${slug} takes a URL: it is called on a server, by its API`);
  if (tool !== undefined) return tool;
  const absent = absentTools.find((each) => each.slug === slug);
  if (absent !== undefined) throw new UsageError(`the tool ${slug} is not available: ${absent.reason}`);
  if (slug === '' || slug.startsWith('-')) throw new UsageError('name a tool');
  const known = tools.filter(({ takesPage }) => takesPage !== true).map((each) => each.slug);
  throw new UsageError(`there is no tool "${slug}"${meantWord(slug, known) || '; filemill tool --help lists them'}`);
}

/** @throws UsageError */
export function planTool(
  tool: Tool,
  { positionals, out, json, name, recursive }: Pick<FileArguments, 'positionals' | 'out' | 'json' | 'name' | 'recursive'>,
  suffix: string = SUFFIX,
): { readonly work: readonly FileWork[]; readonly passedOver: number } {
  const { slug, files, answersText = false } = tool;
  if (positionals.length === 0) throw new UsageError(`name a file for ${slug}, or - for standard input`);
  if (positionals.filter((input) => input === '-').length > 1) throw new UsageError('- can be read only once');
  const { inputs, passedOver } = findInputs(positionals, { recursive, out, isWanted: (format) => tool.accepts.includes(format) });
  if (files.max > 1 && (inputs.length < files.min || inputs.length > files.max))
    throw new UsageError(`${slug} takes ${files.min} to ${files.max} files, not ${inputs.length}`);
  const jobs = files.max > 1 ? [inputs] : inputs.map((input) => [input]);
  // A text is for reading; a result of standard input has no name that a file could follow.
  const output = out ?? (jobs.length === 1 && !json && (answersText || positionals[0] === '-') ? '-' : undefined);
  if (output === '-') {
    if (jobs.length > 1) throw new UsageError('standard output takes the result of one file');
    if (json) throw new UsageError('--json prints to standard output, where the result would go: name an output file');
    const paths = inputs.map(({ path }) => path);
    return { work: [{ inputs: paths, destination: { to: 'stdout' }, expected: undefined, isFound: false }], passedOver };
  }
  const isFolder = output !== undefined && (recursive || jobs.length > 1 || output.endsWith('/') || statOf(output)?.isDirectory() === true);
  const sources = new Set(inputs.map(({ path }) => resolve(path)));
  const taken = new Map<string, ReturnType<typeof distinctNames>>();
  const digits = String(jobs.length).length;
  const work = jobs.map((job, index): FileWork => {
    const paths = job.map(({ path }) => path);
    const isFound = job.length > 0 && job.every((each) => each.isFound);
    if (output !== undefined && !isFolder)
      return { inputs: paths, destination: { to: 'file', path: output }, expected: basename(output), isFound };
    const [{ path: first, below } = { path: '', below: '' }] = job;
    const source = first === '-' ? 'stdin' : basename(first);
    const base = basename(source, extname(source));
    const folder = output === undefined ? dirname(first) : join(output, below);
    // The result's extension is known only when it is there, and then its name stays.
    const named = new Map<string, string>();
    const nameOf = (filename: string) =>
      named.getOrInsertComputed(extname(filename), (end) => {
        const n = String(index + 1).padStart(digits, '0');
        const about = { name: base, from: extname(source).slice(1), folder: basename(resolve(dirname(first))), ext: end.slice(1), n };
        const preferred = name === undefined ? `${base}${end}` : nameBy(name, about);
        const stem = preferred.slice(0, preferred.length - end.length);
        // No result takes the name of a source.
        const isSource = sources.has(resolve(folder, preferred));
        return taken.getOrInsertComputed(folder, () => distinctNames())(
          candidates(isSource ? `${stem}${suffix}` : stem, end, (each) => !sources.has(resolve(folder, each))),
        );
      });
    return { inputs: paths, destination: { to: 'folder', folder, nameOf }, expected: undefined, isFound };
  });
  return { work, passedOver };
}

/** Candidates for a result's name, in order of preference. */
function* candidates(base: string, end: string, isFree: (name: string) => boolean): Generator<string> {
  if (isFree(`${base}${end}`)) yield `${base}${end}`;
  for (const name of numberedNames(base, end)) if (isFree(name)) yield name;
}
