/** Conversions in this process: what the API checks of a request, then the steps of a worker. */
import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ReceivedFile } from '../../api/intake/receive.ts';
import { readRequestOptions, validateConversion } from '../../api/submit/conversion.ts';
import { validateTool } from '../../api/submit/tool.ts';
import { findTool } from '../../api/tools/find.ts';
import { HEAD_BYTES, Sampler, TAIL_BYTES } from '../../catalog/looks/sample.ts';
import { toolchains } from '../../contracts/toolchains.ts';
import { encryptionWith } from '../../jobs/encryption.ts';
import { loadJudged } from '../../judge/answer.ts';
import { openJudgeHere } from '../../judge/judge.ts';
import type { Converters } from '../../roles/machine/converters.ts';
import { poolsHere } from '../../roles/machine/here.ts';
import { openDirect } from '../../worker/direct.ts';
import type { DirectSlot, DirectSlots } from '../../worker/direct-slots.ts';
import type { Converter, LocalFile } from './converter.ts';

export interface ConversionsDeps {
  readonly converters: Converters;
  readonly slots: DirectSlots;
  /** One of them, whose programs may be starting. */
  readonly opened: Promise<DirectSlot> | undefined;
}

export function openConversions({ converters, slots, opened }: ConversionsDeps): Converter {
  const judge = openJudgeHere(loadJudged({ engines: true }));
  const direct = openDirect({ ...converters, slots, opened, judge });
  const pools = poolsHere(converters.catalog, Object.fromEntries(toolchains.map((name) => [name, slots.count])), Date.now());
  const encryption = encryptionWith([randomBytes(32).toString('hex')], '');
  const deps = () => ({ catalog: converters.catalog(), expected: undefined, pools: pools(), encryption, judge, clock: Date.now });

  return {
    atOnce: slots.count,
    async convert({ sources, tool, fields }, { signal, onProgress, deliver }) {
      const files = await Promise.all(sources.map(received));
      const id = randomBytes(16).toString('hex');
      const [first] = files;
      if (first === undefined) throw new Error('a job without a file');
      const record =
        tool === undefined
          ? await validateConversion(deps(), id, first, readRequestOptions(fields, 'interactive'))
          : await validateTool(deps(), id, findTool(deps(), tool), { fields, files });
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
    },
  };
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
