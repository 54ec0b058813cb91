/** A REST request as a source: a form, or fields alone that name files by URL or upload id; or the URL of a web page. */
import type { FastifyRequest } from 'fastify';
import type { ApiDeps } from '../deps.ts';
import { jobOfOutput } from '../http/own-outputs.ts';
import { readFields } from '../intake/fields.ts';
import { receivePage } from '../intake/page.ts';
import { FIELD_OF_ONE, type Received, type ReceiveOptions, receive } from '../intake/receive.ts';
import { bringUploads, type FileToFetch, namedIn, withoutField } from '../intake/references.ts';
import { fromOutput, outputOf } from '../jobs/own-output.ts';
import { baseOf } from '../jobs/send.ts';
import { checkCapacity } from './capacity.ts';
import type { Fetches } from './fetches.ts';
import { type Ids, keyOf, type SubmitSource } from './stages.ts';

interface Form extends Omit<ReceiveOptions, 'check' | 'keyOf'> {
  /** Names of fields that may be objects where the body is JSON. */
  readonly structured?: ReadonlySet<string>;
  readonly ids: Ids;
  readonly fetches: Fetches;
  /** Aborted when the client hangs up. */
  readonly gone: AbortSignal;
  /** For a conversion, the form shows which queues could take it before the file is stored. */
  readonly checksCapacity?: boolean;
  /** The request names a web page, whose URL is its file. */
  readonly takesPage?: boolean | undefined;
}

/** What a conversion takes of a form. */
export const conversionForm = ({ service: { settings } }: Pick<ApiDeps, 'service'>) => ({
  fields: FIELD_OF_ONE,
  maxFiles: 1,
  maxBytes: settings.maxFileBytes,
  checksCapacity: true,
});

export function formSource(
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue' | 'service'>,
  request: FastifyRequest,
  form: Form,
): SubmitSource {
  const { checksCapacity = false, takesPage = false, structured, ids, fetches, gone, ...options } = form;
  const wanted: ReceiveOptions = { ...options, keyOf: (part) => keyOf(ids, part) };
  return {
    receive: (isRepeated) =>
      takesPage
        ? receivePage(deps, request, wanted, gone)
        : receiveForm(deps, request, { ...wanted, check: checksCapacity && !isRepeated ? checkCapacity(deps) : undefined }, structured),
    async bring(sent, check) {
      const base = baseOf(request, deps);
      const named = takesPage ? undefined : namedIn(deps, sent, wanted, base);
      if (named === undefined) return sent;
      const fields = withoutField(sent.fields, named.field);
      const count = named.values.length;
      if (count > wanted.maxFiles) return { fields, files: [], count };
      check({ fields, count });
      if (named.kind === 'upload') return { fields, files: await bringUploads(deps, named.values, wanted.keyOf, gone), count };
      const files: FileToFetch[] = [];
      for (const [part, url] of named.values.entries()) {
        const job = jobOfOutput(url, base);
        // A client learns at once that the output it named does not exist.
        if (job !== undefined) await outputOf(deps, job);
        files.push({ part, url, ...(job === undefined ? {} : { read: (part, key, signal) => fromOutput(deps, job, part, key, signal) }) });
      }
      return { fields, count, files, fetches };
    },
  };
}

/** A form, or fields alone, which may name files. @throws Failure as `receive` and `readFields` do; then nothing is stored */
async function receiveForm(
  { files: { objects }, service: { settings } }: Pick<ApiDeps, 'files' | 'service'>,
  { raw }: FastifyRequest,
  wanted: ReceiveOptions,
  structured: ReadonlySet<string> | undefined,
): Promise<Received> {
  const fields = await readFields(raw, settings, structured);
  return fields === undefined
    ? receive(raw, wanted, objects, settings)
    : { fields, files: [], count: 0, contentType: raw.headers['content-type'] };
}
