import { getEventListeners, once } from 'node:events';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { onAbort } from '../../../src/streams/abort.ts';
import { Coalesce, MIN_PIECE_BYTES } from '../../../src/streams/coalesce.ts';
import { mapConcurrently } from '../../../src/streams/concurrency.ts';
import { Joined } from '../../../src/streams/joined.ts';

/** What comes out of it when these pieces go in. */
const coalesced = (pieces: readonly Buffer[]): Promise<Buffer[]> =>
  Readable.from(pieces, { objectMode: false }).pipe(new Coalesce()).toArray();

/** So that a piece that is lost, doubled or out of place shows. */
const counting = (length: number): Buffer => Buffer.from(Uint8Array.from({ length }, (_, index) => (index * 31) % 251));

const cutInto = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size));

describe('joined pieces', () => {
  for (const size of [1, 2, 3, 4_095, 16_383, 16_384, 16_385, 70_000])
    it(`are the same bytes when they come ${size} at a time`, async () => {
      const bytes = counting(size === 1 ? 40_000 : 300_000);
      expect(Buffer.concat(await coalesced(cutInto(bytes, size))).equals(bytes)).toBe(true);
    });

  it('are never small, but for the last', async () => {
    const pieces = await coalesced(cutInto(counting(100_000), 7));
    expect(pieces.slice(0, -1).filter(({ length }) => length < MIN_PIECE_BYTES)).toEqual([]);
  });

  it('keep their order where large ones follow small ones', async () => {
    const pieces = [counting(5), counting(20_000), counting(1), counting(200_000), counting(3)];
    expect(Buffer.concat(await coalesced(pieces)).equals(Buffer.concat(pieces))).toBe(true);
  });

  it('pass as they are where they are large', async () => {
    const large = counting(50_000);
    const [first] = await coalesced([large]);
    expect(first?.buffer).toBe(large.buffer);
  });

  it('are nothing where nothing came', async () => expect(await coalesced([])).toEqual([]));
});

describe('a listener for an abort', () => {
  it('is called once, with the reason', () => {
    const over = new AbortController();
    const reasons: unknown[] = [];
    onAbort(over.signal, (reason) => reasons.push(reason));
    over.abort('late');
    over.abort('later');
    expect(reasons).toEqual(['late']);
  });

  it('is called at once where it has happened', () => {
    const reasons: unknown[] = [];
    onAbort(AbortSignal.abort('early'), (reason) => reasons.push(reason));
    expect(reasons).toEqual(['early']);
  });

  it('leaves nothing behind once unsubscribed', () => {
    const over = new AbortController();
    const unsubscribe = onAbort(over.signal, () => expect.unreachable());
    unsubscribe();
    unsubscribe();
    expect(getEventListeners(over.signal, 'abort')).toEqual([]);
    over.abort();
  });
});

describe('several streams read as one', () => {
  const pieceOf = (text: string) => async () => Readable.from([Buffer.from(text)], { objectMode: false });
  /** Gives one piece and then nothing more. */
  const stalling = () => {
    let given = false;
    return new Readable({
      read() {
        if (!given) this.push('x');
        given = true;
      },
    });
  };

  const endingAtOnce = (error?: Error) =>
    new Readable({
      read() {
        this.destroy(error);
      },
    });

  it('are all their bytes in order', async () => {
    const large = counting(300_000);
    const all = new Joined([pieceOf('first'), async () => Readable.from([large], { objectMode: false }), pieceOf(''), pieceOf('last')]);
    expect(Buffer.concat(await all.toArray())).toEqual(Buffer.concat([Buffer.from('first'), large, Buffer.from('last')]));
  });

  it('are nothing where there is none', async () => expect(await new Joined([]).toArray()).toEqual([]));

  it('are opened one after the other, and none before it is read', async () => {
    const opened: string[] = [];
    const noting = (text: string) => () => {
      opened.push(text);
      return pieceOf(text)();
    };
    const all = new Joined(['a', 'b'].map(noting));
    await new Promise(setImmediate);
    expect(opened).toEqual([]);
    expect(String(Buffer.concat(await all.toArray()))).toBe('ab');
    expect(opened).toEqual(['a', 'b']);
  });

  it('go with the whole when it is destroyed, and no other is opened', async () => {
    const first = stalling();
    let others = 0;
    const all = new Joined([
      async () => first,
      () => {
        others++;
        return pieceOf('b')();
      },
    ]);
    await once(all, 'readable');
    all.destroy();
    await once(first, 'close');
    expect(others).toBe(0);
  });

  it('are closed when the whole was destroyed as one was being opened', async () => {
    const first = stalling();
    const { promise, resolve } = Promise.withResolvers<Readable>();
    const all = new Joined([() => promise]);
    all.resume();
    await new Promise(setImmediate);
    all.destroy();
    resolve(first);
    await once(first, 'close');
  });

  it.each([
    ['cannot be opened', () => Promise.reject(new Error('gone'))],
    ['fails', async () => endingAtOnce(new Error('gone'))],
    ['ends early', async () => endingAtOnce()],
  ])('fail when one %s', async (_how, open) => {
    await expect(new Joined([pieceOf('a'), open, pieceOf('b')]).toArray()).rejects.toThrow(/gone|[Pp]remature/);
  });
});

describe('work on many items', () => {
  it('goes on a few at a time, and its results are in order', async () => {
    let running = 0;
    let most = 0;
    const results = await mapConcurrently([30, 10, 20, 0, 5], { limit: 2 }, async (turns, index) => {
      most = Math.max(most, ++running);
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      running--;
      return `${index}:${turns}`;
    });
    expect([most, results]).toEqual([2, ['0:30', '1:10', '2:20', '3:0', '4:5']]);
  });

  it('begins nothing more after a failure, aborts what is under way, and waits for its end', async () => {
    const abort = new AbortController();
    const begun: number[] = [];
    const ended: number[] = [];
    const work = async (item: number) => {
      begun.push(item);
      if (item === 1) throw new Error('the first failure');
      await once(abort.signal, 'abort');
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      ended.push(item);
      throw new Error('a later failure');
    };
    await expect(mapConcurrently([0, 1, 2, 3], { limit: 2, abort }, work)).rejects.toThrow('the first failure');
    expect([begun, ended]).toEqual([[0, 1], [0]]);
  });

  it('is not begun once it was aborted', async () => {
    const abort = new AbortController();
    abort.abort(new Error('the client went away'));
    const begun: number[] = [];
    await expect(mapConcurrently([0], { limit: 1, abort }, async (item) => void begun.push(item))).rejects.toThrow('went away');
    expect(begun).toEqual([]);
  });

  it('is nothing where there are no items', async () => expect(await mapConcurrently([], { limit: 3 }, async () => 1)).toEqual([]));
});
