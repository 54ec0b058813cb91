/** What becomes of questions to judging threads: their answers, and what a thread that stalls costs. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resolveSource } from '../../../src/catalog/sniff/sniff.ts';
import { type Judge, openJudge } from '../../../src/judge/judge.ts';

const sampleOf = (text: string | Buffer) => {
  const bytes = Buffer.from(text);
  return { head: bytes, tail: bytes, size: bytes.length };
};

/** Longest that the loop may be held, ms. */
const BUDGET_MS = 50;
/** CPU time of this thread while something is done, ms: no stay of its loop was longer, however busy the machine is. */
async function heldMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

const PNG = Buffer.from('89504e470d0a1a0a0000000d494844520000000100000001080600000037', 'hex');
const task = { source: 'png', target: 'jpg', options: {} };

describe('a judge', () => {
  let judge: Judge;
  beforeAll(() => {
    judge = openJudge({ engines: true });
  });
  afterAll(() => judge.close());

  it('says what a file is, in the words of the catalog', async () => {
    expect(await judge.sourceOf(sampleOf(PNG), 'x.bin')).toBe('png');
    expect(await judge.sourceOf(sampleOf('# title\n'), 'a.md')).toBe('md');
    expect(await judge.sourceOf(sampleOf('# title\n'), 'a.txt', 'rst')).toBe('rst');
  });

  it('refuses as the catalog does', async () => {
    for (const sample of [sampleOf('\x7fELF\x02\x01\x01'), sampleOf(''), sampleOf('words')]) {
      const own = () => resolveSource(sample, 'a.txt', 'png');
      const { code, message, details } = await judge.sourceOf(sample, 'a.txt', 'png').catch((error) => error);
      expect(own).toThrow(expect.objectContaining({ code, message, details }));
    }
  });

  it('leaves its caller the bytes that it judged', async () => {
    const sample = sampleOf(PNG);
    await judge.sourceOf(sample, 'x');
    expect(sample.head).toEqual(PNG);
    expect(await judge.matches(sample, 'png')).toBe(true);
    expect(await judge.matches(sample, 'jpg')).toBe(false);
  });

  it('reads what an engine found, and what a tool that looks for itself did', async () => {
    const ping = Buffer.from('10 20 72 PixelsPerInch True TopLeft \n');
    expect(await judge.factsOf({ engine: 'imagemagick' }, ping, task)).toMatchObject({ frames: [{ width: 10, height: 20, density: 72 }] });
    await expect(judge.factsOf({ engine: 'imagemagick' }, Buffer.from('60000 60000 72 U True TopLeft \n'), task)).rejects.toMatchObject({
      code: 'CONVERSION_FAILED',
      details: { reason: 'input_limit', limit: 'pixels' },
    });
    expect(
      await judge.factsOf({ tool: 'merge-pdf', engine: 'qpdf' }, Buffer.from('Pages:          3\n'), { ...task, source: 'pdf' }),
    ).toMatchObject({
      pages: 3,
    });
    await expect(judge.factsOf({ engine: 'none' }, ping, task)).rejects.toThrow('has no inspection');
  });

  it('puts files into natural order, and does not hold the event loop for names that are slow to compare', async () => {
    expect(await judge.inOrder(['out-10.png', 'out-9.png', 'A.png'])).toEqual(['A.png', 'out-9.png', 'out-10.png']);
    const names = Array.from({ length: 2_500 }, (_, index) => `${'9'.repeat(220)}${(index * 7919) % 2_500}`);
    expect(await heldMs(() => judge.inOrder(names).catch(() => {}))).toBeLessThan(BUDGET_MS);
  });

  it('counts the frames of a GIF of tiny blocks without holding the loop', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'filemill-frames-'));
    try {
      const path = join(folder, 'a.gif');
      // Sub-blocks of one byte each, 20 MB of them, then one frame more than is allowed.
      const frame = Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 1, 0x44, 0]);
      const head = Buffer.concat([Buffer.from('GIF89a'), Buffer.from([1, 0, 1, 0, 0, 0, 0, 0x21, 0xfe])]);
      const blocks = Buffer.alloc(20_000_000, 1);
      await writeFile(path, Buffer.concat([head, blocks, Buffer.from([0]), ...Array.from({ length: 1001 }, () => frame)]));
      let refusal: unknown;
      const held = await heldMs(async () => {
        refusal = await judge.lookThrough('gif', path).catch((error: unknown) => error);
      });
      expect(refusal).toMatchObject({ code: 'CONVERSION_FAILED', details: { reason: 'input_limit', limit: 'frames', received: 1001 } });
      expect(held).toBeLessThan(BUDGET_MS);
      await expect(judge.lookThrough('jpg', path)).resolves.toEqual({});
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('reads what a document has, and the words that an engine has read', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'filemill-contents-'));
    try {
      const path = join(folder, 'a.html');
      await writeFile(path, '<html lang="de"><h1>One</h1> two</html>');
      expect(await judge.contentsOf('html', path)).toMatchObject({
        contents: { document: { words: ['one', 'two'], headings: 1, language: 'de' } },
      });
      expect(await judge.contentsOf('docx', path)).toEqual({});
      const read = judge.factsOf({ engine: 'pdftotext', measures: true }, Buffer.from('Three\nfo-\nur'), task);
      expect(await read).toEqual({ words: ['three', 'fo', 'ur'], joined: ['four'] });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('says what an engine means', async () => {
    expect(await judge.reasonOf('ffmpeg', 'Output file is empty', 1)).toBe('no_stream');
    expect(await judge.reasonOf('ffmpeg', 'well', 1)).toBeUndefined();
  });
});

/** Samples of one byte: what the thread does with them. */
const DEEDS = `
import { parentPort } from 'node:worker_threads';
const spin = () => { for (;;); };
const eat = () => { const eaten = []; for (;;) eaten.push(new Array(100_000).fill({})); };
const backtrack = () => /^(a+)+$/.test('a'.repeat(60) + 'b');
parentPort.on('message', ({ sample, filename }) => {
  ({ spin, eat, backtrack, leave: () => process.exit(1), answer: () => {} })[filename]();
  parentPort.postMessage({ is: 'value', value: filename });
});
parentPort.postMessage('ready');
`;

describe('a thread that does not answer', () => {
  let folder: string;
  let judge: Judge;
  const replaced: string[] = [];
  const sample = sampleOf('x');
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filemill-judge-'));
    const entry = join(folder, 'deeds.mjs');
    await writeFile(entry, DEEDS);
    judge = openJudge({ engines: false, entry: pathToFileURL(entry), limitMs: 300, onReplaced: ({ message }) => replaced.push(message) });
  });
  afterAll(async () => {
    await judge.close();
    await rm(folder, { recursive: true });
  });

  it.each(['spin', 'backtrack', 'eat', 'leave'])(
    'that does %s is ended, and its sender is told that the file is of no known kind',
    async (deed) => {
      const before = replaced.length;
      await expect(judge.sourceOf(sample, deed)).rejects.toMatchObject({ code: 'UNSUPPORTED_MIME', details: { detected: 'unknown' } });
      expect(replaced.length).toBe(before + 1);
      expect(await judge.sourceOf(sample, 'answer')).toBe('answer');
    },
  );

  it('holds neither the loop nor other questions', async () => {
    const held = await heldMs(async () => {
      const refused = expect(judge.sourceOf(sample, 'spin')).rejects.toMatchObject({ code: 'UNSUPPORTED_MIME' });
      for (let others = 0; others < 5; others++) expect(await judge.sourceOf(sample, 'answer')).toBe('answer');
      await refused;
    });
    expect(held).toBeLessThan(BUDGET_MS);
  });

  it('is waited for while our own event loop is late', async () => {
    const answer = judge.sourceOf(sample, 'answer');
    const until = performance.now() + 600;
    setImmediate(() => {
      while (performance.now() < until);
    });
    expect(await answer).toBe('answer');
  });

  it('says of an output that it is not what was asked for, and of words nothing', async () => {
    const entry = join(folder, 'deaf.mjs');
    await writeFile(
      entry,
      `import { parentPort } from 'node:worker_threads'; parentPort.on('message', () => { for (;;); }); parentPort.postMessage('ready');`,
    );
    const deaf = openJudge({ engines: true, entry: pathToFileURL(entry), limitMs: 100 });
    expect(await deaf.matches(sample, 'png')).toBe(false);
    expect(await deaf.reasonOf('ffmpeg', 'words', 1)).toBeUndefined();
    expect(await deaf.contentsOf('html', entry)).toEqual({});
    await expect(deaf.factsOf({ engine: 'rsvg' }, sample.head, task)).rejects.toMatchObject({ details: { reason: 'corrupt_input' } });
    await deaf.close();
  });

  it('refuses more than may wait, for a moment', async () => {
    const asked = Array.from({ length: 300 }, () => judge.sourceOf(sample, 'answer'));
    const answers = await Promise.allSettled(asked);
    const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason.code] : []));
    expect(new Set(refused)).toEqual(new Set(['OVERLOADED']));
    expect(refused.length).toBeLessThan(60);
  });

  it('that cannot be loaded is no fault of a file', async () => {
    const broken = openJudge({ engines: false, entry: pathToFileURL(join(folder, 'none.mjs')) });
    await expect(broken.sourceOf(sample, 'answer')).rejects.toThrow('could not be started');
    await broken.close();
    await expect(broken.sourceOf(sample, 'answer')).rejects.toMatchObject({ code: 'OVERLOADED' });
  });
});
