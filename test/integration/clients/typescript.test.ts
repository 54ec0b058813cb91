/** The client in clients/typescript, as it is built, against a running service and over connections that break. */
import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type * as Client from '../../../clients/typescript/src/index.ts';
import { checkout, type Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';
import { type FlakyProxy, startFlakyProxy } from './flaky.ts';

const built = join(checkout, '.cache/client-typescript');
const PIECE = 65_536;
const SMALL = new File(['name,size\nkestrel,7\n'], 'table.csv');
/** Some 400 KB, as CSV and as TSV: no value has a comma. */
const rows = Array.from({ length: 20_000 }, (_, n) => ['kestrel', n, n * n]);
const LARGE = new File([['name,n,square', ...rows.map((row) => row.join(','))].join('\n')], 'squares.csv');
const TSV = ['name\tn\tsquare', ...rows.map((row) => row.join('\t'))].join('\n');

let service: Pick<Service, 'url'>;
let proxy: FlakyProxy;
let client: typeof Client;
let filemill: Client.Filemill;

beforeAll(async () => {
  await promisify(execFile)('node_modules/.bin/tsc', ['-p', 'clients/typescript/tsconfig.build.json', '--outDir', built], {
    cwd: checkout,
  });
  client = (await import(join(built, 'index.js'))) as typeof Client;
  service = await sharedService();
  proxy = await startFlakyProxy(service.url);
  filemill = client.createFilemill({ baseUrl: `${proxy.url}/`, pieceBytes: PIECE });
}, 300_000);
afterAll(async () => {
  await proxy?.close();
  await rm(built, { recursive: true, force: true });
});

const since = (begun: number, method: string, path: string) =>
  proxy.passed.slice(begun).filter((each) => each.method === method && each.path.startsWith(path));

it('a small file is converted in one call', async () => {
  const begun = proxy.passed.length;
  const result = await filemill.convert(SMALL, 'tsv');
  expect(result).toMatchObject({ filename: 'table-filemill.tsv', contentType: 'text/tab-separated-values', sizeBytes: 20 });
  expect(await (await result.blob()).text()).toBe('name\tsize\nkestrel\t7\n');
  expect(since(begun, 'POST', '/api/v1/uploads')).toEqual([]);
  await result.delete();
  expect((await fetch(`${service.url}/api/v1/jobs/${result.job.job_id}`)).status).toBe(410);
});

it('a large one arrives whole, although a piece, an answer and a download are lost', async () => {
  const begun = proxy.passed.length;
  proxy.next('PATCH', '/api/v1/uploads/', 'cut request');
  proxy.next('PATCH', '/api/v1/uploads/', 'lose');
  proxy.next('POST', '/api/v1/convert', 'lose');
  proxy.next('GET', '/api/v1/jobs/', 'cut answer');
  const result = await filemill.convert(LARGE, 'tsv');
  expect((await (await result.blob()).text()).trimEnd()).toBe(TSV);
  const offsets = since(begun, 'PATCH', '/api/v1/uploads/').map(({ headers }) => Number(headers['upload-offset']));
  // What arrived of the first piece is not sent again.
  expect(offsets.filter((offset) => offset === 0).length).toBeLessThanOrEqual(2);
  expect(offsets.at(-1)).toBeGreaterThan(LARGE.size - 2 * PIECE);
  const keys = since(begun, 'POST', '/api/v1/convert').map(({ headers }) => headers['idempotency-key']);
  expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
  const outputs = since(begun, 'GET', `/api/v1/jobs/${result.job.job_id}/output`);
  expect(outputs.at(-1)?.headers.range).toMatch(/^bytes=[1-9]\d*-$/);
});

it('a refusal that may pass is waited for as long as it says', async () => {
  const begun = proxy.passed.length;
  proxy.next('POST', '/api/v1/convert', { refuse: 2 });
  await filemill.convert(SMALL, 'json');
  const [first, second] = since(begun, 'POST', '/api/v1/convert');
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(1_990);
});

it('another process goes on with an upload, and the same key is the same job', async () => {
  const stopped = new AbortController();
  let uploadId = '';
  const onUpload = (id: string) => {
    uploadId = id;
    proxy.next('HEAD', `/api/v1/uploads/${id}`, 'lose');
    setTimeout(() => stopped.abort(new Error('stopped')), 50);
  };
  await expect(filemill.convert(LARGE, 'tsv', { onUpload, signal: stopped.signal })).rejects.toThrow('stopped');
  const other = client.createFilemill({ baseUrl: proxy.url, pieceBytes: PIECE });
  const options = { uploadId, idempotencyKey: `client-${uploadId}` };
  const [one, same] = [await other.convert(LARGE, 'tsv', options), await other.convert(LARGE, 'tsv', options)];
  expect(same.job.job_id).toBe(one.job.job_id);
  expect((await (await same.blob()).text()).trimEnd()).toBe(TSV);
});

it.each([
  ['a format that there is none of', 'nonsense', {}, 'INVALID_FORMAT', 400],
  ['an option out of bounds', 'html', { options: { img_quality: 101 } }, 'INVALID_OPTION', 400],
  ['an upload that is gone', 'tsv', { uploadId: `upl_${'0'.repeat(32)}` }, 'UPLOAD_NOT_FOUND', 404],
])('%s is refused once, by its code', async (_, to, options, code, status) => {
  const begun = proxy.passed.length;
  const refused = await filemill.convert(SMALL, to, options).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(client.FilemillError);
  expect(refused).toMatchObject({ code, status, isRetryable: false });
  expect(proxy.passed.length - begun).toBe(1);
});

it('everything else of the API is there in its types', async () => {
  const { data } = await filemill.api.GET('/api/v1/formats', { params: { query: { from: 'csv' } } });
  expect(data?.data.sources.flatMap(({ targets }) => targets.map(({ format }) => format))).toContain('tsv');
});
