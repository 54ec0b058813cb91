/** How a ConversionJob names a Secret. Annotations on the Secret allow it: a user who may create ConversionJobs need not be allowed to read Secrets. */
import { z } from 'zod';
import { GROUP, shaped } from './resource.ts';

/** On a Secret: what ConversionJobs of its namespace may use it for: a comma-separated list of `SECRET_USES`. */
export const USED_FOR = `${GROUP}/used-for`;
/** On a Secret that is used for sources, outputs or webhooks: the hosts that it may be sent to, between commas, with the port where it is not the scheme's own. */
export const ALLOWED_HOSTS = `${GROUP}/allowed-hosts`;
export const SECRET_USES = ['password', 'source', 'output', 'webhook'] as const;
export type SecretUse = (typeof SECRET_USES)[number];

export const SecretKeyRef = z.object({
  name: shaped(
    253,
    /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/,
    'must be the name of a Secret: a-z 0-9 - and dots, with a letter or digit at both ends',
  ).describe('Name of a Secret in this namespace'),
  key: shaped(253, /^[-._a-zA-Z0-9]+$/, 'must be a key of a Secret: A-Z a-z 0-9 - _ and dots').describe('Key in its data'),
});
export type SecretKeyRef = z.infer<typeof SecretKeyRef>;

/** A bucket of the user, and the credentials for it. */
export const S3Place = z.object({
  endpoint: shaped(
    253,
    /^https?:\/\/[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]{1,5})?$/,
    'must be an http or https URL of a host in lower case and perhaps a port, with nothing after it',
  ).describe(
    'The S3 service, such as https://s3.eu-central-1.amazonaws.com; http and private addresses where fetch.privateOrigins has them',
  ),
  region: shaped(63, /^[a-z0-9-]+$/, 'must be a region, such as eu-central-1')
    .default('us-east-1')
    .describe('Region of the bucket'),
  bucket: shaped(63, /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket: 3 to 63 of a-z, 0-9, dots and hyphens').describe(
    'The bucket',
  ),
  forcePathStyle: z
    .boolean()
    .default(true)
    .describe('Whether URLs name the bucket in their path (MinIO and most others) or before the host'),
  accessKeyIDSecretRef: SecretKeyRef.describe('Access key'),
  secretAccessKeySecretRef: SecretKeyRef.describe('Secret access key'),
  sessionTokenSecretRef: SecretKeyRef.optional().describe('Session token, for credentials that expire'),
});
