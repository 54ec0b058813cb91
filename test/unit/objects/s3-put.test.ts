/** What the uploads of one process hold in memory together. */
import { PassThrough, Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { S3Call } from '../../../src/objects/s3/call.ts';
import { putTo } from '../../../src/objects/s3/put.ts';

const MIB = 1 << 20;
const MOST = 100 * MIB;
/** It answers whatever is asked. */
const call: S3Call = async () => undefined as never;

/** A file of which three megabytes have come. */
function begin(put: ReturnType<typeof putTo>) {
  const source = new PassThrough({ highWaterMark: 4 * MIB });
  source.write(Buffer.alloc(3 * MIB));
  return { source, stored: put('jobs/a/input-0', source, MOST) };
}

it('a file is refused where those that are being stored hold all that they may, and is taken when one has ended', async () => {
  const put = putTo(call, 'files', new Map(), 10 * MIB);
  const [one, two] = [begin(put), begin(put)];
  await setImmediate();
  await expect(begin(put).stored).rejects.toMatchObject({ code: 'OVERLOADED' });
  expect(await put('jobs/a/input-1', Readable.from([Buffer.alloc(1_000)]), MOST)).toMatchObject({ sizeBytes: 1_000 });
  one.source.end();
  expect(await one.stored).toMatchObject({ sizeBytes: 3 * MIB });
  const four = begin(put);
  await setImmediate();
  for (const { source, stored } of [two, four]) {
    source.destroy(new Error('the client went away'));
    await expect(stored).rejects.toThrow('the client went away');
  }
  const last = begin(put);
  last.source.end(Buffer.alloc(4 * MIB));
  expect(await last.stored).toMatchObject({ sizeBytes: 7 * MIB });
});
