/** Pieces of a document for retrieval: nothing is missing, none is too large, and each knows what stands above it. */
import { describe, expect, it } from 'vitest';
import { chunksOf, tokensIn } from '../../../../src/exec/programs/documents/model/chunks.ts';
import type { Block } from '../../../../src/exec/programs/documents/model/model.ts';

const paragraph = (text: string): Block => ({ type: 'paragraph', text, origin: 'markup' });
const heading = (level: number, text: string): Block => ({ type: 'heading', level, text, origin: 'markup' });
const sentences = (count: number) => Array.from({ length: count }, (_, at) => `Sentence number ${at} ends here.`).join(' ');

describe('chunks', () => {
  it('have the headings above them, of which lower ones end with a higher one', () => {
    const blocks = [
      paragraph('Before.'),
      heading(1, 'A'),
      heading(2, 'B'),
      paragraph('In B.'),
      heading(2, 'C'),
      paragraph('In C.'),
      heading(1, 'D'),
      paragraph('In D.'),
    ];
    expect(
      chunksOf(blocks, 100, 0).map(({ headings, text, first_block, last_block }) => [headings, text, first_block, last_block]),
    ).toEqual([
      [[], 'Before.', 0, 0],
      [['A', 'B'], 'A\n\nB\n\nIn B.', 1, 3],
      [['A', 'C'], 'C\n\nIn C.', 4, 5],
      [['D'], 'D\n\nIn D.', 6, 7],
    ]);
  });

  it.each([
    ['sentences', sentences(60)],
    ['one word', 'x'.repeat(5_000)],
    ['Chinese', '渡船中午离开。'.repeat(60)],
    ['one word of signs that take two units each', '\u{1f6a2}'.repeat(400)],
    ['lines', Array.from({ length: 90 }, (_, at) => `line ${at}`).join('\n')],
  ])('of %s are bounded, and together have all of it', (_, text) => {
    const chunks = chunksOf([heading(1, 'H'), paragraph(text)], 64, 0);
    expect(chunks.length).toBeGreaterThan(1);
    for (const chunk of chunks) {
      expect(chunk.tokens).toBeLessThanOrEqual(64);
      expect(chunk.text.isWellFormed()).toBe(true);
    }
    const bare = (words: string) => words.replaceAll(/\s/g, '');
    expect(bare(chunks.map((chunk) => chunk.text).join(''))).toBe(bare(`H${text}`));
  });

  it('begin with the end of the one before, where they are to overlap', () => {
    const chunks = chunksOf([paragraph(sentences(40))], 64, 16);
    for (const [at, { text }] of chunks.slice(1).entries()) {
      const before = chunks[at]?.text ?? '';
      const last = before.slice(before.lastIndexOf('Sentence'));
      expect(text.indexOf(last)).toBeGreaterThanOrEqual(0);
      const shared = text.slice(0, text.indexOf(last) + last.length);
      expect(before.endsWith(shared)).toBe(true);
      expect(tokensIn(shared)).toBeLessThanOrEqual(16);
    }
    expect(chunks.at(-1)?.text.endsWith('Sentence number 39 ends here.')).toBe(true);
  });

  it('have nothing of what stands at the edges of pages', () => {
    const blocks: Block[] = [
      { type: 'header', text: 'Report', origin: 'layout' },
      paragraph('Words.'),
      { type: 'footer', text: '1', origin: 'layout' },
    ];
    expect(chunksOf(blocks, 64, 0).map(({ text }) => text)).toEqual(['Words.']);
    expect(chunksOf([{ type: 'footer', text: '1', origin: 'layout' }], 64, 0)).toEqual([]);
  });

  it('are made in time that grows with the text', () => {
    const cpu = (count: number) => {
      const blocks = Array.from({ length: count }, (_, at) => (at % 50 === 0 ? heading(1 + (at % 6), `h${at}`) : paragraph(sentences(3))));
      const before = process.threadCpuUsage().user;
      chunksOf(blocks, 512, 128);
      return process.threadCpuUsage().user - before;
    };
    cpu(2_000);
    const [one, four] = [Math.min(cpu(4_000), cpu(4_000)), Math.min(cpu(16_000), cpu(16_000))];
    expect(four / one).toBeLessThan(8);
  });
});
