/** A claimed job from its granted input to its uploaded output. */
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Options } from '../../catalog/options/options.ts';
import type { ByPlan, Input, Method, Tool } from '../../catalog/tool.ts';
import { toolNamed } from '../../catalog/tools.ts';
import type { Grant } from '../../contracts/messages/grant.ts';
import { conversionFailed, Failure } from '../../errors.ts';
import { openFile } from '../../exec/files/collect.ts';
import type { Slot } from '../../exec/files/workspace.ts';
import { finish, type Result } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { outputKey } from '../../objects/keys.ts';
import { AccessDenied, Unreachable, type Written } from '../../objects/store.ts';
import { download, handOver, upload } from '../../objects/transfer.ts';
import { throughOutage } from '../orders/outage.ts';
import type { JobHandler } from '../orders/process-order.ts';
import { type ConversionResult, type ConvertDeps, convert, engineMissing, type SourceFile } from './convert.ts';
import { MAX_OUTPUT_BYTES } from './judge.ts';
import { type PackedOutput, packOutput } from './output.ts';
import { lossesIn, receiptFor } from './receipt.ts';
import { convertWithTool } from './run-tool.ts';

/** Room for a ZIP's own bytes around parts that are each within their bound. */
const MAX_DELIVERY_BYTES = MAX_OUTPUT_BYTES + (1 << 24);

/** Pause between two tries of an upload while the object store is away, ms. */
const RETRY_MS = 2_000;
/** The same where the store refuses what replicas sign, ms: each try asks them for new grants, and they may have a wrong key for minutes. */
const REFUSED_MS = 20_000;
const retryMs = (error: unknown): number => (error instanceof AccessDenied ? REFUSED_MS : RETRY_MS);
const isUnreachable = (error: unknown): boolean => error instanceof Unreachable;

/** How often a grant is renewed whose URLs the store refuses: the next may come from another replica. */
const MOST_RENEWALS = 2;

/** The steps between grant and finish: download → convert → pack → upload. */
export function jobHandler(deps: ConvertDeps): JobHandler {
  const { slot } = deps;
  return async (record, grant, { signal, onProgress, renewGrant, onPhase, defer }) => {
    const base = await slot.makeFolder('job');
    defer(() => slot.removeFolder(base));
    const { path: folder, empty } = slot.keptFolder('delivery');
    // What an earlier job left there would be in the way.
    await empty();
    defer(empty);
    const transfer = transfers(grant, renewGrant);

    const sources = await downloadSources(slot, base, record, (path, index, sizeBytes) =>
      transfer(({ inputs }) => download(inputs[index] ?? '', path, sizeBytes, signal)),
    );
    onPhase('converting');
    const onConverted = () => onPhase('packing');
    const context = { base, folder, password: grant.password, suffix: grant.suffix, signal, onProgress, onConverted };
    const { delivery, ...result } = await runJob(deps, record, sources, context);
    onPhase('uploading');
    const { sizeBytes, sha256 } = await throughOutage(isUnreachable, { retryMs, signal }, () =>
      transfer(({ output }) => handOver(delivery.path, output, MAX_DELIVERY_BYTES, signal, delivery.sha256)),
    );

    const { filename, contentType, files } = delivery;
    const output = { key: outputKey(record.id, record.attempt ?? ''), filename, sizeBytes, contentType, sha256, files };
    return (now, at) => finish(now, at, { ...result, output });
  };
}

/** Waits while the object store is away. */
export const uploadResult = (transfer: ReturnType<typeof transfers>, path: string, signal: AbortSignal): Promise<Written> =>
  throughOutage(isUnreachable, { retryMs, signal }, () => transfer(({ output }) => upload(path, output, MAX_DELIVERY_BYTES, signal)));

interface JobContext extends Pick<Parameters<typeof convert>[1], 'base' | 'password' | 'signal' | 'onProgress'> {
  /** Absolute path of an empty folder that converters cannot access: the result is packed there. */
  readonly folder: string;
  /** Called before the result is packed. */
  readonly onConverted?: () => void;
  /** Behind the name of the source. */
  readonly suffix?: string | undefined;
}

/** What a job's record says of its end, and the file that is delivered. */
export interface Converted extends Pick<Result, 'warnings' | 'engine' | 'fidelity'> {
  readonly delivery: PackedOutput;
}

/** What a record asks for, done to sources that lie in the slot. @throws Failure `CONVERSION_FAILED` */
export async function runJob(
  deps: ConvertDeps,
  record: Pick<JobRecord, 'filename' | 'target' | 'tool' | 'options'>,
  sources: readonly SourceFile[],
  { folder, onConverted, suffix, ...context }: JobContext,
): Promise<Converted> {
  const result = await runWork(deps, record, sources, context);
  onConverted?.();
  const { filename: sourceName, target } = record;
  const alwaysZip = toolOf(record)?.alwaysZip;
  const delivery = await packOutput(folder, result, { sourceName, target, alwaysZip, suffix, signal: context.signal });
  const fidelity = await receiptFor(deps.judge, result, delivery, target.format);
  return { warnings: [...result.warnings, ...delivery.warnings, ...lossesIn(fidelity)], engine: result.engine, delivery, fidelity };
}

/** Transfers that renew the grant where the store refuses its URLs. */
export function transfers(first: Grant, renewGrant: () => Promise<Grant>): <T>(work: (grant: Grant) => Promise<T>) => Promise<T> {
  let grant = first;
  return async (work) => {
    for (let renewals = 0; ; renewals++) {
      try {
        return await work(grant);
      } catch (error) {
        if (!(error instanceof AccessDenied) || renewals === MOST_RENEWALS) throw error;
      }
      grant = await renewGrant();
    }
  };
}

/** Also one that this worker could not run without the field `model`: the method that comes first there is in another toolchain. */
const toolOf = ({ tool }: Pick<JobRecord, 'tool'>): Tool | undefined => toolNamed(tool?.slug);

/** The same that the API has chosen the pool by: an engine that is preferred and is not there runs in another pool. */
function methodsFor(deps: ConvertDeps, work: ByPlan, input: Input): { readonly method: Method; readonly others: readonly Method[] } {
  const method = deps.catalog.method(work, input);
  if (method === undefined) throw engineMissing(deps);
  const here = deps.catalog.methods(work).filter(({ onRequest }) => !onRequest);
  return { method, others: here.slice(here.indexOf(method) + 1) };
}

/** A tool's own plan, or a conversion. @throws Failure `CONVERSION_FAILED` */
export async function runWork(
  deps: ConvertDeps,
  record: Pick<JobRecord, 'target' | 'tool' | 'options'>,
  sources: readonly SourceFile[],
  context: Omit<JobContext, 'folder' | 'onConverted'>,
): Promise<ConversionResult> {
  const [source] = sources;
  if (source === undefined) throw new Error('the record names no source');
  const tool = toolOf(record);
  if (record.tool !== undefined && tool === undefined) throw engineMissing(deps);
  const work = { ...context, input: record.tool?.input ?? {} };
  const target = record.target.format;
  const running =
    tool !== undefined && 'methods' in tool.work
      ? convertWithTool(deps, { ...work, slug: tool.slug, ...methodsFor(deps, tool.work, work.input), sources, target })
      : // `readOptions` of the same catalog version wrote the options, and they are read back from JSON.
        convert(deps, { ...work, source, target, options: record.options as Options, maxPixels: tool?.bounds?.maxPixels });
  const conversion = await (tool === undefined || tool.opensEncrypted ? running : running.catch(adviseUnlock));
  return tool?.neverLarger ? smaller(conversion, source, target) : conversion;
}

/** For tools that take no password of their sources. */
function adviseUnlock(error: unknown): never {
  if (!(error instanceof Failure) || error.details['reason'] !== 'password_required') throw error;
  const { details, cause } = error;
  throw conversionFailed('password_required', {
    says: 'The file is encrypted: remove its password first, with unlock-pdf.',
    details,
    cause,
  });
}

/** What a source is called in the slot: nothing of the client's. */
export const sourceName = (index: number, count: number, format: string): string =>
  count === 1 ? `input.${format}` : `input-${String(index).padStart(3, '0')}.${format}`;

/** Downloads every source into a file whose name we chose. */
async function downloadSources(
  slot: Slot,
  base: string,
  { sources }: JobRecord,
  downloadTo: (path: string, index: number, sizeBytes: number) => Promise<void>,
) {
  const downloaded: SourceFile[] = [];
  for (const [index, { format, sizeBytes }] of sources.entries()) {
    const path = join(base, sourceName(index, sources.length, format));
    await downloadTo(path, index, sizeBytes);
    slot.own(path);
    downloaded.push({ format, path });
  }
  return downloaded;
}

/** The source itself, where the result is of the same kind and no smaller. */
async function smaller(conversion: ConversionResult, { path, format }: SourceFile, target: string): Promise<ConversionResult> {
  const { base, files, warnings, found } = conversion;
  const [only] = files;
  if (format !== target || only === undefined || files.length > 1) return conversion;
  using opened = openFile(base, only.folder, only.name);
  if (opened.sizeBytes < (await stat(path)).size) return conversion;
  const warning = { code: 'not_smaller', message: 'The file could not be made smaller: it is returned unchanged.' };
  // The source is returned: nothing was lost.
  const kept = warnings.filter(({ code }) => code !== 'lossy');
  const unchanged = found && { found: { ...found, result: found.source } };
  return { ...conversion, ...unchanged, files: [{ folder: base, name: basename(path), label: '' }], warnings: [...kept, warning] };
}
