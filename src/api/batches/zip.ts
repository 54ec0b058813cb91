/** All results of a batch in one ZIP, streamed from the object store. */
import { Readable } from 'node:stream';
import { distinctNames, numberedNames } from '../../catalog/names.ts';
import type { JobRecord, StoredOutput } from '../../jobs/record.ts';
import type { ObjectStore } from '../../objects/store.ts';
import { zipStream } from '../../objects/zip.ts';
import { errorOf } from '../jobs/refused.ts';

/** @param records that may be shown @returns undefined where no job has an output */
export function packBatch(objects: ObjectStore, records: readonly JobRecord[]): Readable | undefined {
  const outputs = records.flatMap(({ output }) => (output === undefined ? [] : [output]));
  if (outputs.length === 0) return undefined;
  const names = numbered(outputs.map(({ filename }) => filename));
  const files = outputs.map((output, index) => ({
    name: names[index] ?? output.filename,
    open: () => objects.get(output.key),
    compress: isSmallText(output),
  }));
  const failed = records.flatMap((record) => {
    const error = errorOf(record);
    return error === undefined ? [] : [{ filename: record.filename, job_id: record.id, code: error.code, message: error.message }];
  });
  const report = { name: 'errors.json', open: async () => Readable.from([JSON.stringify(failed, null, 2)]), compress: true };
  return zipStream(failed.length === 0 ? files : [...files, report]);
}

/** Each request packs again: to compress a larger file would cost far more than to ask for it. */
const MOST_COMPRESSED_BYTES = 1 << 20;
/** Other formats are compressed already. */
const isSmallText = ({ contentType, sizeBytes }: StoredOutput): boolean =>
  sizeBytes <= MOST_COMPRESSED_BYTES && /^text\/|[+/](json|xml)/.test(contentType);

/** `a.png`, `a.png` become `a.png`, `a-2.png`. */
export function numbered(names: readonly string[]): string[] {
  const take = distinctNames(['errors.json']);
  return names.map((name) => {
    const [, base = name, extension = ''] = /^(.*?)(\.[^.]*)?$/s.exec(name) ?? [];
    return take(candidates(name, base, extension));
  });
}

function* candidates(name: string, base: string, extension: string): Generator<string> {
  yield name;
  yield* numberedNames(base, extension);
}
