/** ConversionJob: one conversion requested with kubectl, and its outcome. */
import { z } from 'zod';
import { Conditions, observedGeneration, resource, shaped, time } from './resource.ts';
import { S3Place, SecretKeyRef } from './secret-ref.ts';

const MONTH = 30 * 86_400;

/** What the object store accepts, without segments that begin with a dot: no key leads out of the namespace's own prefix. */
const KEY = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}(\/[A-Za-z0-9_-][A-Za-z0-9._-]{0,199})*$/;
const PREFIX = /^([A-Za-z0-9_-][A-Za-z0-9._-]{0,199}\/)+$/;
const KEY_MUST = 'must be A-Z a-z 0-9 . _ - between single slashes, with no slash before and no dot at the start of a part';
/** Headers that the request sets by itself (RFC 9110, 6 to 10), in CEL. */
const OWN_HEADERS =
  "['host', 'connection', 'content-length', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'expect', 'range', 'accept', 'accept-encoding', 'user-agent', 'keep-alive', 'proxy-authorization']";

const HeadersFrom = z
  .array(
    z
      .object({
        name: shaped(64, /^[A-Za-z0-9][A-Za-z0-9-]*$/, 'must be the name of a header, such as PRIVATE-TOKEN').describe(
          'Name of the header',
        ),
        secretKeyRef: SecretKeyRef.describe('Its whole value'),
      })
      .meta({
        'x-kubernetes-validations': [
          {
            rule: `!(self.name.lowerAscii() in ${OWN_HEADERS})`,
            message: 'name must not be of a header that the request sets by itself',
          },
        ],
      }),
  )
  .max(8)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] });

const Source = z
  .object({
    // Anyone who may read the resource would read a password in the URL, and the download refuses it in any case. Some parsers treat a backslash as a slash.
    url: shaped(2_048, /^https:\/\/[^\s/\\?#@]+([/\\?#]|$)/, 'must be an https URL, without a user or a password in it')
      .optional()
      .describe('Where the file is fetched from: an https URL at a public address, without a user or a password'),
    key: shaped(900, KEY, KEY_MUST).optional().describe('Key of an object in the bucket, below `imports/<namespace>/` of the resource'),
    s3: S3Place.extend({
      key: shaped(
        1_024,
        /^[^\x00-\x1f\x7f/][^\x00-\x1f\x7f]*$/,
        'must be the key of an object, with no slash before it and no control characters',
      ).describe('Key of the object'),
    })
      .optional()
      .describe('An object in a bucket of your own'),
    authorization: z
      .object({ secretKeyRef: SecretKeyRef.describe('The token') })
      .optional()
      .describe('A token for requests to `url`: Authorization: Bearer'),
    basicAuth: z
      .object({ username: SecretKeyRef.describe('The user name'), password: SecretKeyRef.describe('The password') })
      .optional()
      .describe('A user name and a password for requests to `url`: Authorization: Basic'),
    headersFrom: HeadersFrom.optional().describe('Headers for requests to `url`, such as PRIVATE-TOKEN; none is sent to another host'),
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: '[has(self.url), has(self.key), has(self.s3)].filter(one, one).size() == 1',
        message: 'source needs one of url, key and s3, and no more than one',
      },
      {
        rule: 'has(self.url) || !(has(self.authorization) || has(self.basicAuth) || has(self.headersFrom))',
        message: 'authorization, basicAuth and headersFrom go with url',
      },
      { rule: '!(has(self.authorization) && has(self.basicAuth))', message: 'source takes authorization or basicAuth, and not both' },
    ],
  });

const S3Output = S3Place.extend({
  key: shaped(900, KEY, KEY_MUST).optional().describe('Key that the result is stored under; an existing object is replaced'),
  prefix: shaped(700, PREFIX, `${KEY_MUST}, and end with a slash`)
    .optional()
    .describe('Start of its key, followed by its file name: characters beyond A-Z a-z 0-9 . _ - become _'),
}).meta({
  'x-kubernetes-validations': [{ rule: 'has(self.key) != has(self.prefix)', message: 's3 needs either key or prefix, and not both' }],
});

const STEP_NAME = shaped(32, /^[A-Za-z][A-Za-z0-9_-]*$/, 'must be a letter, then letters, digits, _ and -');

const Step = z.object({
  name: STEP_NAME.describe('How later steps and outputs call it; not files'),
  do: shaped(63, /^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be convert, or the slug of a tool').describe('convert, or the slug of a tool'),
  from: z
    .array(
      shaped(
        40,
        /^[A-Za-z][A-Za-z0-9_-]*(\.[0-9]{1,4})?$/,
        'must be files or the name of an earlier step, and may end with a number, as in pages.0',
      ),
    )
    .min(1)
    .max(20)
    .meta({ 'x-kubernetes-list-type': 'atomic' })
    .optional()
    .describe('What it reads: files, or names of earlier steps; unset: what the step before made'),
  options: z
    .record(z.string().max(63), z.string().max(1_024))
    .meta({ maxProperties: 64 })
    .optional()
    .describe('Options by name, of convert also to_format: all values are strings'),
  maxFiles: z.number().int().min(1).max(2_000).optional().describe('The most files that it may make; with more, the job fails'),
});

export const ConversionJobSpec = z
  .object({
    source: Source.describe('The file'),
    toFormat: shaped(
      17,
      /^\.?[A-Za-z0-9][A-Za-z0-9.]{0,15}$/,
      'must be an extension, such as png, or another name of a format, such as markdown',
    )
      .optional()
      .describe('Extension of the format to convert to, or another name of it, as `to_format` of the REST API'),
    tool: shaped(63, /^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be a slug, such as compress-pdf')
      .optional()
      .describe('Slug of the tool to call instead, as in `/api/v1/tools/{slug}`'),
    steps: z
      .array(Step)
      .min(1)
      .max(20)
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
      .optional()
      .describe('Several steps instead, as a recipe of the REST API: the result is the only output, or a ZIP of all'),
    outputs: z
      .array(STEP_NAME)
      .min(1)
      .max(20)
      .meta({ 'x-kubernetes-list-type': 'set' })
      .optional()
      .describe('Names of the steps whose files are kept; unset: those that no other step reads'),
    options: z
      .record(z.string().max(63), z.string().max(1_024))
      .meta({ maxProperties: 64 })
      .optional()
      .describe('Options by name, as form fields of the REST API: all values are strings. Anyone who may read the resource can read them'),
    passwordFrom: z
      .object({ secretKeyRef: SecretKeyRef.describe('The password') })
      .optional()
      .describe('Option `password`, which opens an encrypted file, from a Secret'),
    output: z
      .object({ s3: S3Output.describe('A bucket of your own') })
      .optional()
      .describe('Where the result is uploaded to; unset: download it from `status.output.url`'),
    destination: z
      .object({
        urlFrom: z
          .object({ secretKeyRef: SecretKeyRef.describe('The URL, which is presigned as a rule') })
          .describe('Where it is sent by PUT'),
        headersFrom: HeadersFrom.optional().describe('Headers of that PUT, such as x-ms-blob-type'),
      })
      .optional()
      .describe('Where the result is stored before the job is complete, as `output_url` of the REST API'),
    webhook: z
      .object({
        url: shaped(2_048, /^https:\/\/[^\s/\\?#@]+([/\\?#]|$)/, 'must be an https URL, without a user or a password in it').describe(
          'Where the job is sent when it ends, by POST: an https URL at a public address. Anyone who may read the resource can read it',
        ),
        secretFrom: z
          .object({ secretKeyRef: SecretKeyRef.describe('The secret, whsec_…') })
          .optional()
          .describe('Your own secret for the signature; unset: the keys of the service sign'),
      })
      .optional()
      .describe('A message at the end of the job, as `webhook_url` of the REST API'),
    filename: z.string().min(1).max(255).optional().describe('Name of the file; the last part of URL or key if unset'),
    ttlSecondsAfterFinished: z
      .number()
      .int()
      .min(0)
      .max(MONTH)
      .default(7_200)
      .describe('When the resource is removed, s after it finished; the output is kept for two hours in any case'),
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: '[has(self.toFormat), has(self.tool), has(self.steps)].filter(one, one).size() == 1',
        message: 'spec needs one of toFormat, tool and steps, and no more than one',
      },
      {
        rule: '!has(self.steps) || !(has(self.options) || has(self.passwordFrom))',
        message: 'options go into each of the steps, and passwordFrom with toFormat or tool',
      },
      { rule: '!(has(self.output) && has(self.destination))', message: 'spec takes output or destination, and not both' },
      { rule: 'has(self.steps) || !has(self.outputs)', message: 'outputs go with steps' },
      {
        rule: "!(has(self.passwordFrom) && has(self.options) && 'password' in self.options)",
        message: 'spec takes passwordFrom or options.password, and not both',
      },
      { rule: 'self == oldSelf', message: 'spec cannot be changed: make another ConversionJob' },
    ],
  });
export type ConversionJobSpec = z.infer<typeof ConversionJobSpec>;

const Output = z.object({
  url: z.string().max(2_048).optional().describe('URL to download it; anyone who has this URL may. Absent if it was uploaded to a bucket'),
  s3: z
    .object({
      endpoint: z.string().max(253).describe('The S3 service'),
      bucket: z.string().max(63).describe('The bucket'),
      key: z.string().max(1_024).describe('Key of the object'),
    })
    .optional()
    .describe('Where it was uploaded to'),
  filename: z.string().max(255).describe('Its file name'),
  sizeBytes: z.number().int().min(0).describe('Its size, bytes'),
  contentType: z.string().max(255).describe('Its media type'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe('SHA-256 of its bytes, in hexadecimal'),
  expiresAt: time.optional().describe('When it is removed; absent if it was uploaded to a bucket'),
});

const Receipt = z.object({
  kept: z.number().int().min(0).describe('How many properties the result has as the source has them'),
  changes: z
    .array(
      z.object({
        property: z.string().max(63).describe('Its name, such as alpha'),
        outcome: z.enum(['asAsked', 'adapted', 'lost', 'unknown']).describe('What became of it, as in the receipt of the REST API'),
        source: z.string().max(255).optional().describe('What the source has, for people'),
        result: z.string().max(255).optional().describe('What the result has, where that differs'),
      }),
    )
    .max(64)
    .describe('The others'),
});

export const ConversionJobStatus = z.object({
  phase: z
    .enum(['Pending', 'Running', 'Complete', 'Failed', 'Expired', 'Cancelled'])
    .optional()
    .describe('Its state, for people; programs read `conditions`'),
  jobId: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional()
    .describe('The job of the REST API; a bearer secret'),
  progress: z.number().int().min(0).max(100).optional().describe('Percentage, while running; absent if the engine reports none'),
  engine: z
    .object({ name: z.string().max(63).describe('Its name'), version: z.string().max(63).describe('Its version') })
    .optional()
    .describe('The engine that converts the file, once known'),
  output: Output.optional().describe('The result, once complete'),
  fidelity: Receipt.optional().describe(
    'What became of the properties of the source, once complete; absent for kinds of files that are not measured',
  ),
  error: z
    .object({
      code: z.string().max(63).describe('Error code of the REST API, or UploadFailed'),
      reason: z.string().max(63).optional().describe('Why a conversion failed, as `details.reason` of the REST API'),
      message: z.string().max(1_024).describe('The same in a sentence'),
    })
    .optional()
    .describe('Why it failed'),
  upload: z
    .object({
      failures: z.number().int().min(0).max(100).describe('Attempts that failed'),
      nextTime: time.optional().describe('When the next attempt starts'),
    })
    .optional()
    .describe('Attempts to upload the result to `spec.output`'),
  startTime: time.optional().describe('When it was submitted'),
  completionTime: time.optional().describe('When it ended, in success or failure'),
  observedGeneration: observedGeneration.optional(),
  conditions: Conditions.optional().describe(
    'Complete, Uploaded, Failed and Expired; Ready, Reconciling and Stalled for tools that follow kstatus',
  ),
});
export type ConversionJobStatus = z.infer<typeof ConversionJobStatus>;

export const ConversionJob = resource('ConversionJob', ConversionJobSpec, ConversionJobStatus).describe(
  'One conversion of one file, and its outcome',
);
export type ConversionJob = z.infer<typeof ConversionJob>;
