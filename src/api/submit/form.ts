/** A REST request as a source: a form, or fields alone that name files by URL or upload id; or the URL of a web page. */
import type { FastifyRequest } from 'fastify';
import type { ApiDeps } from '../deps.ts';
import { jobOfOutput } from '../http/own-outputs.ts';
import { prefersAsync } from '../http/preferences.ts';
import { readFields } from '../intake/fields.ts';
import { receivePage } from '../intake/page.ts';
import { type Received, type ReceiveOptions, receive } from '../intake/receive.ts';
import { bringUploads, type FileToFetch, namedIn, withoutField } from '../intake/references.ts';
import { fromOutput, outputOf } from '../jobs/own-output.ts';
import { baseOf } from '../jobs/send.ts';
import { checkCapacity } from './capacity.ts';
import type { Fetches } from './fetches.ts';
import type { SubmitSource, ToFetch } from './stages.ts';

interface Form extends Omit<ReceiveOptions, 'check'> {
  /** For a conversion, the form shows which queues could take it before the file is stored. */
  readonly checksCapacity?: boolean;
  /** The request names a web page, whose URL is its file. */
  readonly takesPage?: boolean | undefined;
}

export function formSource(deps: ApiDeps, request: FastifyRequest, fetches: Fetches, form: Form): SubmitSource {
  const { checksCapacity = false, takesPage = false, ...wanted } = form;
  const beforeAnswer: ToFetch['beforeAnswer'] = (work, left) => beforeAnswerTo(deps, request, work, left);
  return {
    receive: (isRepeated) =>
      takesPage
        ? receivePage(deps, request, wanted)
        : receiveForm(deps, request, { ...wanted, check: checksCapacity && !isRepeated ? checkCapacity(deps) : undefined }),
    async bring(sent, check) {
      const base = baseOf(request, deps);
      const named = takesPage ? undefined : namedIn(deps, sent, wanted, base);
      if (named === undefined) return sent;
      const fields = withoutField(sent.fields, named.field);
      const count = named.values.length;
      if (count > wanted.maxFiles) return { fields, files: [], count };
      check({ fields, count });
      if (named.kind === 'upload') return { fields, files: await bringUploads(deps, request, named.values, wanted.keyOf), count };
      const files: FileToFetch[] = [];
      for (const [part, url] of named.values.entries()) {
        const job = jobOfOutput(url, base);
        // A client reads at once that it named an output which is not there.
        if (job !== undefined) await outputOf(deps, job);
        files.push({ part, url, ...(job === undefined ? {} : { read: (part, key, signal) => fromOutput(deps, job, part, key, signal) }) });
      }
      return { fields, count, files, fetches, beforeAnswer };
    },
  };
}

/** A form, or fields alone, which may name files. @throws Failure as `receive` and `readFields` do; then nothing is stored */
async function receiveForm({ objects, settings }: ApiDeps, { raw }: FastifyRequest, wanted: ReceiveOptions): Promise<Received> {
  const fields = await readFields(raw, settings);
  return fields === undefined
    ? receive(raw, wanted, objects, settings)
    : { fields, files: [], count: 0, contentType: raw.headers['content-type'] };
}

/** @returns what the work returns; undefined where the client is to be answered before */
async function beforeAnswerTo<T>(
  { settings }: Pick<ApiDeps, 'settings'>,
  request: FastifyRequest,
  work: Promise<T>,
  left: () => void,
): Promise<T | undefined> {
  // What goes on with it handles its failure.
  work.catch(() => undefined);
  if (prefersAsync(request)) return undefined;
  const { socket } = request.raw;
  const over = Promise.withResolvers<undefined>();
  const timer = setTimeout(over.resolve, settings.syncWaitMs, undefined);
  if (socket.destroyed) left();
  socket.once('close', left);
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    clearTimeout(timer);
    socket.off('close', left);
  }
}
