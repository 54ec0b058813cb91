/** A job as clients see it: the `data` of every answer that speaks of one. */
import { z } from 'zod';

export const jobIdPattern = /^[0-9a-f]{32}$/;

export const JobOutput = z.object({
  filename: z.string(),
  save_as: z.string().describe('The same without the suffix of the service: the name under which `?name=source` of the output is saved'),
  size_bytes: z.number().int().min(0),
  size_human: z.string().describe('1024-based, one decimal'),
  url: z.url().describe('Absolute URL of `GET /api/v1/jobs/{job_id}/output`'),
  content_type: z.string(),
  files: z.number().int().min(0).describe('How many files the output holds: more than one in a ZIP'),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

/** A result of a recipe. */
export const NamedOutput = JobOutput.pick({ filename: true, size_bytes: true, content_type: true, files: true, sha256: true }).extend({
  name: z.string().describe('The step that made it'),
  url: z.url().describe('Absolute URL of `GET /api/v1/jobs/{job_id}/outputs/{name}`'),
});

export const JobLinks = z.object({ self: z.url(), output: z.url() });

export const Warning = z.object({
  code: z.string().describe('What it is about, for programs'),
  message: z.string().describe('A sentence for people'),
});

export const PropertyVerdict = z.object({
  property: z.string().describe('Such as `alpha` or `frame_rate`'),
  outcome: z
    .enum(['kept', 'asAsked', 'adapted', 'lost', 'unknown'])
    .describe(
      '`kept`: the result has it. `asAsked`: it differs as an option asked. `adapted`: the target format cannot contain it, and has the nearest. `lost`: the result does not have it. `unknown`: it could not be measured',
    ),
  source: z.string().optional().describe('What the source has, for people'),
  result: z.string().optional().describe('What the result has, where that differs'),
});

export type PropertyVerdict = z.infer<typeof PropertyVerdict>;

/** What became of the source's properties, measured on both files. */
export const Fidelity = z.object({
  kept: z.number().int().min(0).describe('How many properties the result has as the source has them'),
  changes: z.array(PropertyVerdict).describe('The others'),
});

export type Fidelity = z.infer<typeof Fidelity>;

/** The message at the job's end. */
export const Webhook = z.object({
  state: z
    .enum(['waiting', 'pending', 'delivered', 'failed'])
    .describe(
      '`waiting`: for the end of the job. `pending`: an attempt is under way or will follow. `delivered`: answered with 2xx. `failed`: no attempt will follow, as the receiver answered 410, its URL is refused, or the job expires',
    ),
  attempts: z.number().int().min(0).describe('Attempts that were begun'),
  last_status: z.number().int().optional().describe('HTTP status of the last answer'),
  last_error: z
    .string()
    .optional()
    .describe(
      'Why the last attempt got no answer: `dns`, `unreachable`, `address` (not public), `unavailable` or `interrupted` (on our side)',
    ),
});

/** The result on its way to where the request wants it. */
export const OutputDestination = z.object({
  state: z
    .enum(['waiting', 'pending', 'stored', 'failed'])
    .describe(
      '`waiting`: for the end of the conversion. `pending`: an attempt is under way or will follow. `stored`: answered with 2xx. `failed`: the job has failed, with `OUTPUT_NOT_STORED` where this is why',
    ),
  attempts: z.number().int().min(0).describe('Attempts that were begun'),
  last_status: z.number().int().optional().describe('HTTP status of the last answer'),
  last_error: z
    .string()
    .optional()
    .describe(
      'Why the last attempt got no answer: `dns`, `unreachable`, `address` (not public), or `unavailable`, `interrupted` and `missing` (on our side)',
    ),
});

/** The whole receipt of one job. */
export const Receipt = z.object({
  job_id: z.string().regex(jobIdPattern),
  properties: z
    .array(PropertyVerdict)
    .describe('All that the source has and that is measured; empty for kinds of files that are not measured yet'),
});

export const Job = z.object({
  job_id: z.string().regex(jobIdPattern).describe('A bearer secret: every client that has it may read and delete the job'),
  status: z.enum(['processing', 'done', 'error']),
  progress: z.number().int().min(0).max(99).optional().describe('Per cent, while processing; absent where the engine reports none'),
  output: JobOutput.optional().describe('Once done; a tool that answers with text has none'),
  outputs: z.array(NamedOutput).optional().describe('The results of a recipe, once done: `output` is the only one, or a ZIP of all'),
  links: JobLinks,
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().describe('When job and output are removed; moved once, at the end of the job, and never earlier'),
  text: z.string().optional().describe('Text that a tool has produced, in addition to the output: at most 1 MiB of UTF-8'),
  warnings: z.array(Warning).describe('Differences between the request and the result'),
  fidelity: Fidelity.optional().describe('The receipt, once done: absent for kinds of files that are not measured yet'),
  engine: z.object({ name: z.string(), version: z.string() }).optional().describe('The engine that converts the file, once known'),
  destination: OutputDestination.optional().describe('Where the request had `output_url`'),
  webhook: Webhook.optional().describe('Where the request had `webhook_url`'),
});
export type Job = z.infer<typeof Job>;

/** A job whose result is a text, which stands in the job itself. */
export const TextJob = Job.omit({ output: true }).extend({
  text: z.string().optional().describe('At most 1 MiB of UTF-8, pages separated by form feeds'),
  language: z.string().optional().describe('Language of the text recognition, as in `ocr_lang`'),
  pages: z.number().int().min(1).optional().describe('How many pages were read'),
});
export type TextJob = z.infer<typeof TextJob>;
