/** Converts in this process: the same catalog, detection, engines and confinement as a service on this machine, without its store. */
import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, mkdtemp, open } from 'node:fs/promises';
import { availableParallelism, homedir } from 'node:os';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ReceivedFile } from '../../api/intake/receive.ts';
import { readRequestOptions, validateConversion } from '../../api/submit/conversion.ts';
import { validateTool } from '../../api/submit/tool.ts';
import { findTool } from '../../api/tools/find.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { HEAD_BYTES, Sampler, TAIL_BYTES } from '../../catalog/looks/sample.ts';
import { toolchains } from '../../contracts/toolchains.ts';
import { removeTree } from '../../exec/files/remove.ts';
import { encryptionWith } from '../../jobs/encryption.ts';
import { loadJudged } from '../../judge/answer.ts';
import { openJudgeHere } from '../../judge/judge.ts';
import { openConverters } from '../../roles/machine/converters.ts';
import { poolsHere } from '../../roles/machine/here.ts';
import type { Log } from '../../telemetry/log.ts';
import { openDirect } from '../../worker/direct.ts';
import { workerSettings } from '../../worker/settings.ts';
import type { Converter, LikelyWork, LocalFile } from './converter.ts';

/** Where conversions run: a disk, as /tmp may be memory. */
const WORK = process.env['TMPDIR'] ?? '/var/tmp';
/** What is kept between starts: the versions of the converters, and what they run of ours where they cannot read the checkout. */
const KEPT =
  process.getuid?.() === 0 ? '/var/cache/filemill' : join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'filemill');

export interface Here extends Converter {
  readonly catalog: Catalog;
}

/** @param jobs at a time; unset: as many as cores @param likely its converter is started while the file is looked at @throws CannotStart · ConfigError */
export async function openHere(checkout: string, jobs = availableParallelism(), likely?: LikelyWork): Promise<Here> {
  const log = await logOf(process.env['LOG_LEVEL']);
  const { worker } = await settings();
  const workDir = await mkdtemp(join(WORK, 'filemill-'));
  // Converters run as other users where this one is root.
  await chmod(workDir, 0o711);
  const metrics = { spawnFailed() {}, enginesWithdrawn() {}, modelsFound() {} };
  const config = { dataDir: KEPT, worker: { ...worker, dir: workDir }, fetch: OFFLINE, runtimeDir: KEPT };
  const converters = await openConverters(config, checkout, log, metrics).catch(async (error: unknown) => {
    await removeTree(workDir);
    throw error;
  });
  const judge = openJudgeHere(loadJudged({ engines: true }));
  const direct = openDirect({ ...converters, settings: worker, judge, slots: jobs });
  const route = likely === undefined ? undefined : converters.catalog().route(likely.source, likely.target);
  const first = route?.hops[0]?.engine;
  // If the start fails, the conversion tries it again and reports why.
  if (route !== undefined && first !== undefined) void direct.prepare(first, route.toolchain).catch(() => {});
  const pools = poolsHere(converters.catalog, Object.fromEntries(toolchains.map((name) => [name, jobs])), Date.now());
  const encryption = encryptionWith([randomBytes(32).toString('hex')], '');
  const deps = () => ({ catalog: converters.catalog(), expected: undefined, pools: pools(), encryption, judge, clock: Date.now });

  return {
    atOnce: jobs,
    get catalog() {
      return converters.catalog();
    },
    async convert({ sources, tool, fields }, { signal, onProgress, deliver }) {
      const files = await Promise.all(sources.map(received));
      const id = randomBytes(16).toString('hex');
      const [first] = files;
      if (first === undefined) throw new Error('a job without a file');
      const record =
        tool === undefined
          ? await validateConversion(deps(), id, first, readRequestOptions(fields, 'interactive'))
          : await validateTool(deps(), id, findTool(deps(), tool), { fields, files, count: files.length } as Parameters<
              typeof validateTool
            >[3]);
      const password = record.sealed === undefined ? undefined : encryption.decrypt(record.sealed, id);
      const job = { record, paths: sources.map(({ path }) => path), password, signal, onProgress };
      return direct.run(job, async ({ delivery, warnings, engine }) => {
        // Written, not copied as a file: a copy would belong to the slot's user.
        const fill = (path: string) => pipeline(createReadStream(delivery.path), createWriteStream(path, { flags: 'wx' }));
        return { output: await deliver({ filename: delivery.filename, fill }), warnings, engine };
      });
    },
    async close() {
      await direct.close();
      await judge.close();
      await removeTree(workDir);
    },
  };
}

/** A converter has no way to the Internet here. */
const OFFLINE = { rest: false } as Parameters<typeof openConverters>[0]['fetch'];

/** A configuration file counts here too, as for a service: it may say how long and how large a conversion may be. */
async function settings() {
  if (process.env['CONFIG_FILE'] === undefined) return { worker: workerSettings(availableParallelism()).parse({}) };
  const { loadConfig } = await import('../../config.ts');
  return loadConfig(process.env);
}

/** What the API learns of a file while it receives it. */
async function received({ path, name }: LocalFile, part: number): Promise<ReceivedFile> {
  const sampler = new Sampler();
  const { size } = await sampleInto(sampler, path);
  return { part, filename: basename(name), sizeBytes: size, sha256: '', sample: { ...sampler.sample(), size } };
}

/** Only the beginning and the end are read: what lies between is of no interest to the sample. */
async function sampleInto(sampler: Sampler, path: string): Promise<{ readonly size: number }> {
  const handle = await open(path);
  try {
    const { size } = await handle.stat();
    const end = Math.min(size, HEAD_BYTES);
    const tail = Math.max(end, size - TAIL_BYTES);
    for (const [start, stop] of [
      [0, end],
      [tail, size],
    ] as const)
      if (stop > start)
        for await (const chunk of createReadStream('', { fd: handle.fd, start, end: stop - 1, autoClose: false }))
          sampler.push(chunk as Buffer);
    return { size };
  } finally {
    await handle.close();
  }
}

/** What a service would log is of no interest at a command line, unless LOG_LEVEL is set. */
async function logOf(level: string | undefined): Promise<Log> {
  if (level === undefined) return SILENT as unknown as Log;
  const [{ createLog }, { plainOn }] = await Promise.all([import('../../telemetry/log.ts'), import('../../telemetry/plain.ts')]);
  return createLog(level, plainOn(process.stderr));
}
const silent = () => undefined;
const SILENT = { trace: silent, debug: silent, info: silent, warn: silent, error: silent, fatal: silent };
