/** Settings of the MCP endpoint. */
import { z } from 'zod';

const MiB = 1 << 20;

export const mcpSettings = z.strictObject({
  origins: z
    .array(z.string().min(1))
    .default(['*'])
    .describe('Host names of web pages that may call /mcp from a browser; * takes any. Callers that are not browsers send no origin'),
  maxRequestBytes: z
    .number()
    .int()
    .min(1024)
    .default(16 * MiB)
    .describe('Largest request to /mcp, bytes'),
  maxInlineBytes: z
    .number()
    .int()
    .min(1)
    .default(10 * MiB)
    .describe('Files inside one call, decoded, all together, bytes'),
  heldBytes: z
    .number()
    .int()
    .min(1024)
    .default(192 * MiB)
    .describe('Requests to /mcp that are read at the same time, all together, bytes: beyond it large ones are answered 503'),
  answerMs: z.number().int().min(1_000).max(300_000).default(25_000).describe('When a call is answered at the latest, finished or not, ms'),
});
export type McpSettings = z.infer<typeof mcpSettings>;
