/** The arguments of `convert` and `tool`: the flags that both have, and one for each option of the catalog. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import type { z } from 'zod';
import type { Server } from '../../bridge/server.ts';
import { flag, wordsOf } from '../../catalog/options/fields.ts';
import { UsageError } from './converter.ts';
import { meantFlag } from './meaning/meant.ts';
import { checkTemplate } from './meaning/template.ts';
import { firstLine, SERVER_FLAGS, serverOf } from './server.ts';

export interface Flag {
  readonly type: 'string' | 'boolean';
  readonly multiple?: true;
  readonly short?: string;
  readonly means: string;
}

/** Flags that no option of the catalog may have. */
export const COMMON_FLAGS = {
  out: { type: 'string', short: 'o', means: 'file or folder for the results; - is standard output' },
  name: { type: 'string', means: 'template for names of results: {name}, {ext}, {from}, {folder}, {n}, as in "{name}-{n}"' },
  recursive: { type: 'boolean', short: 'r', means: 'takes the files in folders, and in their folders, too' },
  force: { type: 'boolean', short: 'f', means: 'overwrites files that exist' },
  'skip-existing': { type: 'boolean', means: 'leaves out files whose result exists' },
  'dry-run': { type: 'boolean', short: 'n', means: 'says what would be done, and does nothing' },
  json: { type: 'boolean', means: 'prints one line of JSON for each file' },
  quiet: { type: 'boolean', short: 'q', means: 'prints only what fails' },
  jobs: { type: 'string', short: 'j', means: 'conversions at a time; default: the number of cores, 4 with a server' },
  ...SERVER_FLAGS,
  'password-file': { type: 'string', means: 'file whose first line is the password, which a command line would show to other users' },
  help: { type: 'boolean', short: 'h', means: 'shows this help' },
} as const satisfies Readonly<Record<string, Flag>>;

/** Further ones of `convert`. */
export const CONVERT_FLAGS = {
  to: { type: 'string', short: 't', means: 'target format, such as pdf; without it, the last argument is the output file' },
  from: { type: 'string', means: 'source format, where the content fits several; it is detected otherwise' },
} as const satisfies Readonly<Record<string, Flag>>;

export type Fields = Readonly<Record<string, z.ZodType>>;

export interface FileArguments {
  readonly positionals: readonly string[];
  readonly to: string | undefined;
  readonly from: string | undefined;
  readonly out: string | undefined;
  readonly name: string | undefined;
  readonly recursive: boolean;
  readonly force: boolean;
  readonly skipExisting: boolean;
  readonly dryRun: boolean;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly jobs: number | undefined;
  readonly server: Server | undefined;
  /** The options that were given, by the names of the API's form. */
  readonly options: Map<string, string>;
}

export const flagOf = (field: string): string => field.replaceAll('_', '-');
/** Whether its form field takes true or false. Read from the description: making a JSON Schema of each field would slow down every start. */
export const isSwitch = (schema: z.ZodType): boolean => wordsOf(schema) === flag.description;
const MOST_JOBS = 256;

/** As `parseArgs` takes them. */
export const optionsOfFlags = <const Flags extends Readonly<Record<string, Flag>>>(flags: Flags) =>
  Object.fromEntries(Object.entries(flags).map(([name, { means: _, ...flag }]) => [name, flag])) as {
    readonly [Name in keyof Flags]: Omit<Flags[Name], 'means'>;
  };

/** Messages of the API name its fields: here they are flags. */
export const inFlags = (message: string): string =>
  message
    .replace(/ in the field "file(?:s\[\])?"/g, '')
    .replace(' in the field "password"', ' with --password-file')
    .replace(/\bThe option ([a-z0-9_]+)(?= is )/g, (_, name: string) => `--${flagOf(name)}`);

/** @param fields of the conversion or the tool @throws UsageError */
export function readFileArguments(args: readonly string[], flags: Readonly<Record<string, Flag>>, fields: Fields): FileArguments {
  const own = optionsOfFlags({ ...COMMON_FLAGS, ...flags });
  const ofFields = Object.entries(fields).map(([name, schema]) => [flagOf(name), { type: isSwitch(schema) ? 'boolean' : 'string' }]);
  // A flag of the command comes before an option of the same name: a unit test says that there is none.
  const options = { ...Object.fromEntries(ofFields), ...own } as ParseArgsOptionsConfig;
  const { values, positionals } = parse(args, options);
  if (values['force'] === true && values['skip-existing'] === true)
    throw new UsageError('--force overwrites what --skip-existing leaves out: use one of them');
  const text = (name: string) => (typeof values[name] === 'string' ? values[name] : undefined);
  const given = new Map(
    Object.keys(fields).flatMap((name) => {
      const value = values[flagOf(name)];
      return value === undefined ? [] : [[name, String(value)] as const];
    }),
  );
  const passwordFile = text('password-file');
  if (passwordFile !== undefined) given.set('password', firstLine(passwordFile, 'password'));
  return {
    positionals,
    to: text('to'),
    from: text('from'),
    out: text('out'),
    name: text('name') === undefined ? undefined : checkTemplate(text('name') ?? ''),
    recursive: values['recursive'] === true,
    force: values['force'] === true,
    skipExisting: values['skip-existing'] === true,
    dryRun: values['dry-run'] === true,
    json: values['json'] === true,
    quiet: values['quiet'] === true,
    jobs: jobsOf(text('jobs')),
    server: serverOf(values),
    options: given,
  };
}

function parse(args: readonly string[], options: ParseArgsOptionsConfig) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, allowNegative: true });
  } catch (error) {
    const [message = ''] = (error as Error).message.split('. To specify a positional');
    const unknown = /^Unknown option '-{1,2}(?:no-)?([^']*)'$/s.exec(message)?.[1];
    throw new UsageError(`${message}${unknown === undefined ? '' : meantFlag(unknown, Object.keys(options))}`);
  }
}

function jobsOf(sent: string | undefined): number | undefined {
  if (sent === undefined) return undefined;
  const jobs = Number(sent);
  if (Number.isInteger(jobs) && jobs >= 1 && jobs <= MOST_JOBS) return jobs;
  throw new UsageError(`--jobs is "${sent}"; expected 1 to ${MOST_JOBS}`);
}
