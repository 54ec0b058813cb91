/** `filemill formats`: what can be converted to what on this machine, or on a server. */
import { parseArgs } from 'node:util';
import type { Server } from '../bridge/server.ts';
import { formatByExtension, formatOf, isUnproven } from '../catalog/formats.ts';
import type { FormatWay } from '../contracts/api/formats.ts';
import { flagOf, optionsOfFlags } from './files/arguments.ts';
import { UsageError } from './files/converter.ts';
import { EXIT } from './files/exit.ts';
import { meantFormat } from './files/meaning/meant.ts';
import { SERVER_FLAGS, serverOf } from './files/server.ts';
import { print, printJson } from './print.ts';

interface Row {
  readonly format: string;
  readonly family: string;
  readonly targets: readonly string[];
  /** No test has converted one, as no free program writes it. */
  readonly unproven?: true;
}

/** Longest answer of a server, ms. */
const ANSWER_MS = 30_000;
const WIDTH = 100;

/** @returns the exit code @throws UsageError · CannotStart */
export async function formatsCommand(args: readonly string[], checkout: string): Promise<number> {
  const { sources, server, json } = readArguments(args);
  const [id, target] = sources.map(idOf);
  if (id !== undefined && target !== undefined) return sayWay(await wayOf(id, target, server, checkout), id, target, json);
  const rows = server === undefined ? await rowsHere(checkout) : await rowsThere(server);
  const shown = rows.filter(({ format }) => id === undefined || format === id);
  if (json) printJson(id === undefined ? shown : (shown[0] ?? { format: id, family: formatOf(id).family, targets: [] }));
  else if (id === undefined)
    for (const { format, targets, unproven } of shown)
      print(`${format.padEnd(8)}${targets.length} targets${unproven === true ? ' (not tested: no free program writes it)' : ''}`);
  else if (shown[0] === undefined) print(`${id} cannot be converted here`);
  else print(wrapped(shown[0].targets));
  return 0;
}

/** @throws UsageError */
function idOf(word: string): string {
  const id = formatByExtension(word.toLowerCase().replace(/^\./, ''))?.id;
  if (id === undefined) throw new UsageError(`"${word}" is not a format that filemill knows${meantFormat(word)}`);
  return id;
}

/** As the API explains it; undefined where none leads there. */
async function wayOf(from: string, to: string, server: Server | undefined, checkout: string): Promise<FormatWay | undefined> {
  if (server !== undefined) return (await answerOf(server, `formats/${from}/${to}`, ['INVALID_FORMAT'])) as FormatWay | undefined;
  const [{ openHere }, { explainWay }] = await Promise.all([import('./files/here.ts'), import('../api/formats/list.ts')]);
  const here = await openHere(checkout, 1);
  try {
    return explainWay(here.catalog, from, to);
  } finally {
    await here.close();
  }
}

function sayWay(way: FormatWay | undefined, from: string, to: string, json: boolean): number {
  if (json) printJson(way ?? { from, to, steps: [] });
  else if (way === undefined) print(`${from} cannot be converted to ${to} here; filemill formats ${from} lists what it can become`);
  else {
    const { steps, loses, options } = way;
    print(
      `${from} → ${to}: ${steps.map(({ name, version, to: made }) => `${[name, version].filter(Boolean).join(' ')} (${made})`).join(', then ')}`,
    );
    if (loses.length > 0) print(`not kept: ${loses.join(', ')}`);
    const flags = Object.keys(options).map((name) => `--${flagOf(name)}`);
    if (flags.length > 0) print(`options:\n${wrapped(flags)}`);
  }
  return way === undefined ? EXIT.failed : EXIT.done;
}

function readArguments(args: readonly string[]) {
  try {
    const options = { json: { type: 'boolean' }, ...optionsOfFlags(SERVER_FLAGS) } as const;
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    if (positionals.length > 2) throw new Error('name two formats at most');
    return { sources: positionals, server: serverOf(values), json: values.json === true };
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError((error as Error).message);
  }
}

async function rowsHere(checkout: string): Promise<readonly Row[]> {
  const here = await (await import('./files/here.ts')).openHere(checkout, 1);
  try {
    const { catalog } = here;
    return catalog.sources.map((format) => ({
      format,
      family: formatOf(format).family,
      targets: catalog.targets(format),
      ...(isUnproven(format) ? { unproven: true } : {}),
    }));
  } finally {
    await here.close();
  }
}

async function rowsThere(server: Server): Promise<readonly Row[]> {
  const data = await answerOf(server, 'formats');
  type Listed = Omit<Row, 'targets'> & { readonly targets: readonly unknown[] };
  const { sources, unproven = [] } = data as { sources: readonly Listed[]; unproven?: readonly Listed[] };
  const nameOf = (target: unknown) => (typeof target === 'string' ? target : String((target as { format: string }).format));
  const rowOf = ({ format, family, targets }: Listed): Row => ({ format, family, targets: targets.map(nameOf) });
  // Servers before this version list none apart.
  return [...sources.map(rowOf), ...unproven.map((row) => ({ ...rowOf(row), unproven: true as const }))];
}

/** @param none codes that say that there is none @throws CannotStart */
async function answerOf(server: Server, path: string, none: readonly string[] = []): Promise<unknown> {
  const [{ CannotStart }, { askServer }, { dataOf, serverUnreachable }] = await Promise.all([
    import('../roles/process/cannot-start.ts'),
    import('../bridge/server.ts'),
    import('../bridge/refusal.ts'),
  ]);
  try {
    const response = await askServer(server, `/api/v1/${path}`, { signal: AbortSignal.timeout(ANSWER_MS) }).catch((cause: unknown) => {
      throw serverUnreachable(server, cause);
    });
    return await dataOf(server, response);
  } catch (cause) {
    if (none.includes((cause as { code?: string }).code ?? '')) return undefined;
    throw new CannotStart((cause as Error).message, { cause });
  }
}

function wrapped(words: readonly string[]): string {
  const lines = [''];
  for (const word of words) {
    const last = lines.length - 1;
    if (lines[last] !== '' && `${lines[last]} ${word}`.length > WIDTH) lines.push(word);
    else lines[last] = `${lines[last]} ${word}`.trim();
  }
  return lines.join('\n');
}
