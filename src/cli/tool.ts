/** `filemill tool`: one of the tools, on a file, on several one by one, or on several together. */
import { statSync } from 'node:fs';
import { basename, dirname, extname } from 'node:path';
import { parseArgs } from 'node:util';
import { distinctNames, SUFFIX } from '../catalog/names.ts';
import { readInput, type Tool } from '../catalog/tool.ts';
import { absentTools, toolNamed } from '../catalog/tools.ts';
import { candidates, checkFields } from './convert.ts';
import { COMMON_FLAGS, type FileArguments, optionsOfFlags, readFileArguments } from './files/arguments.ts';
import { UsageError } from './files/converter.ts';
import { openConverter } from './files/open.ts';
import { type FileWork, runFiles } from './files/run.ts';

/** @returns the exit code @throws UsageError · CannotStart */
export async function toolCommand(given: readonly string[], checkout: string): Promise<number> {
  const { slug, args } = toolIn(given);
  const tool = toolBySlug(slug);
  const asked = readFileArguments(args, {}, tool.input.shape);
  const { force, json, quiet, options } = asked;
  checkFields(() => readInput(tool, options));
  const settings = { tool: slug, fields: options, force, json, quiet, stdinName: 'stdin' };
  const work = planTool(tool, asked);
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
  throw new UsageError(slug === '' || slug.startsWith('-') ? 'name a tool' : `there is no tool "${slug}"; filemill tool --help lists them`);
}

/** @throws UsageError */
export function planTool(tool: Tool, { positionals, out, json }: FileArguments): readonly FileWork[] {
  const { slug, files, answersText = false } = tool;
  if (positionals.length === 0) throw new UsageError(`name a file for ${slug}, or - for standard input`);
  if (positionals.filter((input) => input === '-').length > 1) throw new UsageError('- can be read only once');
  if (files.max > 1 && (positionals.length < files.min || positionals.length > files.max))
    throw new UsageError(`${slug} takes ${files.min} to ${files.max} files, not ${positionals.length}`);
  const jobs = files.max > 1 ? [positionals] : positionals.map((input) => [input]);
  // A text is for reading; a result of standard input has no name that a file could follow.
  const output = out ?? (jobs.length === 1 && !json && (answersText || positionals[0] === '-') ? '-' : undefined);
  if (output === '-') {
    if (jobs.length > 1) throw new UsageError('standard output takes the result of one file');
    if (json) throw new UsageError('--json prints to standard output, where the result would go: name an output file');
    return [{ inputs: positionals, destination: { to: 'stdout' }, expected: undefined }];
  }
  const isFolder =
    output !== undefined &&
    (jobs.length > 1 || output.endsWith('/') || statSync(output, { throwIfNoEntry: false })?.isDirectory() === true);
  const takers = new Map<string, ReturnType<typeof distinctNames>>();
  return jobs.map((inputs) => {
    if (output !== undefined && !isFolder) return { inputs, destination: { to: 'file', path: output }, expected: basename(output) };
    const [first = ''] = inputs;
    const base = first === '-' ? 'stdin' : basename(first, extname(first));
    const folder = output ?? dirname(first);
    const name = takers.getOrInsertComputed(folder, () => distinctNames())(candidates(`${base}${SUFFIX}`, ''));
    const nameOf = (filename: string) => `${name}${extname(filename)}`;
    return { inputs, destination: { to: 'folder', folder, nameOf }, expected: undefined };
  });
}
