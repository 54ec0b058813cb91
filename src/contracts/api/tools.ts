/** What `GET /api/v1/tools` answers: every tool, what it takes, and why one is not there. */
import { z } from 'zod';

export const ToolOption = z.object({
  name: z.string(),
  required: z.boolean(),
  allowed: z.string().describe('Allowed values, in words'),
  schema: z.looseObject({}).describe('The same as JSON Schema, with its default'),
});

export const ToolEntry = z.object({
  slug: z.string(),
  summary: z.string(),
  family: z.string(),
  available: z.boolean(),
  reason: z.string().optional().describe('Why it is not available'),
  engine: z.string().optional().describe('The program that runs the tool, or the names of all that may, separated by " or "'),
  engines: z
    .array(z.string())
    .optional()
    .describe('Every program that may run the tool, depending on the format or on its field `model`: those for most formats first'),
  accepts: z.array(z.string()).optional().describe('Formats, detected by content'),
  files: z
    .object({
      field: z.string(),
      min: z.number().int(),
      max: z.number().int(),
      total_bytes: z.number().int().optional().describe('Maximum size of all files together'),
    })
    .optional(),
  options: z.array(ToolOption).optional(),
  widget: z
    .enum(['crop', 'brush', 'pages'])
    .optional()
    .describe('What a form shows over the file itself, beside the fields: a rectangle, a brush, or pages to put in order'),
  limits: z
    .object({
      max_bytes: z.number().int().describe('Maximum size of one file'),
      max_total_bytes: z.number().int().optional().describe('Maximum size of all files together'),
      max_pixels: z.number().int().optional().describe('Maximum pixels of a picture, or of one frame'),
      max_pages: z.number().int().optional().describe('Maximum pages of a PDF or a TIFF'),
      max_seconds: z.number().int().optional().describe('Maximum length of a recording'),
      daily: z.number().int().optional().describe('Requests of one client in 24 hours'),
    })
    .optional(),
});
export type ToolEntry = z.infer<typeof ToolEntry>;

export const ToolList = z.object({ tools: z.array(ToolEntry) });
