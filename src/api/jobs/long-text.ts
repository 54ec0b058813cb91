/** A job whose text is long, as a stream: if the client does not read the answer, no more than one piece is in memory. */
import { Readable } from 'node:stream';
import type { JobRecord, StoredOutput } from '../../jobs/record.ts';
import type { ObjectStore } from '../../objects/store.ts';
import type { ApiDeps } from '../deps.ts';
import { hasText, measureText, type TextMeasure, textInPieces } from './text.ts';
import { viewWithText } from './view.ts';

/** Shorter ones are answered whole, bytes. */
const LONG_BYTES = 64 * 1024;

/** @returns undefined where the job has no text, or a short one @throws Failure `JOB_EXPIRED` when the text was deleted after the record was read */
export async function longTextOf(
  { catalogue: { current: catalog }, files: { objects, suffix } }: Pick<ApiDeps, 'catalogue' | 'files'>,
  base: string,
  record: JobRecord,
): Promise<Readable | undefined> {
  const { output } = record;
  if (output === undefined || output.sizeBytes <= LONG_BYTES || !hasText(catalog, record)) return undefined;
  const measured = await measureText(objects, output);
  const view = viewWithText(catalog, record, { base, suffix }, { ...measured, text: '' });
  return Readable.from(envelope(objects, output, measured, view));
}

/** The JSON of the job, the text at its end. */
async function* envelope(objects: ObjectStore, output: StoredOutput, measured: TextMeasure, view: object): AsyncGenerator<string> {
  yield `${JSON.stringify({ data: { ...view, text: undefined } }).slice(0, -'}}'.length)},"text":"`;
  for await (const piece of textInPieces(objects, output, measured)) yield JSON.stringify(piece).slice(1, -1);
  yield '"}}';
}
