/** When credentials are looked up, by a clock that the test moves. */
import { beforeEach, expect, it } from 'vitest';
import { type Credentials, credentialsOf } from '../../../src/objects/s3/credentials.ts';
import { s3Settings } from '../../../src/objects/settings.ts';

const MINUTE = 60_000;
const settings = s3Settings.parse({ endpoint: 'http://s3', bucket: 'files' });

let now: number;
let looked: number;
/** What the next look-up finds: credentials that live so long, ms, or a failure. */
let next: number | Error | undefined;
beforeEach(() => {
  now = 1_000_000;
  looked = 0;
  next = 60 * MINUTE;
});
async function lookUp(): Promise<Credentials> {
  looked++;
  if (next instanceof Error) throw next;
  return { accessKeyId: `key-${looked}`, secretAccessKey: 's', sessionToken: 't', expiresAt: next === undefined ? undefined : now + next };
}
const source = () => credentialsOf(settings, lookUp, () => now);
const keyAt = async (from: ReturnType<typeof source>, minutes: number): Promise<string> => {
  now = 1_000_000 + minutes * MINUTE;
  return (await from.get()).accessKeyId;
};

it('renews five minutes before the end', async () => {
  const from = source();
  expect(await keyAt(from, 0)).toBe('key-1');
  expect(await keyAt(from, 54.9)).toBe('key-1');
  expect(await keyAt(from, 55)).toBe('key-2');
});

it('renews credentials of a few minutes after half of their time', async () => {
  next = 4 * MINUTE;
  const from = source();
  expect([await keyAt(from, 0), await keyAt(from, 1.9), await keyAt(from, 2)]).toEqual(['key-1', 'key-1', 'key-2']);
});

it('looks again each minute where credentials name no end', async () => {
  next = undefined;
  const from = source();
  expect([await keyAt(from, 0), await keyAt(from, 0.9), await keyAt(from, 1)]).toEqual(['key-1', 'key-1', 'key-2']);
});

it('looks once for all callers', async () => {
  const from = source();
  const found = await Promise.all(Array.from({ length: 50 }, () => from.get()));
  expect([looked, new Set(found).size]).toEqual([1, 1]);
});

it('goes on with what it holds while none are handed out, until that has expired', async () => {
  const from = source();
  await from.get();
  next = Object.assign(new Error('canary'), { name: 'ServiceUnavailable' });
  expect(await keyAt(from, 56)).toBe('key-1');
  expect(await keyAt(from, 59.9)).toBe('key-1');
  await expect(keyAt(from, 60)).rejects.toThrow(/^no credentials were found \(ServiceUnavailable\)$/);
  next = 60 * MINUTE;
  expect(await keyAt(from, 61)).toMatch(/^key-/);
});

it('looks at most once a second while that fails', async () => {
  next = new Error('canary');
  const from = source();
  for (let turn = 0; turn < 50; turn++) await expect(from.get()).rejects.toThrow('no credentials');
  expect(looked).toBe(1);
});

it('replaces those that S3 refused, and says whether it found others', async () => {
  const from = source();
  const refused = await from.get();
  now += MINUTE;
  expect(await from.replace(refused)).toBe(true);
  expect((await from.get()).accessKeyId).toBe('key-2');
  expect([await from.replace(refused), looked]).toEqual([true, 2]);
});

it('looks again for what was refused though the timer of its pause fires before the clock has come so far', async () => {
  const from = source();
  const refused = await from.get();
  now += 999;
  expect(await from.replace(refused)).toBe(true);
});

it('leaves keys that are set as they are', async () => {
  const from = credentialsOf({ ...settings, accessKeyId: 'a', secretAccessKey: 'b' }, lookUp);
  const found = await from.get();
  expect(found).toEqual({ accessKeyId: 'a', secretAccessKey: 'b' });
  expect([await from.replace(found), looked]).toEqual([false, 0]);
});
