/** The arguments of a program around models: where each model lies, `--<model>=<folder>` (`Binary.models`), and the program's own. */

const args = process.argv.slice(2);
const OPTION = /^--[\w-]+=/;

/** @param model its id @returns its folder */
export function folderOf(model: string): string {
  const prefix = `--${model}=`;
  return args.find((each) => each.startsWith(prefix))?.slice(prefix.length) ?? '';
}

/** Without folders of models. */
export const ownArguments: readonly string[] = args.filter((each) => !OPTION.test(each));
