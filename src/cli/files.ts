/** The commands on files: each ends with an exit code, and says itself what went wrong. */
import { lstatSync } from 'node:fs';
import { printable } from '../printable.ts';
import { CannotStart } from '../roles/process/cannot-start.ts';
import { UsageError } from './files/converter.ts';
import { EXIT } from './files/exit.ts';
import { asGiven, osPath } from './files/meaning/bytes.ts';
import { print, tell } from './print.ts';

type FileCommand = (args: readonly string[], checkout: string) => Promise<number>;

/** Loaded one by one: a start should not wait for what another command needs. */
const COMMANDS: Readonly<Record<string, () => Promise<FileCommand>>> = {
  convert: async () => (await import('./convert.ts')).convertCommand,
  tool: async () => (await import('./tool.ts')).toolCommand,
  run: async () => (await import('./files/recipe.ts')).recipeCommand,
  info: async () => (await import('./info.ts')).infoCommand,
  formats: async () => (await import('./formats.ts')).formatsCommand,
  completion: async () => {
    const [{ completion }, { FILE_COMMANDS, HELP }] = await Promise.all([import('./completion.ts'), import('./usage.ts')]);
    return async (args) => {
      print(completion(args, [...Object.keys(FILE_COMMANDS), ...Object.keys(HELP), 'help']));
      return EXIT.done;
    };
  },
};

export const isFileCommand = (name: string | undefined): name is string => name !== undefined && Object.hasOwn(COMMANDS, name);

/** @returns the exit code */
export async function runFileCommand(name: string, given: readonly string[], checkout: string): Promise<number> {
  const args = asGiven(given);
  const until = args.indexOf('--');
  const flags = until < 0 ? args : args.slice(0, until);
  try {
    refuseFileNames(flags);
    if (flags.includes('--help') || flags.includes('-h')) {
      print((await import('./files/help.ts')).helpOfFiles(name, args));
      return EXIT.done;
    }
    return (await (await COMMANDS[name]?.())?.(args, checkout)) ?? EXIT.done;
  } catch (error) {
    if (error instanceof UsageError) {
      tell(`filemill ${name}: ${printable(error.message)}\nfilemill ${name} --help shows how it is used`);
      return EXIT.usage;
    }
    // A configuration that is wrong, too.
    if (!(error instanceof CannotStart) && (error as Error).name !== 'ConfigError') throw error;
    tell(`filemill ${name}: ${(error as Error).message}`);
    return EXIT.cannotStart;
  }
}

/** A shell writes `*` as names, and one of them may look like a flag: it could send all other files to a server. @throws UsageError */
function refuseFileNames(flags: readonly string[]): void {
  for (const flag of flags)
    if (/^-./s.test(flag) && lstatSync(osPath(flag), { throwIfNoEntry: false }) !== undefined)
      throw new UsageError(
        `"${flag}" begins with a dash and is the name of a file here: write "./${flag}" for the file, or -- before all files`,
      );
}
