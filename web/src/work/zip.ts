/** All results in one ZIP, each fetched when the one before is written: memory holds none of them whole. */
import { bytesOf, type Result } from './result.ts';
import { openSink, type SaveOutcome } from './sink.ts';

/** Names that differ on every disk: many ignore case. */
function namer(): (name: string) => string {
  const taken = new Set<string>();
  return (name) => {
    const [, stem = name, extension = ''] = /^(.+?)(\.[^.]*)?$/s.exec(name) ?? [];
    let free = name;
    for (let again = 2; taken.has(free.normalize().toLowerCase()); again++) free = `${stem}-${again}${extension}`;
    taken.add(free.normalize().toLowerCase());
    return free;
  };
}

/** Often enough for a person, ms. */
const TOLD_EVERY = 100;

export interface Packed {
  /** Those that are written whole. */
  readonly results: number;
  readonly bytes: number;
}

/**
 * @param told how much is packed @returns undefined where there is no ZIP: the visitor closed the dialog
 * @throws Refusal `RESULT_GONE` with the result's `name`, `ZIP_TOO_LARGE` @throws DOMException `AbortError`, `QuotaExceededError`
 */
export async function saveAll(
  results: readonly Result[],
  told: (packed: Packed) => void,
  cancel: AbortSignal,
): Promise<SaveOutcome | undefined> {
  const sink = await openSink('filemill.zip', bytesIn(results));
  if (sink === undefined) return undefined;
  try {
    const { makeZip } = await import('client-zip');
    await makeZip(files()).pipeTo(sink.stream, { signal: cancel });
    return await sink.finish();
  } catch (error) {
    // As soon as the stream is closed: an import that failed has not begun it.
    await sink.stream.abort(error).catch(() => {});
    await sink.drop().catch(() => {});
    throw error;
  }

  async function* files() {
    const nameOf = namer();
    let [bytes, toldAt] = [0, 0];
    const counted = async function* (result: Result, place: number) {
      for await (const piece of bytesOf(result, cancel)) {
        yield piece;
        bytes += piece.byteLength;
        if (Date.now() - toldAt < TOLD_EVERY) continue;
        toldAt = Date.now();
        told({ results: place, bytes });
      }
      told({ results: place + 1, bytes });
    };
    for (const [place, result] of results.entries())
      yield { name: nameOf(result.name), lastModified: result.created, input: counted(result, place) };
  }
}

export const bytesIn = (results: readonly Result[]): number => results.reduce((sum, { bytes }) => sum + bytes, 0);
