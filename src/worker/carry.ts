/** One claimed order from its granted input to its uploaded output. */
import { join } from 'node:path';
import type { Options } from '../catalog/options.ts';
import type { Grant } from '../contracts/grant.ts';
import type { Slot } from '../exec/workspace.ts';
import { finish } from '../jobs/lifecycle.ts';
import type { JobRecord } from '../jobs/record.ts';
import { outputKey } from '../objects/keys.ts';
import { download, upload } from '../objects/transfer.ts';
import { deliver } from './deliver.ts';
import { MAX_OUTPUT_BYTES } from './judge.ts';
import type { Carrying } from './loop.ts';
import { type Performing, perform } from './perform.ts';

/** Room for a ZIP's own bytes around parts that are each within their bound. */
const MAX_DELIVERY_BYTES = MAX_OUTPUT_BYTES + (1 << 24);

export function carrier(parts: Performing): Carrying {
  const { slot } = parts;
  return async (record: JobRecord, grant: Grant, signal, onProgress, onPhase) => {
    const base = await slot.makeFolder('job');
    const place = await slot.makePrivateFolder('delivery');
    try {
      const sources = await fetchSources(slot, base, record, grant.inputs, signal);
      const [source] = sources;
      if (source === undefined) throw new Error('the record names no source');
      onPhase('converting');
      const performed = await perform(parts, {
        base,
        source,
        target: record.target.format,
        // Written by `readOptions` of the same version of the catalog, and read back as JSON.
        options: record.options as Options,
        password: grant.password,
        signal,
        onProgress,
      });
      const delivery = await deliver(place, performed, record.filename, record.target);
      onPhase('uploading');
      const { sizeBytes, sha256 } = await upload(delivery.path, grant.output, MAX_DELIVERY_BYTES, signal);
      const { filename, contentType, files } = delivery;
      const output = { key: outputKey(record.id, record.attempt ?? ''), filename, sizeBytes, contentType, sha256, files };
      return (now, at) => finish(now, at, { output, warnings: [...performed.warnings, ...delivery.warnings], engine: performed.engine });
    } finally {
      await slot.removeFolder(base);
      await slot.removeFolder(place);
    }
  };
}

/** Every source, in a file that we named. */
async function fetchSources(slot: Slot, base: string, { sources }: JobRecord, urls: readonly string[], signal: AbortSignal) {
  const fetched: { readonly format: string; readonly path: string }[] = [];
  for (const [index, { format, sizeBytes }] of sources.entries()) {
    const path = join(base, sources.length === 1 ? `input.${format}` : `input-${String(index).padStart(3, '0')}.${format}`);
    await download(urls[index] ?? '', path, sizeBytes, signal);
    await slot.own(path);
    fetched.push({ format, path });
  }
  return fetched;
}
