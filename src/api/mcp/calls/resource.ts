/** Results as resources: the URL of a job's output is read from the store, up to a bound, for clients that cannot download it. */

import { Failure } from '../../../errors.ts';
import { Missing } from '../../../objects/store.ts';
import type { ApiDeps } from '../../deps.ts';
import { jobOfOutput } from '../../http/own-outputs.ts';
import { failureOf, problemOf } from '../../http/problem.ts';
import { findJob } from '../../jobs/found.ts';
import { failureOfJob, humanSize, shown, whenDone } from '../../jobs/view.ts';
import { type ReadResourceResult, type ResourceTemplate, resourceNotFound } from '../protocol/protocol.ts';
import { isTextType } from './result.ts';

/** The largest result that is read as a resource, bytes: in base64 a third more. */
const MOST_BYTES = 1 << 20;

export const resourceTemplates = (base: string): ResourceTemplate[] => [
  {
    uriTemplate: `${base}/api/v1/jobs/{job_id}/output`,
    name: 'output',
    title: 'Result of a job',
    description: `The file that a job has made, up to ${humanSize(MOST_BYTES)}; larger ones are downloaded from the same URL.`,
  },
];

/** @throws an error of the protocol for what is no output, is there no more, or is too large */
export async function readResource(
  deps: Pick<ApiDeps, 'jobs' | 'files'>,
  uri: string,
  base: string,
  request: { readonly id: string; readonly log: Parameters<typeof failureOf>[1]['log'] },
): Promise<ReadResourceResult> {
  try {
    const job = jobOfOutput(uri, base);
    if (job === undefined) throw new Failure('NOT_FOUND', { says: 'Only outputs of jobs of this service are resources.' });
    const record = shown(await findJob(deps, job), deps.jobs.clock());
    if (record.state === 'error') throw failureOfJob(record);
    const { output } = whenDone(record);
    if (output === undefined) throw new Failure('JOB_NOT_READY', { details: { job_id: job } });
    if (output.sizeBytes > MOST_BYTES) {
      const says = `The result has ${humanSize(output.sizeBytes)}, more than ${humanSize(MOST_BYTES)}: download it from its URL.`;
      throw new Failure('FILE_TOO_LARGE', { says, details: { max_bytes: MOST_BYTES, received_bytes: output.sizeBytes } });
    }
    const blocks: Buffer[] = [];
    for await (const block of (await deps.files.objects.get(output.key)) as AsyncIterable<Buffer>) blocks.push(block);
    const bytes = Buffer.concat(blocks);
    const about = { uri, mimeType: output.contentType };
    return {
      contents: [
        isTextType(output.contentType) ? { ...about, text: bytes.toString('utf8') } : { ...about, blob: bytes.toString('base64') },
      ],
    };
  } catch (error) {
    const failure = error instanceof Missing ? new Failure('JOB_EXPIRED', { cause: error }) : failureOf(error, request);
    throw resourceNotFound(failure.message, problemOf(failure, request.id).error);
  }
}
