/** `filemill formats`: what can be converted to what on this machine, or on a server. */
import { parseArgs } from 'node:util';
import type { Server } from '../bridge/server.ts';
import { formatByExtension, formatOf, isUnproven } from '../catalog/formats.ts';
import { optionsOfFlags } from './files/arguments.ts';
import { UsageError } from './files/converter.ts';
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
  const { source, server, json } = readArguments(args);
  const id = source === undefined ? undefined : formatByExtension(source.toLowerCase().replace(/^\./, ''))?.id;
  if (source !== undefined && id === undefined) throw new UsageError(`"${source}" is not a format that filemill knows`);
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

function readArguments(args: readonly string[]) {
  try {
    const options = { json: { type: 'boolean' }, ...optionsOfFlags(SERVER_FLAGS) } as const;
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    if (positionals.length > 1) throw new Error('name one format at most');
    return { source: positionals[0], server: serverOf(values), json: values.json === true };
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
  const [{ CannotStart }, { askServer }, { dataOf, serverUnreachable }] = await Promise.all([
    import('../roles/process/cannot-start.ts'),
    import('../bridge/server.ts'),
    import('../bridge/refusal.ts'),
  ]);
  const data = await askServer(server, '/api/v1/formats', { signal: AbortSignal.timeout(ANSWER_MS) })
    .catch((cause: unknown) => {
      throw serverUnreachable(server, cause);
    })
    .then((response) => dataOf(server, response))
    .catch((cause: Error) => {
      throw new CannotStart(cause.message, { cause });
    });
  type Listed = Omit<Row, 'targets'> & { readonly targets: readonly unknown[] };
  const { sources, unproven = [] } = data as unknown as { sources: readonly Listed[]; unproven?: readonly Listed[] };
  const nameOf = (target: unknown) => (typeof target === 'string' ? target : String((target as { format: string }).format));
  const rowOf = ({ format, family, targets }: Listed): Row => ({ format, family, targets: targets.map(nameOf) });
  // Servers before this version list none apart.
  return [...sources.map(rowOf), ...unproven.map((row) => ({ ...rowOf(row), unproven: true as const }))];
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
