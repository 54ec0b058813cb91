/** Converts on a server, over REST: uploads that resume, waits as told, and nothing left there. */
import { stat } from 'node:fs/promises';
import { restClient } from '../../bridge/client.ts';
import type { Server } from '../../bridge/server.ts';
import { toolNamed } from '../../catalog/tools.ts';
import { CannotStart } from '../../roles/process/cannot-start.ts';
import type { Converter } from './converter.ts';

/** More would only wait for each other: a client's unfinished jobs are limited. */
const AT_ONCE = 4;
const MOST_AT_ONCE = 16;
/** Share of a job's progress that its upload counts for. */
const UPLOADED = 0.5;

/** @throws CannotStart if it cannot be reached, or does not answer as a server does */
export async function openThere(server: Server, jobs = AT_ONCE): Promise<Converter> {
  const client = restClient(server);
  await client.check(AbortSignal.timeout(20_000)).catch((cause: Error) => {
    throw new CannotStart(cause.message.replace(/\.$/, ''), { cause });
  });
  return {
    // A client may have twenty uploads: of more, each would wait until the oldest expires.
    atOnce: Math.min(jobs, MOST_AT_ONCE),
    async convert({ sources, tool, recipe, fields }, { signal, onProgress, onWait, deliver }) {
      const context = { signal, onWait };
      const uploads: string[] = [];
      let job: string | undefined;
      try {
        for (const [index, { path, name }] of sources.entries()) {
          const { size } = await stat(path);
          const onUpload = (fraction: number) => onProgress(((index + fraction) / sources.length) * UPLOADED);
          uploads.push(await client.upload(path, name, size, context, onUpload));
        }
        const takesSeveral = recipe !== undefined || (toolNamed(tool)?.files.max ?? 1) > 1;
        const reference = takesSeveral ? { upload_ids: uploads } : { upload_id: uploads[0] };
        const route = recipe !== undefined ? 'recipes/run' : tool === undefined ? 'convert' : `tools/${tool}`;
        job = await client.submit(route, { ...Object.fromEntries(fields), ...(recipe !== undefined && { recipe }), ...reference }, context);
        const finished = await client.follow(job, context, (fraction) => onProgress(UPLOADED + fraction * (1 - UPLOADED)));
        const { outputs = [] } = finished;
        const written: string[] = [];
        for (const output of outputs)
          written.push(
            await deliver({
              filename: output.filename,
              fill: (path) => client.download({ ...finished, output }, path, context, output.name),
            }),
          );
        if (recipe !== undefined)
          return { output: written.join(', '), warnings: [...finished.warnings], engine: finished.engine, fidelity: undefined };
        const filename = finished.output?.filename ?? 'text.txt';
        const output = await deliver({ filename, fill: (path) => client.download(finished, path, context) });
        return { output, warnings: [...finished.warnings], engine: finished.engine, fidelity: finished.fidelity };
      } finally {
        // The job has its own copies; and a job that was stopped goes on for no client.
        await Promise.all(uploads.map((id) => client.forget('uploads', id)));
        if (job !== undefined) await client.forget('jobs', job);
      }
    },
    async explain({ sources, tool, fields }, signal) {
      const { explainThere } = await import('./explain-there.ts');
      return explainThere(server, { sources, tool, fields }, signal);
    },
    close: async () => {},
  };
}
