/** What a server would do with a file, which is looked at here: nothing of it is sent. */
import { dataOf, serverRefusal, serverUnreachable } from '../../bridge/refusal.ts';
import { askServer, type Server } from '../../bridge/server.ts';
import { formatByExtension } from '../../catalog/formats.ts';
import type { Explained, FilesJob } from './converter.ts';

/** Longest answer of a server, ms. */
const ANSWER_MS = 30_000;

/** @throws Failure · ServerRefusal */
export async function explainThere(server: Server, { sources, tool, fields }: FilesJob, signal: AbortSignal): Promise<Explained> {
  const { formatOfFile } = await import('./conversions.ts');
  const formats: string[] = [];
  for (const source of sources) formats.push(await formatOfFile(source, fields.get('from_format')));
  const ask = async (path: string) => {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
    const response = await askServer(server, `/api/v1/${path}`, { signal: limit }).catch((cause: unknown) => {
      throw signal.aborted ? cause : serverUnreachable(server, cause);
    });
    return response.ok ? dataOf(server, response) : Promise.reject(await serverRefusal(server, response));
  };
  if (tool !== undefined) return { sources: formats, target: undefined, engines: [], warnings: [] };
  const target = fields.get('to_format') ?? '';
  const way = await ask(`formats/${formats[0]}/${formatByExtension(target)?.id ?? target}`);
  const { steps, loses, options } = way as unknown as {
    readonly steps: Explained['engines'];
    readonly loses: readonly string[];
    readonly options: Readonly<Record<string, unknown>>;
  };
  const ignored = [...fields.keys()].filter((name) => !/^(?:to_format|from_format|password)$/.test(name) && !Object.hasOwn(options, name));
  return {
    sources: formats,
    target,
    engines: steps.map(({ name, version }) => ({ name, version })),
    warnings: [
      ...ignored.map((name) => ({ code: 'option_ignored', message: `The option ${name} has no effect on this conversion.` })),
      ...(loses.length === 0 ? [] : [{ code: 'lossy', message: `This conversion from ${formats[0]} does not keep: ${loses.join(', ')}.` }]),
    ],
  };
}
