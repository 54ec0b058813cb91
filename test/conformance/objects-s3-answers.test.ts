/** What a store of objects makes of answers that a MinIO server does not give when asked to: those of a busy, a full, a foreign S3. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { openS3 } from '../../src/objects/s3/store.ts';
import { s3Settings } from '../../src/objects/settings.ts';
import { Missing, StoreFull } from '../../src/objects/store.ts';
import { bytesOf, collect, streamOf } from './samples.ts';

const failure = (promise: Promise<unknown>): Promise<unknown> => promise.then(() => undefined).catch((error: unknown) => error);

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

describe('another S3', () => {
  interface Answer {
    readonly status: number;
    readonly body?: string;
  }
  const refusal = (status: number, code: string): Answer => ({ status, body: `<Error><Code>${code}</Code><Key>canary</Key></Error>` });
  const EMPTY: Answer = { status: 200, body: '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>' };

  /** Answers requests one after the other, and all that follow like the last. The first is what a store is opened with. */
  const standIn = (...answers: readonly Answer[]) => standInBy((_, count) => answers[Math.min(count, answers.length - 1)] ?? EMPTY);
  async function standInBy(answer: (asked: string, count: number) => Answer) {
    let count = 0;
    const server = createServer((request, response) => {
      request.resume().on('end', () => {
        const { status, body } = answer(`${request.method} ${request.url}`, count++);
        response.writeHead(status).end(body);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    servers.push(server);
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const settings = s3Settings.parse({ endpoint, bucket: 'the-bucket', accessKeyId: 'someone', secretAccessKey: 'canary' });
    return { open: () => openS3(settings), asked: () => count };
  }
  const putTo = async (...answers: readonly Answer[]) => {
    const store = await (await standIn(EMPTY, ...answers)).open();
    return store.put('jobs/a/in', streamOf(Buffer.of(1)), 1);
  };

  const BUSY = refusal(503, 'SlowDown');

  it('that is busy is asked again', async () => expect(await putTo(BUSY, BUSY, EMPTY)).toMatchObject({ sizeBytes: 1 }));

  it('that stays busy is given up after three times', async () => {
    const { open, asked } = await standIn(EMPTY, BUSY);
    await expect((await open()).put('jobs/a/in', streamOf(Buffer.of(1)), 1)).rejects.toThrow(/HTTP 503/);
    expect(asked()).toBe(1 + 3);
  });

  const full = [
    refusal(507, 'XMinioStorageFull'),
    { status: 507 },
    refusal(403, 'QuotaExceeded'),
    refusal(400, 'XMinioAdminBucketQuotaExceeded'),
  ];
  it.each(full)('that answers $status $body is full', async (answer) => expect(await failure(putTo(answer))).toBeInstanceOf(StoreFull));

  it('that finds nothing in a range is read as nothing', async () => {
    const store = await (await standIn(EMPTY, refusal(416, 'InvalidRange'))).open();
    expect(await bytesOf(await store.get('jobs/a/in', { start: 9, end: 10 }))).toHaveLength(0);
  });

  it('whose bucket went away does not pass for one without the object', async () => {
    const store = await (await standIn(EMPTY, refusal(404, 'NoSuchBucket'))).open();
    const error = await failure(store.get('jobs/a/in'));
    expect(error).not.toBeInstanceOf(Missing);
    expect(String(error)).toMatch(/NoSuchBucket/);
  });

  it('that refuses is quoted by its code, and by nothing else', async () => {
    const error = await failure(putTo(refusal(403, 'SignatureDoesNotMatch')));
    expect(String(error)).toMatch(/did not take an object: SignatureDoesNotMatch \(HTTP 403\)/);
    expect(inspect(error)).not.toMatch(/canary|127\.0\.0\.1/);
  });

  it('that answers with a page for people is not quoted', async () => {
    const error = await failure(putTo({ status: 403, body: '<html><body>canary</body></html>' }));
    expect(inspect(error)).toMatch(/HTTP 403/);
    expect(inspect(error)).not.toMatch(/canary/);
  });

  it('that repeats a page of its listing is not followed for ever', async () => {
    const again = '<IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken>';
    const store = await (await standIn(EMPTY, { status: 200, body: `<ListBucketResult>${again}</ListBucketResult>` })).open();
    await expect(collect(store.scan(''))).rejects.toThrow(/repeats a page/);
  });

  it('that forbids creating the bucket is reported with the bucket and the missing right', async () => {
    const { open } = await standIn(refusal(404, 'NoSuchBucket'), refusal(403, 'AccessDenied'));
    await expect(open()).rejects.toThrow(/"the-bucket" does not exist and could not be created: .*s3:CreateBucket/);
  });

  it('where another process made the bucket first is used', async () => {
    const { open } = await standIn(refusal(404, 'NoSuchBucket'), refusal(409, 'BucketAlreadyOwnedByYou'), EMPTY);
    expect(await collect((await open()).scan(''))).toEqual([]);
  });

  const keys = Array.from({ length: 100 }, (_, index) => `jobs/${index}/in`);

  it('that knows no deletion of many is asked for one after the other', async () => {
    const deleted: string[] = [];
    const { open } = await standInBy((asked) => {
      if (asked.startsWith('POST')) return refusal(501, 'NotImplemented');
      if (asked.startsWith('DELETE')) deleted.push(asked.replace('DELETE /the-bucket/', ''));
      return asked.startsWith('DELETE') ? { status: 204 } : EMPTY;
    });
    const store = await open();
    await Promise.all(keys.map((key) => store.delete(key)));
    expect(deleted.toSorted()).toEqual(keys.toSorted());
  });

  it('that did not delete one of many is said to have failed for that one', async () => {
    const { open } = await standInBy((asked) => {
      if (asked.startsWith('DELETE')) return { status: 204 };
      const kept = '<Error><Key>jobs/60/in</Key><Code>AccessDenied</Code><Message>canary</Message></Error>';
      return asked.startsWith('POST') ? { status: 200, body: `<DeleteResult>${kept}</DeleteResult>` } : EMPTY;
    });
    const store = await open();
    const errors = await Promise.all(keys.map((key) => failure(store.delete(key))));
    expect(errors.findIndex((error) => error !== undefined)).toBe(60);
    expect(String(errors[60])).toMatch(/did not delete an object: AccessDenied/);
    expect(inspect(errors.filter((error) => error !== undefined))).not.toMatch(/canary/);
  });
});
