/** The service on one machine while its only worker cannot work: new work is refused with the advice to come again. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../kit/api/wire.ts';
import { convert, type Service, startService } from '../../kit/roles/service.ts';

let service: Service;
beforeAll(async () => {
  // More than any disk has: it counts as full.
  service = await startService({ worker: { minFreeBytes: 2 ** 52 } });
});
afterAll(() => service?.stop());

it('says that it is degraded, and takes no work', async () => {
  const status = async () => ((await (await fetch(`${service.url}/api/v1/health`)).json()) as { data: { status: string } }).data.status;
  await eventually(async () => (await status()) === 'degraded', 'its health says so');
  const { status: code, error, headers } = await convert(service.url, { name: 'a.txt', bytes: Buffer.from('words') }, 'pdf');
  expect([code, error?.code, error?.details.retryable]).toEqual([503, 'OVERLOADED', true]);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
});
