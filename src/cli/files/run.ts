/** Converts many files: some at a time, each on its own, with progress, and in the end an exit code. */
import { createWriteStream } from 'node:fs';
import { mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Failure } from '../../errors.ts';
import { mapConcurrently } from '../../streams/concurrency.ts';
import { printJson, tell } from '../print.ts';
import { inFlags } from './arguments.ts';
import type { Converter, FilesJob } from './converter.ts';
import { EXIT } from './exit.ts';
import { osPath } from './meaning/bytes.ts';
import { checkFree, checkSource, type Destination, existing, FileProblem, openPlaces } from './place.ts';
import { openProgress, type ShownProblem } from './progress.ts';

export interface FileWork {
  /** Paths as they were given; `-` is standard input. */
  readonly inputs: readonly string[];
  /** `stdout` has its spool folder from the run. */
  readonly destination: Exclude<Destination, { to: 'stdout' }> | { readonly to: 'stdout' };
  /** Name of the result where it is known before; the first look whether it exists goes by it. */
  readonly expected: string | undefined;
  /** It was found in a folder: if it cannot be converted, that is no failure. */
  readonly isFound: boolean;
}

export interface RunSettings extends Pick<FilesJob, 'tool' | 'recipe' | 'fields'> {
  readonly force: boolean;
  readonly skipExisting: boolean;
  readonly dryRun: boolean;
  readonly json: boolean;
  readonly quiet: boolean;
  /** Files in folders that were left out by their names. */
  readonly passedOver: number;
  /** What standard input is called: its extension says what a text is. */
  readonly stdinName: string;
}

/** @param open called once there is something to convert @returns the exit code */
export async function runFiles(work: readonly FileWork[], open: () => Promise<Converter>, settings: RunSettings): Promise<number> {
  const { force, skipExisting, dryRun, json, quiet, passedOver, tool, recipe, fields, stdinName } = settings;
  const stopping = new AbortController();
  const places = openPlaces({ force }, process.stdout);
  const progress = openProgress({ total: work.length, passedOver, quiet: quiet || dryRun, json });
  let spool: Promise<string> | undefined;
  const spoolFolder = () => (spool ??= mkdtemp(join(process.env['TMPDIR'] ?? '/var/tmp', 'filemill-pipe-')));
  let code: number = EXIT.done;
  let converter: Converter | undefined;

  const stop = (signal: NodeJS.Signals) => {
    // A second signal ends the process at once; folders in /var/tmp may then be left.
    if (stopping.signal.aborted) process.exit(code);
    code = signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated;
    stopping.abort(new Error(signal));
  };
  // Closing a terminal causes a signal and failed writes: only the first one counts.
  const hungUp = () => {
    if (!stopping.signal.aborted) stop('SIGTERM');
  };
  process.on('SIGINT', stop).on('SIGTERM', stop).on('SIGHUP', hungUp);
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // Its reader has gone. Anything else, such as a full disk, the user has to know.
    if (error.code === 'EPIPE' || stopping.signal.aborted) return hungUp();
    tell(`filemill: standard output cannot be written (${error.code})`);
    code = EXIT.failed;
    stopping.abort(error);
  });
  process.stderr.on('error', hungUp);

  const sourceOf = async (path: string): Promise<{ path: string; name: string; sizeBytes: number }> => {
    if (path !== '-') {
      const sizeBytes = await checkSource(path);
      return { path: path.isWellFormed() ? path : await linkTo(path), name: basename(path).toWellFormed(), sizeBytes };
    }
    const spooled = join(await spoolFolder(), 'stdin');
    await pipeline(process.stdin, createWriteStream(spooled, { flags: 'wx', mode: 0o600 }), { signal: stopping.signal });
    return { path: spooled, name: stdinName, sizeBytes: await checkSource(spooled) };
  };

  /** Converters take paths that are valid text: a link gives any other path one. */
  const linkTo = async (path: string): Promise<string> => {
    const link = join(await spoolFolder(), `${++links}${extname(path).toWellFormed()}`);
    await symlink(await realpath(osPath(path), 'buffer'), link);
    return link;
  };
  let links = 0;

  const one = async ({ inputs, destination, expected, isFound }: FileWork): Promise<void> => {
    if (stopping.signal.aborted) return;
    const shown = inputs.join(', ');
    const began = performance.now();
    const line = progress.begin(shown);
    const skip = (output: string | undefined): void => {
      line.skipped(output === undefined ? 'its result exists' : `${output} exists`);
      if (json) printJson({ input: nameOf(inputs), skipped: { code: 'EXISTS', message: 'The output file exists already.' }, output });
    };
    try {
      const sources: Awaited<ReturnType<typeof sourceOf>>[] = [];
      for (const input of inputs) sources.push(await sourceOf(input));
      const place: Destination = destination.to === 'stdout' ? { to: 'stdout', spool: await spoolFolder() } : destination;
      if (converter === undefined) throw new Error('no converter');
      const found = skipExisting ? await existing(place, expected ?? sources[0]?.name ?? '', inputs) : undefined;
      if (found !== undefined) return skip(found);
      if (dryRun) {
        const explained = await converter.explain({ sources, tool, fields }, stopping.signal);
        const { sayPlan } = await import('./dry-run.ts');
        await sayPlan(explained, { inputs, sources, place, force }, json);
        return line.dropped();
      }
      if (expected !== undefined)
        await checkFree(
          place,
          expected,
          force,
          sources.map(({ path }) => path),
        );
      const done = await converter.convert(
        { sources, tool, recipe, fields },
        {
          signal: stopping.signal,
          onProgress: line.progress,
          onWait: line.wait,
          deliver: async (result) => {
            stopping.signal.throwIfAborted();
            // A tool's result has a name only now.
            if (expected === undefined && skipExisting && (await existing(place, result.filename, inputs)) !== undefined)
              throw new Skipped();
            if (expected === undefined)
              await checkFree(
                place,
                result.filename,
                force,
                sources.map(({ path }) => path),
              );
            return places.put(place, result);
          },
        },
      );
      const seconds = (performance.now() - began) / 1000;
      line.done(done);
      if (json)
        printJson({
          input: nameOf(inputs),
          output: done.output,
          warnings: done.warnings,
          engine: done.engine,
          fidelity: done.fidelity,
          seconds: Number(seconds.toFixed(3)),
        });
    } catch (error) {
      if (stopping.signal.aborted) return line.dropped();
      if (error instanceof Skipped) return skip(undefined);
      const shown = shownProblemOf(error);
      const problem = { ...shown, message: inFlags(shown.message) };
      if (isFound && /^(?:INVALID_FORMAT|UNSUPPORTED_MIME)$/.test(problem.code)) {
        line.skipped(problem.message);
        if (json) printJson({ input: nameOf(inputs), skipped: problem });
        return;
      }
      if (code === EXIT.done) code = EXIT.failed;
      line.failed(problem);
      if (json) printJson({ input: nameOf(inputs), error: problem });
    }
  };

  try {
    converter = await open();
    if (!stopping.signal.aborted) await mapConcurrently(work, { limit: converter.atOnce }, one);
  } finally {
    progress.close();
    await converter?.close();
    await places.clear();
    if (spool !== undefined) await rm(await spool, { recursive: true, force: true });
    process.stdin.destroy();
    process.off('SIGINT', stop).off('SIGTERM', stop).off('SIGHUP', hungUp);
  }
  return code;
}

/** The result of a tool has a name only when it is there: then it may exist. */
class Skipped extends Error {}

const nameOf = (inputs: readonly string[]): string | readonly string[] => (inputs.length === 1 ? (inputs[0] ?? '') : inputs);

/** An error as the API would answer it. What is thrown otherwise is a bug, or a disk that is full. */
export function shownProblemOf(error: unknown): ShownProblem {
  if (error instanceof Failure) return { code: error.code, message: error.message, details: error.details };
  if (error instanceof FileProblem) return { code: error.code, message: error.message };
  const { code, message, details } = error as { code?: unknown; message?: unknown; details?: ShownProblem['details'] };
  if (error instanceof Error && error.name === 'ServerRefusal')
    return { code: String(code), message: String(message), details: details ?? {} };
  // Results are written elsewhere: this is where sources are copied to, and converters work.
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return {
      code: 'CANNOT_WRITE',
      message: `There is no room for temporary files in ${process.env['TMPDIR'] ?? '/var/tmp'}; TMPDIR names another folder.`,
    };
  if (process.env['LOG_LEVEL'] !== undefined) tell(error);
  const { message: says, code: internal } = new Failure('INTERNAL_ERROR');
  return { code: internal, message: typeof code === 'string' ? `${says} (${code})` : says };
}
