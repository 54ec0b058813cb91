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
  readonly text: string;
  /** How many there are: form feeds separate them. */
  readonly pages: number;
  /** The text was longer. */
  readonly cut: boolean;
}

export const answersText = ({ tools }: Pick<Catalog, 'tools'>, { tool }: Pick<JobRecord, 'tool'>): boolean =>
  tool !== undefined && tools.get(tool.slug)?.answersText === true;

/** Whether a job shows a text once it is done: in place of its output, or beside it. */
export const hasText = (catalog: Pick<Catalog, 'tools'>, record: Pick<JobRecord, 'tool'>): boolean =>
  answersText(catalog, record) || (record.tool !== undefined && catalog.tools.get(record.tool.slug)?.showsText === true);

/** What one reading of a text finds out without keeping any of it. */
export interface TextMeasure {
  readonly pages: number;
  readonly cut: boolean;
  /** How much of the stored text an answer shows, from its beginning, bytes; the last character may be cut in two. */
  readonly shownBytes: number;
}

/** @throws Failure `JOB_EXPIRED` when the text was deleted after the record was read */
export async function readText(objects: Pick<ObjectStore, 'get'>, output: StoredOutput): Promise<TextAnswer> {
  const kept: Buffer[] = [];
  let size = 0;
  const { pages, cut, shownBytes } = await measureText(objects, output, (chunk) => {
    if (size < MAX_TEXT_BYTES) kept.push(chunk.subarray(0, MAX_TEXT_BYTES - size));
    size += chunk.length;
  });
  // A character that was cut in two is dropped.
  const text = new TextDecoder().decode(Buffer.concat(kept).subarray(0, shownBytes), { stream: true });
  return { text, pages, cut };
}

/** @param take is given the text as it is read @throws Failure `JOB_EXPIRED` when the text was deleted after the record was read */
export async function measureText(
  objects: Pick<ObjectStore, 'get'>,
  { key, sizeBytes }: StoredOutput,
  take: (chunk: Buffer) => void = () => {},
): Promise<TextMeasure> {
  const range = sizeBytes > MAX_COUNTED_BYTES ? { start: 0, end: MAX_COUNTED_BYTES - 1 } : undefined;
  let [size, ended, last] = [0, 0, FORM_FEED];
  try {
    for await (const chunk of (await objects.get(key, range)) as AsyncIterable<Buffer>) {
      take(chunk);
      size += chunk.length;
      for (let at = chunk.indexOf(FORM_FEED); at >= 0; at = chunk.indexOf(FORM_FEED, at + 1)) ended++;
      last = chunk.at(-1) ?? last;
    }
  } catch (error) {
    throw error instanceof Missing ? new Failure('JOB_EXPIRED', { cause: error }) : error;
  }
  const cut = size > MAX_TEXT_BYTES;
  // Every page ends with a form feed, the last one too.
  const whole = last === FORM_FEED ? Math.max(0, size - 1) : size;
  return { pages: Math.max(1, ended + (last === FORM_FEED ? 0 : 1)), cut, shownBytes: cut ? MAX_TEXT_BYTES : whole };
}

/** The shown text in pieces, each no longer than one read of the store: a slow reader keeps no more than that in memory. */
export async function* textInPieces(
  objects: Pick<ObjectStore, 'get'>,
  { key }: StoredOutput,
  { shownBytes }: TextMeasure,
): AsyncGenerator<string> {
  if (shownBytes === 0) return;
  const decoder = new TextDecoder();
  for await (const chunk of (await objects.get(key, { start: 0, end: shownBytes - 1 })) as AsyncIterable<Buffer>)
    yield decoder.decode(chunk, { stream: true });
}
