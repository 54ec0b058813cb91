/** All results of a batch in one ZIP, streamed from the object store. */
import { Readable } from 'node:stream';
import type { JobRecord, StoredOutput } from '../../jobs/record.ts';
import type { ObjectStore } from '../../objects/store.ts';
import { zipStream } from '../../objects/zip.ts';
import { errorOf } from './view.ts';

/** @param records that may be shown @returns undefined where no job has an output */
export function packBatch(objects: ObjectStore, records: readonly JobRecord[]): Readable | undefined {
  const outputs = records.flatMap(({ output }) => (output === undefined ? [] : [output]));
  if (outputs.length === 0) return undefined;
  const names = numbered(outputs.map(({ filename }) => filename));
  const files = outputs.map((output, index) => ({
    name: names[index] ?? output.filename,
    open: () => objects.get(output.key),
    compress: isText(output),
  }));
  const failed = records.flatMap((record) => {
    const error = errorOf(record);
    return error === undefined ? [] : [{ filename: record.filename, job_id: record.id, code: error.code, message: error.message }];
  });
  const report = { name: 'errors.json', open: async () => Readable.from([JSON.stringify(failed, null, 2)]), compress: true };
  return zipStream(failed.length === 0 ? files : [...files, report]);
}

/** Formats that are compressed already. */
const isText = ({ contentType }: StoredOutput): boolean => /^text\/|[+/](json|xml)/.test(contentType);

/** `a.png`, `a.png` become `a.png`, `a-2.png`; compared without case, as some file systems do. */
export function numbered(names: readonly string[]): string[] {
  const taken = new Set(['errors.json']);
  return names.map((name) => {
    const [, base = name, extension = ''] = /^(.*?)(\.[^.]*)?$/s.exec(name) ?? [];
    let free = name;
    for (let number = 2; taken.has(free.normalize('NFKC').toLowerCase()); number++) free = `${base}-${number}${extension}`;
    taken.add(free.normalize('NFKC').toLowerCase());
    return free;
  });
}
