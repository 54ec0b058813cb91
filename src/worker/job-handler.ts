/** Handles one claimed order: downloads the granted input, converts it, and uploads the output. */
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Options } from '../catalog/options/options.ts';
import type { Grant } from '../contracts/messages/grant.ts';
import { conversionFailed } from '../errors.ts';
import { openFile } from '../exec/files/collect.ts';
import type { Slot } from '../exec/files/workspace.ts';
import { finish } from '../jobs/lifecycle.ts';
import type { JobRecord } from '../jobs/record.ts';
import { outputKey } from '../objects/keys.ts';
import { AccessDenied } from '../objects/store.ts';
import { download, upload } from '../objects/transfer.ts';
import { type Conversion, type ConvertDeps, convert, type Source } from './convert.ts';
import { EngineAbsent } from './failure.ts';
import { MAX_OUTPUT_BYTES } from './judge.ts';
import type { JobHandler } from './loop.ts';
import { packOutput } from './output.ts';
import { runTool } from './run-tool.ts';

/** Allows for a ZIP's own bytes around parts that are each within their bound. */
const MAX_UPLOAD_BYTES = MAX_OUTPUT_BYTES + (1 << 24);

/** How often a grant is renewed whose URLs the store refuses: another replica may sign the next. */
const MAX_RENEWALS = 2;

export function jobHandler(deps: ConvertDeps): JobHandler {
  const { slot } = deps;
  return async (record: JobRecord, grant: Grant, { signal, onProgress, renewGrant, onPhase, defer }) => {
    const base = await slot.makeFolder('job');
    defer(() => slot.removeFolder(base));
    const folder = await slot.makePrivateFolder('output');
    defer(() => slot.removeFolder(folder));
    let current = grant;
    const withGrant = async <T>(transfer: (granted: Grant) => Promise<T>): Promise<T> => {
      for (let renewals = 0; ; renewals++) {
        try {
          return await transfer(current);
        } catch (error) {
          if (!(error instanceof AccessDenied) || renewals === MAX_RENEWALS) throw error;
        }
        current = await renewGrant();
      }
    };
    const sources = await fetchSources(slot, base, record, (path, index, sizeBytes) =>
      withGrant(({ inputs }) => download(inputs[index] ?? '', path, sizeBytes, signal)),
    );
    const [source] = sources;
    if (source === undefined) throw new Error('the record names no source');
    onPhase('converting');
    const work = { base, input: record.tool?.input ?? {}, password: grant.password, signal, onProgress };
    const tool = record.tool === undefined ? undefined : deps.catalog.tools.get(record.tool.slug);
    if (record.tool !== undefined && tool === undefined) throw conversionFailed('engine_missing', { cause: new EngineAbsent() });
    const conversion =
      tool !== undefined && 'plan' in tool.work
        ? await runTool(deps, { ...work, slug: tool.slug, tool: tool.work, sources, target: record.target.format })
        : // `readOptions` of the same catalog version wrote these options.
          await convert(deps, { ...work, source, target: record.target.format, options: record.options as Options });
    const best = tool?.neverLarger ? await smallerOf(conversion, source, record.target.format) : conversion;
    const packed = await packOutput(folder, best, record.filename, record.target, tool?.alwaysZip);
    onPhase('uploading');
    const { sizeBytes, sha256 } = await withGrant(({ output }) => upload(packed.path, output, MAX_UPLOAD_BYTES, signal));
    const { filename, contentType, files } = packed;
    const output = { key: outputKey(record.id, record.attempt ?? ''), filename, sizeBytes, contentType, sha256, files };
    return (now, at) => finish(now, at, { output, warnings: [...best.warnings, ...packed.warnings], engine: best.engine });
  };
}

/** Downloads every source to a file whose name we choose. */
async function fetchSources(
  slot: Slot,
  base: string,
  { sources }: JobRecord,
  fetchTo: (path: string, index: number, sizeBytes: number) => Promise<void>,
) {
  const fetched: Source[] = [];
  for (const [index, { format, sizeBytes }] of sources.entries()) {
    const path = join(base, sources.length === 1 ? `input.${format}` : `input-${String(index).padStart(3, '0')}.${format}`);
    await fetchTo(path, index, sizeBytes);
    slot.own(path);
    fetched.push({ format, path });
  }
  return fetched;
}

/** The conversion, or the source itself where the result has the same format and is no smaller. */
async function smallerOf(conversion: Conversion, { path, format }: Source, target: string): Promise<Conversion> {
  const { base, files, warnings } = conversion;
  const [only] = files;
  if (format !== target || only === undefined || files.length > 1) return conversion;
  const { handle, sizeBytes } = await openFile(base, only.folder, only.name);
  await handle.close();
  if (sizeBytes < (await stat(path)).size) return conversion;
  const warning = { code: 'not_smaller', message: 'The file could not be made smaller: it comes back as it was.' };
  return { ...conversion, files: [{ folder: base, name: basename(path), label: '' }], warnings: [...warnings, warning] };
}
