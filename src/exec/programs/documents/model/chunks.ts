/** Pieces of a document for retrieval: cut at headings, of bounded size, each with the headings above it. */
import { type Block, blockText, type Chunk, type Place } from './model.ts';

const WORD = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]|[^\s\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]+/gu;
const LETTERS_PER_TOKEN = 4;
/** In a chunk: a block that fills many chunks has its boxes in each. */
const MOST_BOXES = 50;

/** An estimate; tokenisers differ. */
export function tokensIn(text: string): number {
  let tokens = 0;
  for (const [word] of text.matchAll(WORD)) tokens += Math.ceil(word.length / LETTERS_PER_TOKEN);
  return tokens;
}

interface Piece {
  readonly text: string;
  readonly tokens: number;
  readonly block: number;
}

/**
 * @param most tokens of a chunk
 * @param overlap tokens of the end of a chunk that the next one under the same heading begins with, fewer than half of `most`
 */
export function chunksOf(blocks: readonly Block[], most: number, overlap: number): readonly Chunk[] {
  const chunks: Chunk[] = [];
  /** By level. */
  const headings = new Map<number, string>();
  let pieces: Piece[] = [];
  let tokens = 0;
  /** How many of the pieces the chunk before had, too. */
  let repeated = 0;

  const end = (): void => {
    if (pieces.length > repeated) chunks.push(chunkOf(pieces, [...headings.values()], blocks));
  };
  for (const [at, block] of blocks.entries()) {
    if (block.type === 'header' || block.type === 'footer') continue;
    if (block.type === 'heading') {
      // Headings one below another begin one chunk.
      if (pieces.some(({ block: before }) => blocks[before]?.type !== 'heading')) {
        end();
        [pieces, tokens, repeated] = [[], 0, 0];
      }
      for (const level of [...headings.keys()].filter((each) => each >= block.level)) headings.delete(level);
      headings.set(block.level, block.text);
    }
    for (const piece of piecesOf(blockText(block), most - overlap, at)) {
      if (tokens + piece.tokens > most) {
        end();
        pieces = lastOf(pieces, Math.min(overlap, most - piece.tokens));
        [tokens, repeated] = [tokensOf(pieces), pieces.length];
      }
      pieces.push(piece);
      tokens += piece.tokens;
    }
  }
  end();
  return chunks;
}

const tokensOf = (pieces: readonly Piece[]): number => pieces.reduce((sum, { tokens }) => sum + tokens, 0);

/** As many from the end as have so many tokens together. */
function lastOf(pieces: readonly Piece[], tokens: number): Piece[] {
  let [from, sum] = [pieces.length, 0];
  while (from > 0 && sum + (pieces[from - 1]?.tokens ?? 0) <= tokens) sum += pieces[--from]?.tokens ?? 0;
  return pieces.slice(from);
}

/** Lines or sentences; what is longer than a chunk is cut between words, and a word that is, anywhere. */
function piecesOf(text: string, most: number, block: number): readonly Piece[] {
  const sentences = text.split(/(?<=\n)|(?<=[.!?。！？][\])"”’»]?\s)|(?<=[。！？])/u);
  return sentences.flatMap((sentence) => {
    const tokens = tokensIn(sentence);
    if (tokens === 0) return [];
    return tokens <= most
      ? [{ text: sentence, tokens, block }]
      : cut(sentence, most).map((part) => ({ text: part, tokens: tokensIn(part), block }));
  });
}

function cut(sentence: string, most: number): readonly string[] {
  const parts: string[] = [];
  let [from, tokens] = [0, 0];
  for (const { 0: word, index } of sentence.matchAll(WORD)) {
    const size = Math.ceil(word.length / LETTERS_PER_TOKEN);
    if (tokens > 0 && tokens + size > most) {
      parts.push(sentence.slice(from, index));
      [from, tokens] = [index, 0];
    }
    if (size <= most) {
      tokens += size;
      continue;
    }
    const end = index + word.length;
    while (Math.ceil((end - from) / LETTERS_PER_TOKEN) > most) {
      const next = wholeLetters(sentence, from + most * LETTERS_PER_TOKEN);
      parts.push(sentence.slice(from, next));
      from = next;
    }
    tokens = Math.ceil((end - from) / LETTERS_PER_TOKEN);
  }
  return [...parts, sentence.slice(from)];
}

/** @returns a place that is not within one character beyond the Basic Multilingual Plane */
const wholeLetters = (text: string, at: number): number => (/[\udc00-\udfff]/.test(text.charAt(at)) ? at - 1 : at);

function chunkOf(pieces: readonly Piece[], headings: readonly string[], blocks: readonly Block[]): Chunk {
  let text = '';
  let before: number | undefined;
  for (const piece of pieces) {
    text += `${before === undefined || before === piece.block ? '' : '\n\n'}${piece.text}`;
    before = piece.block;
  }
  const [first = 0, last = 0] = [pieces[0]?.block, pieces.at(-1)?.block];
  const boxes: readonly Place[] = blocks
    .slice(first, last + 1)
    .flatMap(({ boxes: those = [] }) => those)
    .slice(0, MOST_BOXES);
  const about = { text: text.trim(), tokens: tokensIn(text), headings, first_block: first, last_block: last };
  return boxes.length === 0 ? about : { ...about, boxes };
}
