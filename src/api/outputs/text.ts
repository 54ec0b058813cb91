/** The text that some tools answer with: read from the stored output each time the job is shown, up to a limit. */
import type { Catalog } from '../../catalog/catalog.ts';
import { Failure } from '../../errors.ts';
import type { JobRecord, StoredOutput } from '../../jobs/record.ts';
import { Missing, type ObjectStore } from '../../objects/store.ts';

/** The most text in an answer, bytes of UTF-8. */
export const MAX_TEXT_BYTES = 1 << 20;
/** Pages are counted up to here, bytes: ten times the text of the longest document that is read at all. */
const MAX_COUNTED_BYTES = 1 << 24;
const FORM_FEED = 0x0c;

export interface TextAnswer {
  /** Number of pages, separated by form feeds. */
  readonly text: string;
  readonly pages: number;
  /** The text was longer. */
  readonly cut: boolean;
}

export const answersText = ({ tools }: Pick<Catalog, 'tools'>, { tool }: Pick<JobRecord, 'tool'>): boolean =>
  tool !== undefined && tools.get(tool.slug)?.answersText === true;

/** @throws Failure `JOB_EXPIRED` when the text was deleted after the record was read */
export async function readText(objects: Pick<ObjectStore, 'get'>, { key, sizeBytes }: StoredOutput): Promise<TextAnswer> {
  const range = sizeBytes > MAX_COUNTED_BYTES ? { start: 0, end: MAX_COUNTED_BYTES - 1 } : undefined;
  const kept: Buffer[] = [];
  let [size, ended, last] = [0, 0, FORM_FEED];
  try {
    for await (const chunk of (await objects.get(key, range)) as AsyncIterable<Buffer>) {
      if (size < MAX_TEXT_BYTES) kept.push(chunk.subarray(0, MAX_TEXT_BYTES - size));
      size += chunk.length;
      for (let at = chunk.indexOf(FORM_FEED); at >= 0; at = chunk.indexOf(FORM_FEED, at + 1)) ended++;
      last = chunk.at(-1) ?? last;
    }
  } catch (error) {
    throw error instanceof Missing ? new Failure('JOB_EXPIRED', { cause: error }) : error;
  }
  // Every page ends with a form feed, the last one too. A character that was cut in two is dropped.
  const bytes = Buffer.concat(kept);
  const whole = bytes.at(-1) === FORM_FEED && size <= MAX_TEXT_BYTES ? bytes.subarray(0, -1) : bytes;
  const text = new TextDecoder().decode(whole, { stream: true });
  return { text, pages: Math.max(1, ended + (last === FORM_FEED ? 0 : 1)), cut: size > MAX_TEXT_BYTES };
}
