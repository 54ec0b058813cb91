/** ConversionJob: one conversion asked for with kubectl, and what became of it. */
import { z } from 'zod';
import { Conditions, observedGeneration, resource, shaped, time } from './resource.ts';

const MONTH = 30 * 86_400;

const Source = z
  .object({
    // Whoever may read the resource would read them, and the download refuses them in any case. A backslash is a slash to some.
    url: shaped(2_048, /^https:\/\/[^\s/\\?#@]+([/\\?#]|$)/, 'must be an https URL, without a user or a password in it')
      .optional()
      .describe('Where the file is fetched from: https, reachable for everybody, without a user or a password'),
    // What the object store takes, and no segment that begins with a dot: none leads out of the namespace's own part.
    key: shaped(
      900,
      /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}(\/[A-Za-z0-9_-][A-Za-z0-9._-]{0,199})*$/,
      'must be A-Z a-z 0-9 . _ - between single slashes, with no slash before and no dot at the start of a part',
    )
      .optional()
      .describe('Key of an object in the bucket, below `imports/<namespace>/` of the resource'),
  })
  .meta({
    'x-kubernetes-validations': [{ rule: 'has(self.url) != has(self.key)', message: 'source needs either url or key, and not both' }],
  });

export const ConversionJobSpec = z
  .object({
    source: Source.describe('The file'),
    toFormat: shaped(5, /^[A-Za-z0-9]{2,5}$/, 'must be an extension of 2 to 5 letters and digits, without the dot')
      .optional()
      .describe('Extension of the format to convert to, as `to_format` of the REST API'),
    tool: shaped(63, /^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be a slug, such as compress-pdf')
      .optional()
      .describe('Slug of the tool to call instead, as in `/api/v1/tools/{slug}`'),
    options: z
      .record(z.string().max(63), z.string().max(1_024))
      .meta({ maxProperties: 64 })
      .optional()
      .describe('Options by name, as form fields of the REST API: all values are strings. Whoever may read the resource reads them'),
    filename: z.string().min(1).max(255).optional().describe('What the file is called; the last part of URL or key if unset'),
    ttlSecondsAfterFinished: z
      .number()
      .int()
      .min(0)
      .max(MONTH)
      .default(7_200)
      .describe('When the resource is removed, counted from its end, s; the output is kept for two hours in any case'),
  })
  .meta({
    'x-kubernetes-validations': [
      { rule: 'has(self.toFormat) != has(self.tool)', message: 'spec needs either toFormat or tool, and not both' },
      { rule: 'self == oldSelf', message: 'spec cannot be changed: make another ConversionJob' },
    ],
  });
export type ConversionJobSpec = z.infer<typeof ConversionJobSpec>;

const Output = z.object({
  url: z.string().max(2_048).describe('Where it can be fetched; whoever has this URL may'),
  filename: z.string().max(255).describe('What it is called'),
  sizeBytes: z.number().int().min(0).describe('Its size, bytes'),
  contentType: z.string().max(255).describe('Its media type'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe('SHA-256 of its bytes, in hexadecimal'),
  expiresAt: time.describe('When it is removed'),
});

export const ConversionJobStatus = z.object({
  phase: z
    .enum(['Pending', 'Running', 'Complete', 'Failed', 'Expired', 'Cancelled'])
    .optional()
    .describe('Where it stands, for people; programs read `conditions`'),
  jobId: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional()
    .describe('The job of the REST API; a bearer secret'),
  progress: z.number().int().min(0).max(100).optional().describe('Per cent, while running; absent where the engine reports none'),
  engine: z
    .object({ name: z.string().max(63).describe('Its name'), version: z.string().max(63).describe('Its version') })
    .optional()
    .describe('What carried it out, once known'),
  output: Output.optional().describe('The result, once complete'),
  error: z
    .object({
      code: z.string().max(63).describe('Error code of the REST API'),
      reason: z.string().max(63).optional().describe('Why a conversion failed, as `details.reason` of the REST API'),
      message: z.string().max(1_024).describe('The same in a sentence'),
    })
    .optional()
    .describe('Why it failed'),
  startTime: time.optional().describe('When it was submitted'),
  completionTime: time.optional().describe('When it ended, well or badly'),
  observedGeneration: observedGeneration.optional(),
  conditions: Conditions.optional().describe('Complete, Failed and Expired; Ready, Reconciling and Stalled for tools that follow kstatus'),
});
export type ConversionJobStatus = z.infer<typeof ConversionJobStatus>;

export const ConversionJob = resource('ConversionJob', ConversionJobSpec, ConversionJobStatus).describe(
  'One conversion of one file, and what became of it',
);
export type ConversionJob = z.infer<typeof ConversionJob>;
