/** What `GET /api/v1/formats` answers: which files can be made from which, and with what options. */
import { z } from 'zod';

export const FormatTarget = z.object({
  format: z.string().describe('Canonical extension of the target: a value for `to_format`'),
  engines: z.array(z.string()).min(1).describe('Engines that convert it, in order: keys of `engines`'),
  ignores: z
    .array(z.string())
    .optional()
    .describe('Options of this target that have no effect from this source; with `expand=options` or `from`'),
  loses: z.array(z.string()).optional().describe('What the result lacks; with `expand=options` or `from`'),
  rank: z
    .number()
    .int()
    .optional()
    .describe('How good the way is: 90 faithful, 70 good, 50 usable, 30 a last resort; with `expand=options` or `from`'),
});

export const FormatSource = z.object({
  format: z.string().describe('Canonical extension'),
  family: z.string(),
  content_type: z.string(),
  aliases: z.array(z.string()).describe('Further extensions that mean the same format'),
  targets: z.array(FormatTarget),
});

export const FormatEngine = z.object({
  name: z.string(),
  version: z.string().describe('Version in this installation; empty if it could not be read'),
  proved_with: z
    .string()
    .optional()
    .describe('The versions with which the test suite proved its conversions, if this is none of them (major.minor, by Debian release)'),
});

export const FormatStep = z.object({
  engine: z.string().describe('Engine of this step, as `GET /api/v1/formats` has it'),
  name: z.string(),
  version: z.string().describe('Version in this installation; empty if it could not be read'),
  from: z.string(),
  to: z.string(),
  rank: z.number().int(),
  loses: z.array(z.string()).describe('What this step does not keep'),
});

export const FormatWay = z.object({
  from: z.string().describe('Canonical extension'),
  to: z.string(),
  toolchain: z.string().describe('The toolchain whose workers convert it'),
  rank: z.number().int().describe('How good the worst step is: 90 faithful, 70 good, 50 usable, 30 a last resort'),
  steps: z.array(FormatStep).min(1).describe('In order; options that only another way honours may lead that way'),
  loses: z.array(z.string()),
  cannot_hold: z
    .array(z.string())
    .describe(
      'Properties, named as in a receipt, that files of the source format may have and files of the target format cannot, or not in full; empty for kinds of files that are not measured yet',
    ),
  options: z.record(z.string(), z.looseObject({})).describe('Each option that has an effect, with its JSON Schema'),
});
export type FormatWay = z.infer<typeof FormatWay>;

export const FormatList = z.object({
  sources: z.array(FormatSource),
  unproven: z
    .array(FormatSource)
    .describe('Further sources, which no free program can write: they are converted, but no test of this service has tried one'),
  options: z
    .record(z.string(), z.record(z.string(), z.looseObject({})))
    .describe('By target: every option that some source of it honours, with its JSON Schema; empty where `option_names` is there instead'),
  option_names: z
    .record(z.string(), z.array(z.string()))
    .optional()
    .describe('By target: the names of those options; `option_schemas` has each once. Not with `expand=options` or `from`'),
  option_schemas: z.record(z.string(), z.looseObject({})).optional().describe('By name: the JSON Schema of each option'),
  engines: z.record(z.string(), FormatEngine),
});
export type FormatList = z.infer<typeof FormatList>;
export type FormatSource = z.infer<typeof FormatSource>;
export type FormatTarget = z.infer<typeof FormatTarget>;
