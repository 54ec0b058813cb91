/** How the controller submits ConversionJobs to the API: requests over NATS that any replica answers, and that may be repeated at any time. */
import { z } from 'zod';
import { Job } from '../api/job.ts';
import { Problem } from '../api/problem.ts';

/** Raised when an older replica would misread a request: it then answers with an error, and a newer one can be tried. */
export const SUBMISSION_VERSION = 4;
/** For requests with a webhook, and without a destination. */
export const WEBHOOK_VERSION = 3;
/** For requests with credentials and buckets, and without a webhook. */
export const CREDENTIALS_VERSION = 2;
/** For requests without credentials and buckets, which older replicas understand too. */
export const PLAIN_VERSION = 1;

/** The subject of each request. */
export const submissionSubjects = {
  convert: 'submit.convert',
  look: 'submit.look',
  cancel: 'submit.cancel',
  upload: 'submit.upload',
} as const;
export type SubmissionQuestion = keyof typeof submissionSubjects;

/** Which resource is meant: its job's id follows from this, and from a secret of the API. */
export const Submitted = z.object({
  version: z.number().int().min(1),
  /** `metadata.uid`: never used for another resource. */
  uid: z.string().regex(/^[A-Za-z0-9-]{1,64}$/),
  /** The client that limits count, and whose imports may be named. */
  namespace: z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/),
});
export type Submitted = z.infer<typeof Submitted>;

/** What comes from Secrets: it travels encrypted with the key that the controller and the API share, for the one resource. */
export const SubmissionSecrets = z.strictObject({
  password: z.string().optional(),
  /** With which the message at the end is signed. */
  webhookSecret: z.string().optional(),
  /** Where the result is sent by PUT, and the headers of that request by name, in lower case. */
  destination: z.strictObject({ url: z.string(), headers: z.record(z.string(), z.string()) }).optional(),
  /** By name, in lower case. */
  headers: z.record(z.string(), z.string()).optional(),
  s3: z.strictObject({ accessKeyId: z.string(), secretAccessKey: z.string(), sessionToken: z.string().optional() }).optional(),
});
export type SubmissionSecrets = z.infer<typeof SubmissionSecrets>;

/** What they are bound to: they cannot be decrypted for another resource. */
export const boundTo = ({ namespace, uid }: { readonly namespace?: string | undefined; readonly uid?: string | undefined }): string =>
  `submission\0${namespace}\0${uid}`;

const encrypted = z.string().max(262_144);

/** A user's own bucket. */
const S3Bucket = z.strictObject({
  endpoint: z.string().max(253),
  region: z.string().max(63),
  bucket: z.string().max(63),
  forcePathStyle: z.boolean(),
});
export type S3Bucket = z.infer<typeof S3Bucket>;
const S3Object = S3Bucket.extend({ key: z.string().min(1).max(1_024) });
export type S3Object = z.infer<typeof S3Object>;

export const Submission = Submitted.extend({
  source: z.union([
    z.strictObject({ url: z.string().min(1).max(8_192) }),
    z.strictObject({ key: z.string().min(1).max(1_024) }),
    z.strictObject({ s3: S3Object }),
  ]),
  /** `SubmissionSecrets` as JSON. */
  encrypted: encrypted.optional(),
  toFormat: z.string().optional(),
  /** Slug of a tool. */
  tool: z.string().optional(),
  /** A recipe as JSON. An older replica refuses a submission with only a recipe as invalid, and the controller asks another. */
  recipe: z.string().max(65_536).optional(),
  /** By the names of REST's form. */
  options: z
    .record(z.string().max(200), z.string().max(65_536))
    .refine((options) => Object.keys(options).length <= 100, 'at most 100 options')
    .default({}),
  /** Where the job is sent at its end. */
  webhook: z.strictObject({ url: z.string().min(1).max(2_048) }).optional(),
  /** File name of the source; by default the name at its origin. */
  filename: z.string().max(1_000).optional(),
}).refine(
  ({ toFormat, tool, recipe }) => [toFormat, tool, recipe].filter((one) => one !== undefined).length === 1,
  'one of toFormat, tool and recipe',
);
export type Submission = z.infer<typeof Submission>;

/** The result is to be put into a bucket. */
export const UploadQuestion = Submitted.extend({
  /** From 1 on: repeating the request does not repeat the attempt. */
  attempt: z.number().int().min(1).max(100),
  to: S3Bucket.extend({ key: z.string().max(1_024).optional(), prefix: z.string().max(1_024).optional() }),
  encrypted,
});
export type UploadQuestion = z.infer<typeof UploadQuestion>;

/** How an attempt to upload ended. */
export const UploadEnd = z.strictObject({
  attempt: z.number().int(),
  key: z.string(),
  /** Why it failed; undefined where the object is there. */
  failed: z.string().max(1_024).optional(),
});
export type UploadEnd = z.infer<typeof UploadEnd>;

export const SubmissionAnswer = z.union([
  /** The result is being uploaded: ask again. */
  z.object({ uploading: z.literal(true) }),
  z.object({ upload: UploadEnd }),
  /** The source is still on its way: ask again. */
  z.object({ fetching: z.literal(true) }),
  /** There is no job, or it was removed. */
  z.object({ cancelled: z.literal(true) }),
  /** As REST shows the job; of one that answers with a text neither text nor output. */
  z.object({ data: Job }),
  /** An error as in REST, of a refusal or a failed job. */
  z.object({ error: Problem.shape.error, retry_after: z.number().optional().describe('When the same may succeed, seconds') }),
]);
export type SubmissionAnswer = z.infer<typeof SubmissionAnswer>;
