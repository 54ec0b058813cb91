/** What `to_format=json` makes of a document: blocks in the order in which they are read. `exec/programs/documents/model/` writes it. */
import { z } from 'zod';

const Place = z
  .object({
    page: z.number().int().min(1),
    left: z.number(),
    top: z.number(),
    right: z.number(),
    bottom: z.number(),
  })
  .describe('Points from the upper left corner of a page, 72 to an inch');

const Link = z.object({ text: z.string(), url: z.string() });
const Cell = z.object({
  text: z.string(),
  header: z.literal(true).optional(),
  row_span: z.number().int().min(2).optional(),
  column_span: z.number().int().min(2).optional(),
});
const ListItem = z.object({
  level: z.number().int().min(1).describe('1 for the outermost list'),
  number: z.number().int().optional().describe('The number of an item in a numbered list'),
  text: z.string(),
});

const common = {
  boxes: z.array(Place).optional().describe('Where it stands: a box for each page and column; markup has no pages'),
  origin: z
    .enum(['markup', 'layout', 'ocr'])
    .describe('What says what it is: the file itself, its place and size on a page, or a picture that was read'),
  confidence: z.number().min(0).max(1).optional().describe('How sure the recognition of its letters is'),
  links: z.array(Link).optional(),
};
const block = <T extends string, F extends z.ZodRawShape>(type: T, fields: F) => z.object({ type: z.literal(type), ...fields, ...common });

export const DocumentBlock = z.discriminatedUnion('type', [
  block('heading', { level: z.number().int().min(1).max(6), text: z.string() }),
  block('paragraph', { text: z.string(), style: z.enum(['quote', 'term', 'definition']).optional() }),
  block('list', { items: z.array(ListItem) }),
  block('table', { caption: z.string().optional(), rows: z.array(z.array(Cell)) }),
  block('figure', { caption: z.string() }),
  block('formula', { latex: z.string() }),
  block('code', { text: z.string(), language: z.string().optional() }),
  block('footnote', { label: z.string(), text: z.string() }),
  block('header', { text: z.string() }),
  block('footer', { text: z.string() }),
]);

const Chunk = z.object({
  text: z.string(),
  tokens: z.number().int().describe('By estimate: a quarter of the letters of each word, and each sign of Chinese, Japanese and Korean'),
  headings: z.array(z.string()).describe('Those above it, the highest first'),
  first_block: z.number().int().describe('Place in `blocks` of the first one that it has a part of'),
  last_block: z.number().int(),
  boxes: z.array(Place).optional(),
});

export const DocumentModel = z.object({
  version: z.literal(1).describe('The version of this schema: a change that a reader would have to know of makes it 2'),
  source: z.string().describe('The format that it was made of'),
  title: z.string().optional(),
  author: z.string().optional(),
  language: z.string().optional().describe('BCP 47'),
  pages: z
    .array(z.object({ number: z.number().int(), width: z.number(), height: z.number() }))
    .optional()
    .describe('Sizes in points'),
  blocks: z.array(DocumentBlock),
  chunks: z.array(Chunk).optional().describe('Where `chunks` was sent'),
});
