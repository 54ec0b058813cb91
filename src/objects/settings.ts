/** Settings of where objects are stored: the S3 bucket, or the room on one machine. */
import { z } from 'zod';

/** Environment variables are text. */
const asBoolean = (value: unknown): unknown => (value === 'true' ? true : value === 'false' ? false : value);

/** Whether it is an S3 service's: a path, a query or a user name would be ignored silently. */
export const isEndpoint = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && `${url.origin}/` === url.href && /^https?:$/.test(url.protocol);
};

/** Settings of the role `local`. */
export const storageSettings = z.strictObject({
  maxBytes: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe('Total size of the files in the data folder, bytes: beyond it new work gets 503. Unset: no bound'),
  minFreeBytes: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe('Free bytes where the data folder is, below which new work gets 503. Unset: 5 % of the file system, 1 GiB at most'),
});
export type StorageSettings = z.infer<typeof storageSettings>;

const settings = z.strictObject({
  endpoint: z
    .string()
    .refine(isEndpoint, 'an http or https URL of a host and perhaps a port, such as https://s3.eu-central-1.amazonaws.com')
    .describe('The S3 service. Workers must reach it at the same URL: they get presigned URLs below it'),
  region: z
    .string()
    .min(1)
    .default('us-east-1')
    .describe('Region of the bucket; a MinIO server without a configured region uses the default'),
  bucket: z
    .string()
    .refine((name) => /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name), 'a bucket name: 3 to 63 of a-z, 0-9, dots and hyphens')
    .describe(
      'The bucket, for this service alone: it deletes objects that it does not know after some time. Created at the start if it is missing',
    ),
  accessKeyId: z
    .string()
    .min(1)
    .optional()
    .describe('Access key; unset, with its secret: credentials that the AWS SDK finds (environment, shared file, web identity, metadata)'),
  secretAccessKey: z.string().min(1).optional().describe('Secret access key, where an access key is set'),
  pathStyle: z
    .preprocess(asBoolean, z.boolean())
    .default(true)
    .meta({ type: 'boolean' })
    .describe('Whether the bucket is named in the path of a URL (MinIO and most others) or before the host (new AWS regions)'),
});

export const s3Settings = settings.superRefine(({ accessKeyId, secretAccessKey }, context) => {
  if ((accessKeyId === undefined) === (secretAccessKey === undefined)) return;
  const missing = accessKeyId === undefined ? 'accessKeyId' : 'secretAccessKey';
  const message = 's3.accessKeyId and s3.secretAccessKey together, or neither, for credentials that the AWS SDK finds';
  context.addIssue({ code: 'custom', path: [missing], message });
});
export type S3Settings = z.infer<typeof s3Settings>;
