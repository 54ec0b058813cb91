// `helm test`: a real conversion through the API, from a picture made here to a result that is checked.
import { crc32, deflateSync } from 'node:zlib';

const api = process.env.API;
const LIMIT_MS = 120_000;
const end = Date.now() + LIMIT_MS;

function png(side) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const header = Buffer.from([0, 0, 0, side, 0, 0, 0, side, 8, 2, 0, 0, 0]);
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(side * 3, 200)]);
  const pixels = deflateSync(Buffer.concat(Array(side).fill(row)));
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const ask = (path, options) => fetch(`${api}${path}`, { ...options, signal: AbortSignal.timeout(60_000) });
let last = 'nothing was answered';
while (Date.now() < end) {
  try {
    const form = new FormData();
    form.append('file', new Blob([png(64)], { type: 'image/png' }), 'test.png');
    form.append('to_format', 'jpg');
    const answer = await ask('/api/v1/convert', { method: 'POST', body: form });
    const body = await answer.json();
    last = JSON.stringify(body);
    let job = body.data;
    while (job?.status === 'processing' && Date.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      job = (await (await ask(`/api/v1/jobs/${job.job_id}`)).json()).data;
    }
    if (job?.status === 'done') {
      const output = Buffer.from(await (await ask(`/api/v1/jobs/${job.job_id}/output`)).arrayBuffer());
      if (output.subarray(0, 3).toString('hex') !== 'ffd8ff') throw new Error(`the output is no JPEG: ${output.length} bytes`);
      console.log(`converted a PNG to a JPEG of ${output.length} bytes with ${job.engine?.name} ${job.engine?.version}`);
      process.exit(0);
    }
    // No route yet: the first worker has not reported. Anything that a client did wrong will not change.
    if (answer.status === 500) break;
  } catch (error) {
    last = `${error.message} ${error.cause ?? ''}`;
  }
  await new Promise((resolve) => setTimeout(resolve, 2_000));
}
console.error(`no conversion within ${LIMIT_MS / 1000} s; the last answer: ${last}`);
process.exit(1);
