/** Messages of the browser, which a pipe cuts anywhere. */
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { DevTools } from '../../../../src/exec/programs/documents/page/devtools.ts';

const MIB = 1 << 20;

it('a message is read however it is cut, and a large one in the time of its bytes', async () => {
  const from = new PassThrough();
  const tools = new DevTools(new PassThrough(), from);
  const heard: string[] = [];
  tools.listen('', (event) => heard.push(event));
  const [first, second] = [tools.send('Page.captureScreenshot'), tools.send('Page.enable')];
  const data = 'x'.repeat(24 * MIB);
  const text = Buffer.from(
    `${JSON.stringify({ method: 'before', params: {} })}\0${JSON.stringify({ id: 1, result: { data } })}\0${JSON.stringify({ id: 2, result: {} })}\0`,
  );
  const before = process.cpuUsage();
  // Ends of messages stand at the beginning, within and at the end of chunks.
  for (let at = 0; at < text.length; at += 1_000) if (!from.write(text.subarray(at, at + 1_000))) await new Promise(setImmediate);
  expect((await first)['data']).toHaveLength(data.length);
  expect(await second).toEqual({});
  expect(heard).toEqual(['before']);
  // Looked through from its beginning for each chunk, it took minutes.
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(5_000);
});
