/** Asks the API over NATS: any replica answers. */
import {
  CREDENTIALS_VERSION,
  PLAIN_VERSION,
  type S3Bucket,
  SUBMISSION_VERSION,
  SubmissionAnswer,
  type SubmissionQuestion,
  submissionSubjects,
  WEBHOOK_VERSION,
} from '../../contracts/messages/submission.ts';
import { Failure } from '../../errors.ts';
import type { Nats } from '../../nats/connection.ts';
import { question } from '../../nats/requests.ts';
import type { Ask, More } from './ask.ts';
import type { ConversionJobObject } from './resource.ts';

export const askOver =
  (nats: Nats): Ask =>
  async (kind, job, more = {}) => {
    try {
      // No retries: a request that waits here delays those for other resources.
      const text = await question(nats, submissionSubjects[kind], JSON.stringify(questionOf(kind, job, more)), 0);
      return SubmissionAnswer.parse(JSON.parse(text));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const { code, retryable, retryAfter } = error;
      const message = 'The API cannot be reached: the controller tries again.';
      return {
        error: { code, message, details: { request_id: '', retryable } },
        ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
      };
    }
  };

function questionOf(kind: SubmissionQuestion, { metadata: { uid, namespace }, spec }: ConversionJobObject, more: More): object {
  const { source, toFormat, tool, steps, outputs, options, filename, output, webhook, destination } = spec;
  const which = { version: PLAIN_VERSION, uid, namespace };
  if (kind === 'upload') {
    const { key, prefix } = output?.s3 ?? {};
    return { ...which, ...more, version: CREDENTIALS_VERSION, to: { ...bucketOf(output?.s3), key, prefix } };
  }
  if (kind !== 'convert') return which;
  const asked = { ...which, toFormat, tool, recipe: steps && recipeOf(steps, outputs), options, filename };
  // A replica without webhooks would send none, and one without destinations would store nothing.
  const message = {
    ...(webhook && { version: WEBHOOK_VERSION, webhook: { url: webhook.url } }),
    ...(destination && { version: SUBMISSION_VERSION }),
  };
  if (source.s3 === undefined && more.encrypted === undefined)
    return { ...asked, source: source.url === undefined ? { key: source.key } : { url: source.url }, ...message };
  // A replica without support for credentials would continue without them.
  return { ...asked, version: CREDENTIALS_VERSION, encrypted: more.encrypted, source: placeOf(source), ...message };
}

/** As the REST API takes it. */
const recipeOf = (steps: NonNullable<ConversionJobObject['spec']['steps']>, outputs: readonly string[] | undefined): string =>
  JSON.stringify({ steps: steps.map(({ maxFiles, ...step }) => ({ ...step, max_files: maxFiles })), outputs });

const placeOf = ({ url, key, s3 }: ConversionJobObject['spec']['source']): object =>
  s3 === undefined ? (url === undefined ? { key } : { url }) : { s3: { ...bucketOf(s3), key: s3.key } };

const bucketOf = (s3: S3Bucket | undefined) =>
  s3 && { endpoint: s3.endpoint, region: s3.region, bucket: s3.bucket, forcePathStyle: s3.forcePathStyle };
