/** Several targets in one request: each file is converted to each of them, by a separate job with its own copy of the file. */
import { fileTooLarge } from '../../errors.ts';
import { type ObjectStore, TooLarge } from '../../objects/store.ts';
import type { ApiDeps } from '../deps.ts';
import { removeAfterFailure } from '../intake/inputs.ts';
import type { Received, ReceivedFile } from '../intake/receive.ts';
import { type FilePart, type Ids, keyOf, type SubmitSource } from './stages.ts';

/** More names than any batch may have jobs: the others are cut off, and the request is refused for their number. */
const MOST_TARGETS = 100;

/** @param sent `png,webp`, or a line for each field of that name @returns each once; one empty name where nothing was sent */
export function targetsIn(sent: string | undefined): readonly string[] {
  const names = (sent ?? '').slice(0, 16 * MOST_TARGETS).split(/[,\n]/, MOST_TARGETS);
  const given = [...new Set(names.map((name) => name.trim().toLowerCase()))].filter((name) => name !== '');
  return given.length === 0 ? [''] : given;
}

/** The source, whose files come once for each target: those of the first file are first. */
export function forEachTarget(deps: Pick<ApiDeps, 'files' | 'service'>, ids: Ids, source: SubmitSource): SubmitSource {
  return {
    receive: source.receive,
    async bring(sent, check) {
      const brought = await source.bring(sent, check);
      const times = targetsIn(brought.fields.get('to_format')).length;
      if (times === 1 || brought.files.length === 0) return brought;
      // Before anything is copied.
      check(brought);
      if (!('fetches' in brought)) return { ...brought, files: await copied(deps, ids, brought.files, times) };
      const files = repeated(brought.files, times).map(({ file, part }) => ({ ...file, part }));
      return { ...brought, files };
    },
  };
}

/** @returns each file with the parts that its copies get: its own first, then parts that no file has */
function repeated<F extends FilePart>(files: readonly F[], times: number): { readonly file: F; readonly part: number }[] {
  let next = Math.max(...files.map(({ part }) => part)) + 1;
  return files.flatMap((file) => Array.from({ length: times }, (_, at) => ({ file, part: at === 0 ? file.part : next++ })));
}

/** @throws Failure; then no copy is left */
async function copied(
  { files: { objects }, service: { settings } }: Pick<ApiDeps, 'files' | 'service'>,
  ids: Ids,
  received: Received['files'],
  times: number,
): Promise<readonly ReceivedFile[]> {
  const all = repeated(received, times);
  const copies = all.filter(({ file, part }) => part !== file.part);
  try {
    for (const { file, part } of copies) await copy(objects, keyOf(ids, file.part), keyOf(ids, part), settings.maxFileBytes);
  } catch (error) {
    await removeAfterFailure(
      objects,
      copies.map(({ part }) => keyOf(ids, part)),
    );
    throw error instanceof TooLarge ? fileTooLarge(settings.maxFileBytes, error.receivedBytes) : error;
  }
  return all.map(({ file, part }) => ({ ...file, part }));
}

async function copy(objects: ObjectStore, from: string, to: string, maxBytes: number): Promise<void> {
  const content = await objects.get(from);
  try {
    await objects.put(to, content, maxBytes);
  } finally {
    content.destroy();
  }
}

/** @returns the same request for one target */
export const withTarget = (fields: ReadonlyMap<string, string>, target: string): ReadonlyMap<string, string> =>
  target === '' ? fields : new Map([...fields, ['to_format', target]]);
