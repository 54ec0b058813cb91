/** What `GET /` and `GET /api/v1` answer: where everything is. */
import { z } from 'zod';

export const Entry = z.object({
  name: z.string(),
  version: z.string(),
  links: z.object({
    docs: z.url().describe('The reference for people'),
    openapi: z.url().describe('The reference for programs'),
    formats: z.url(),
    tools: z.url(),
    convert: z.url().describe('`POST` a file'),
    batch: z.url().describe('`POST` several files'),
    uploads: z.url().describe('`POST` a file before the request that uses it'),
    limits: z.url(),
    health: z.url(),
    mcp: z.url().describe('For AI assistants: Model Context Protocol, Streamable HTTP'),
  }),
});
export type Entry = z.infer<typeof Entry>;
