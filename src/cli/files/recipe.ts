/** `filemill run`: several steps on files, as a recipe of YAML or JSON says, or one that a server has by name. */
import { readFileSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { nameWithoutSuffix } from '../../catalog/names.ts';
import { readRecipe } from '../../catalog/recipes/recipe.ts';
import { readYaml } from '../../config.ts';
import { Failure } from '../../errors.ts';
import { type FileArguments, readFileArguments } from './arguments.ts';
import { UsageError } from './converter.ts';
import { osPath } from './meaning/bytes.ts';
import { openConverter, suffixFor } from './open.ts';
import { type FileWork, runFiles } from './run.ts';

/** Length of a recipe, bytes. */
const MOST_BYTES = 64 * 1024;

/** @returns the exit code @throws UsageError · CannotStart */
export async function recipeCommand(args: readonly string[], checkout: string): Promise<number> {
  const asked = readFileArguments(args, {}, {});
  refuseOthers(asked);
  const [given, ...files] = asked.positionals;
  if (given === undefined) throw new UsageError('name a recipe: a file of YAML or JSON');
  if (files.length === 0) throw new UsageError('name a file for the recipe');
  const recipe = recipeIn(given, asked.server !== undefined);
  const suffix = await suffixFor(asked.server);
  const settings = { ...asked, tool: undefined, recipe, fields: new Map<string, string>(), stdinName: 'stdin', passedOver: 0 };
  return runFiles([workOn(files, asked.out ?? '.', suffix)], () => openConverter(asked, 1, checkout), settings);
}

/** What has no meaning here is not taken. @throws UsageError */
function refuseOthers({ name, recursive, skipExisting, dryRun, options }: FileArguments): void {
  const others = {
    '--name': name !== undefined,
    '--recursive': recursive,
    '--skip-existing': skipExisting,
    '--dry-run': dryRun,
    '--password-file': options.size > 0,
  };
  for (const [flag, isGiven] of Object.entries(others)) if (isGiven) throw new UsageError(`${flag} has no meaning for a recipe`);
}

/** @param mayName a server may have one by this name @returns JSON, or a name @throws UsageError */
function recipeIn(given: string, mayName: boolean): string {
  let text: string;
  try {
    text = readFileSync(osPath(given), 'utf8');
  } catch (error) {
    if (mayName && /^[a-z][a-z0-9-]{0,62}$/.test(given)) return given;
    throw new UsageError(`the recipe ${given} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  if (Buffer.byteLength(text) > MOST_BYTES) throw new UsageError(`the recipe ${given} is longer than ${MOST_BYTES} bytes`);
  try {
    const recipe = readYaml(text);
    readRecipe(recipe);
    return JSON.stringify(recipe);
  } catch (error) {
    throw new UsageError(
      `${given}: ${error instanceof Failure ? error.message : `it is no YAML (${(error as Error).message.split('\n')[0]})`}`,
    );
  }
}

/** All files at once; each output goes into the folder under the name of its source, unless that is the source itself. */
function workOn(files: readonly string[], folder: string, suffix: string): FileWork {
  const sources = new Set(files.map((path) => resolve(path)));
  const nameOf = (filename: string): string => {
    const plain = nameWithoutSuffix(filename, extname(filename).slice(1), suffix);
    return sources.has(resolve(join(folder, plain))) ? basename(filename) : plain;
  };
  return { inputs: files, destination: { to: 'folder', folder, nameOf }, expected: undefined, isFound: false };
}
