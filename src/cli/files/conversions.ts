/** Conversions in this process: what the API checks of a request, then the steps of a worker. */
import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ReceivedFile } from '../../api/intake/receive.ts';
import { recordOfRecipe } from '../../api/recipes/work.ts';
import { readRequestOptions, type ValidationDeps, validateConversion } from '../../api/submit/conversion.ts';
import { validateTool } from '../../api/submit/tool.ts';
import { findTool } from '../../api/tools/find.ts';
import type { Facts } from '../../catalog/engine.ts';
import { shortReceipt } from '../../catalog/fidelity/words.ts';
import { HEAD_BYTES, Sampler, TAIL_BYTES } from '../../catalog/looks/sample.ts';
import { type OptionName, optionNames } from '../../catalog/options/options.ts';
import { ignoredOptions } from '../../catalog/route.ts';
import { toolNamed } from '../../catalog/tools.ts';
import { toolchains } from '../../contracts/toolchains.ts';
import { encryptionWith } from '../../jobs/encryption.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { loadJudged } from '../../judge/answer.ts';
import { openJudgeHere } from '../../judge/judge.ts';
import type { Converters } from '../../roles/machine/converters.ts';
import { poolsHere } from '../../roles/machine/here.ts';
import { openDirect } from '../../worker/direct.ts';
import type { DirectSlot, DirectSlots } from '../../worker/direct-slots.ts';
import type { Converter, Explained, FilesJob, LocalFile } from './converter.ts';
import { inspectFile } from './inspect.ts';

export interface ConversionsDeps {
  readonly converters: Converters;
  readonly slots: DirectSlots;
  /** A slot that is being opened, and whose programs may be starting already. */
  readonly opened: Promise<DirectSlot> | undefined;
}

export interface Conversions extends Converter {
  /** What a file is; the facts are those that an engine's program reads. @throws Failure */
  inspect(file: {
    readonly path: string | Buffer;
    readonly name: string;
  }): Promise<{ readonly format: string; readonly sizeBytes: number; readonly facts: Facts }>;
}

export function openConversions({ converters, slots, opened }: ConversionsDeps): Conversions {
  const judge = openJudgeHere(loadJudged({ engines: true }));
  const direct = openDirect({ ...converters, slots, opened, judge });
  const pools = poolsHere(converters.catalog, Object.fromEntries(toolchains.map((name) => [name, slots.count])), Date.now());
  const encryption = encryptionWith([randomBytes(32).toString('hex')], '');
  const deps = (): ValidationDeps => ({
    jobs: { encryption, clock: Date.now },
    files: { judge },
    catalogue: { current: converters.catalog(), pools: pools() },
  });

  const recordOf = async ({ sources, tool, recipe, fields }: FilesJob): Promise<JobRecord> => {
    const files = await Promise.all(sources.map(received));
    const id = randomBytes(16).toString('hex');
    const [first] = files;
    if (first === undefined) throw new Error('a job without a file');
    if (recipe !== undefined) return recordOfRecipe(deps(), id, recipe, files);
    return tool === undefined
      ? validateConversion(deps(), id, first, readRequestOptions(fields, 'interactive'))
      : validateTool(deps(), id, findTool(deps(), tool), { fields, files });
  };
  let looking: Promise<DirectSlot> | undefined;

  return {
    atOnce: slots.count,
    async explain(job): Promise<Explained> {
      const record = await recordOf(job);
      const catalog = converters.catalog();
      const formats = record.sources.map(({ format }) => format);
      const work = toolNamed(job.tool)?.work;
      const about = { sources: formats, target: record.target.extension };
      if (work !== undefined && 'methods' in work) {
        const engine = catalog.method(work, record.tool?.input)?.engine;
        const engines = engine === undefined ? [] : [{ name: engine.name, version: catalog.version(engine.id) }];
        return { ...about, engines, warnings: record.warnings };
      }
      const given = Object.keys(record.options).filter((name): name is OptionName => (optionNames as readonly string[]).includes(name));
      const route = catalog.route(formats[0] ?? '', record.target.format, given);
      const hops = route?.hops ?? [];
      const loses = [...new Set(hops.flatMap((hop) => hop.loses))];
      const ignored = route === undefined || work !== undefined ? [] : ignoredOptions(route, given);
      return {
        ...about,
        engines: hops.map(({ engine: { id, name } }) => ({ name, version: catalog.version(id) })),
        warnings: [
          ...record.warnings,
          ...ignored.map((name) => ({ code: 'option_ignored', message: `The option ${name} has no effect on this conversion.` })),
          ...(loses.length === 0
            ? []
            : [{ code: 'lossy', message: `This conversion from ${formats[0]} does not keep: ${loses.join(', ')}.` }]),
        ],
      };
    },
    async inspect(file) {
      const { sample, sizeBytes, filename } = await received(file);
      const format = await judge.sourceOf(sample, filename);
      looking ??= slots.open();
      const never = new AbortController().signal;
      const deps = { catalog: converters.catalog(), slots, toolbox: converters.toolbox, judge };
      return { format, sizeBytes, facts: await inspectFile(deps, await looking, file.path, format, never) };
    },
    async convert(asked, { signal, onProgress, deliver }) {
      const { sources } = asked;
      const record = await recordOf(asked);
      const password = record.sealed === undefined ? undefined : encryption.decrypt(record.sealed, record.id);
      const job = { record, paths: sources.map(({ path }) => path), password, signal, onProgress };
      if (record.recipe !== undefined)
        return direct.runRecipe(job, async (results, { warnings, engine }) => {
          const outputs: string[] = [];
          for (const { path: from, filename } of results)
            outputs.push(
              await deliver({ filename, fill: (path) => pipeline(createReadStream(from), createWriteStream(path, { flags: 'wx' })) }),
            );
          return { output: outputs.join(', '), warnings, engine, fidelity: undefined };
        });
      return direct.run(job, async ({ delivery, warnings, engine, fidelity }) => {
        // Written, not copied as a file: a copy would belong to the slot's user.
        const fill = (path: string | Buffer) => pipeline(createReadStream(delivery.path), createWriteStream(path, { flags: 'wx' }));
        const output = await deliver({ filename: delivery.filename, fill });
        return { output, warnings, engine, fidelity: fidelity && shortReceipt(fidelity) };
      });
    },
    async close() {
      await direct.close();
      const looked = await looking;
      await looked?.residents.close();
      await looked?.slot.settled();
      await judge.close();
    },
  };
}

/** What a file is, by its content. @param from what its user says it is @throws Failure `UNSUPPORTED_MIME`, `NO_FILE` */
export async function formatOfFile(file: LocalFile, from: string | undefined): Promise<string> {
  const judge = openJudgeHere(loadJudged({ engines: false }));
  const { sample, filename } = await received(file);
  return judge.sourceOf(sample, filename, from);
}

/** What the API learns of a file while it receives it. */
async function received({ path, name }: { readonly path: string | Buffer } & Pick<LocalFile, 'name'>, part = 0): Promise<ReceivedFile> {
  const sampler = new Sampler();
  const { size } = await sampleInto(sampler, path);
  return { part, filename: basename(name), sizeBytes: size, sha256: '', sample: { ...sampler.sample(), size } };
}

/** Only the beginning and the end are read: what lies between is of no interest to the sample. */
async function sampleInto(sampler: Sampler, path: string | Buffer): Promise<{ readonly size: number }> {
  const handle = await open(path);
  try {
    const { size } = await handle.stat();
    const end = Math.min(size, HEAD_BYTES);
    const tail = Math.max(end, size - TAIL_BYTES);
    for (const [start, stop] of [
      [0, end],
      [tail, size],
    ] as const)
      for (let at = start; at < stop; ) {
        const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(stop - at), 0, stop - at, at);
        // It has become shorter meanwhile.
        if (bytesRead === 0) break;
        sampler.push(buffer.subarray(0, bytesRead));
        at += bytesRead;
      }
    return { size };
  } finally {
    await handle.close();
  }
}
