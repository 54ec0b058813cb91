/**
 * A document as JSON: blocks in reading order, and pieces of it for retrieval (`model/model.ts`).
 *
 *   model.ts --from=FORMAT [--chunks=TOKENS [--overlap=TOKENS]] [--about=DOCUMENT] FOUND OUTPUT.json
 *
 * FOUND is a list of words and their places if its name ends in .tsv, and Pandoc's tree otherwise. DOCUMENT has the title, the author and the language.
 * Prints an answer as residents give.
 */
import { createWriteStream, readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { linesIn, pagesIn } from '../pdf/layout/words.ts';
import { answering } from '../process/answer.ts';
import { chunksOf } from './model/chunks.ts';
import { markupBlocks, metaText } from './model/markup.ts';
import type { DocumentBlocks } from './model/model.ts';
import { printedBlocks } from './model/printed.ts';
import { propertiesOf } from './pandoc-tree/properties.ts';
import type { Tree } from './pandoc-tree/tree.ts';

const VERSION = '1.0';
/** A longer heading is no title. */
const LONGEST_TITLE = 200;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    version: { type: 'boolean' },
    from: { type: 'string', default: '' },
    chunks: { type: 'string' },
    overlap: { type: 'string', default: '0' },
    about: { type: 'string' },
  },
});
const [found = '', output = ''] = positionals;

if (values.version === true) process.stdout.write(`model ${VERSION}\n`);
else
  await answering(async () => {
    const model = found.endsWith('.tsv') ? printed(readFileSync(found, 'utf8')) : marked(JSON.parse(readFileSync(found, 'utf8')) as Tree);
    const chunks = values.chunks === undefined ? undefined : chunksOf(model.blocks, Number(values.chunks), Number(values.overlap));
    const title = model.title ?? firstHeading(model);
    await pipeline(
      Readable.from(written({ ...model, ...(title !== undefined && { title }), ...(chunks && { chunks }) })),
      createWriteStream(output),
    );
    return [];
  });

function printed(list: string): DocumentBlocks {
  const pages = pagesIn(list);
  return { version: 1, source: values.from, pages, blocks: printedBlocks(linesIn(list), pages) };
}

function marked(tree: Tree): DocumentBlocks {
  const { title, author, language } = values.about === undefined ? {} : propertiesOf(readFileSync(values.about));
  const said = {
    title: metaText(tree, 'title') ?? title,
    author: metaText(tree, 'author') ?? author,
    language: metaText(tree, 'lang') ?? language,
  };
  const known = Object.fromEntries(Object.entries(said).filter(([, text]) => text !== undefined));
  return { version: 1, source: values.from, ...known, blocks: markupBlocks(tree) };
}

function firstHeading({ blocks }: DocumentBlocks): string | undefined {
  const heading = blocks.find(({ type }) => type === 'heading');
  return heading?.type === 'heading' && heading.text.length <= LONGEST_TITLE ? heading.text : undefined;
}

/** A line for each block and chunk: readable, and never in memory twice. */
function* written({ blocks, chunks, ...about }: DocumentBlocks): Generator<string> {
  const head = Object.entries(about).map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)},\n`);
  yield `{\n${head.join('')}  "blocks": [`;
  yield* lines(blocks);
  yield chunks === undefined ? ']\n}\n' : '],\n  "chunks": [';
  if (chunks === undefined) return;
  yield* lines(chunks);
  yield ']\n}\n';
}

function* lines(values_: readonly object[]): Generator<string> {
  for (const [at, value] of values_.entries()) yield `${at === 0 ? '\n' : ',\n'}    ${JSON.stringify(value)}`;
  if (values_.length > 0) yield '\n  ';
}
