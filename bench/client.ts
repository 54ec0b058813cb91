/** Load in a separate process: sends one file again and again over kept connections, and reports how long each took. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { basename } from 'node:path';

const [url = '', file = '', toFormat = '', fields = '{}', clients = '1', count = '1'] = process.argv.slice(2);
const BOUNDARY = 'filemill-bench-boundary';
const agent = new Agent({ keepAlive: true, maxSockets: Number(clients) });

/** Built once: the client's own work must not be what is measured. */
const body = Buffer.concat([
  ...Object.entries({ to_format: toFormat, ...(JSON.parse(fields) as Record<string, string>) }).map(([name, value]) =>
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`),
  ),
  Buffer.from(
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${basename(file)}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
  ),
  readFileSync(file),
  Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
]);

const call = (path: string, method: string, sent?: Buffer): Promise<{ status: number; bytes: Buffer }> =>
  new Promise((resolve, reject) => {
    const headers =
      sent === undefined ? {} : { 'content-type': `multipart/form-data; boundary=${BOUNDARY}`, 'content-length': sent.length };
    const outgoing = request(`${url}${path}`, { method, agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, bytes: Buffer.concat(chunks) }));
    });
    outgoing.on('error', reject).end(sent);
  });

/** Upload, conversion and download. @returns ms */
async function once(): Promise<number> {
  const started = performance.now();
  const { status, bytes } = await call('/api/v1/convert', 'POST', body);
  const { data } = JSON.parse(bytes.toString()) as { data?: { job_id: string; status: string } };
  if (status !== 200 || data?.status !== 'done') throw new Error(`answered ${status}: ${bytes.toString().slice(0, 300)}`);
  const output = await call(`/api/v1/jobs/${data.job_id}/output`, 'GET');
  if (output.status !== 200 || output.bytes.length === 0) throw new Error(`the output answered ${output.status}`);
  return performance.now() - started;
}

for (let warm = 0; warm < Math.max(4, 2 * Number(clients)); warm++) await once();
let left = Number(count);
const took: number[] = [];
const started = performance.now();
await Promise.all(
  Array.from({ length: Number(clients) }, async () => {
    while (left-- > 0) took.push(await once());
  }),
);
console.log(JSON.stringify({ took, seconds: (performance.now() - started) / 1000 }));
agent.destroy();
