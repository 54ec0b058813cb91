/** Where S3's credentials come from when none are set: temporary ones of a real MinIO, handed out as clusters do, and renewed. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openS3, type S3Store } from '../../src/objects/s3/store.ts';
import type { S3Settings } from '../../src/objects/settings.ts';
import { AccessDenied } from '../../src/objects/store.ts';
import { download } from '../../src/objects/transfer.ts';
import { type Minio, startMinio } from '../kit/objects/minio.ts';
import { openS3Front, type S3Front } from '../kit/objects/s3-front.ts';
import { bytesOf, streamOf } from './samples.ts';
import { asFile, asMetadata, assumeRole, asWebIdentity, type Endpoint, openEndpoint, type Temporary } from './temporary-credentials.ts';

const MIB = 1_048_576;
const HOUR_MS = 3_600_000;
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

let minio: Minio;
let front: S3Front;
let folder: string;
beforeAll(async () => {
  minio = await startMinio();
  front = await openS3Front(minio.endpoint);
  folder = await mkdtemp(join(tmpdir(), 'filemill-credentials-'));
});
afterAll(async () => {
  await front?.close();
  await minio?.stop();
  await rm(folder, { recursive: true, force: true });
});

const endpoints: Endpoint[] = [];
beforeEach(() => {
  // Nothing of the machine that runs the test.
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) vi.stubEnv(name, undefined);
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(folder, 'credentials'));
  vi.stubEnv('AWS_CONFIG_FILE', join(folder, 'config'));
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const endpoint of endpoints.splice(0)) await endpoint.close();
  await rm(join(folder, 'credentials'), { force: true });
});

const endpoint = async (answer: Parameters<typeof openEndpoint>[0]): Promise<Endpoint> => {
  const opened = await openEndpoint(answer);
  endpoints.push(opened);
  return opened;
};
const settings = (): S3Settings => {
  const { accessKeyId: _, secretAccessKey: __, ...rest } = minio.settings({ endpoint: front.endpoint });
  return rest;
};
const expectUsable = async (store: S3Store): Promise<void> => {
  const bytes = randomBytes(1_000);
  await store.put('jobs/a/in', streamOf(bytes), 1_000);
  expect(await bytesOf(await store.get('jobs/a/in'))).toEqual(bytes);
  const granted = await store.grantRead('jobs/a/in', 60_000);
  expect(new URL(granted).searchParams.get('X-Amz-Security-Token')).toBeTruthy();
  expect(Buffer.from(await (await fetch(granted)).arrayBuffer())).toEqual(bytes);
  const put = await fetch(await store.grantWrite('jobs/a/out', 60_000), { method: 'PUT', body: 'out' });
  expect(put.status).toBe(200);
};

/** The container endpoint: credentials from `next`, which say that they live for an hour. */
async function container(next: () => Promise<Temporary>, livesMs = HOUR_MS): Promise<Endpoint> {
  const opened = await endpoint(async () => asMetadata(await next(), Date.now() + livesMs));
  vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `${opened.url}/credentials`);
  return opened;
}

describe('credentials that are not set', () => {
  it('come from a shared file, and again when those have expired', async () => {
    const write = async (found: Temporary) => {
      await writeFile(join(folder, 'next'), asFile(found));
      await rename(join(folder, 'next'), join(folder, 'credentials'));
    };
    const first = await assumeRole(minio);
    await write(first);
    const store = await openS3(settings());
    await expectUsable(store);
    await write(await assumeRole(minio));
    front.expired.add(first.accessKeyId);
    // A HEAD is refused without a word.
    expect(await store.head('jobs/none')).toBeUndefined();
    await expectUsable(store);
  });

  it('come from STS for a web identity', async () => {
    await writeFile(join(folder, 'token'), 'a-token-of-the-cluster');
    const sts = await endpoint(async () => asWebIdentity(await assumeRole(minio), Date.now() + HOUR_MS));
    vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', join(folder, 'token'));
    vi.stubEnv('AWS_ROLE_ARN', 'arn:aws:iam::123456789012:role/filemill');
    vi.stubEnv('AWS_ENDPOINT_URL_STS', sts.url);
    await expectUsable(await openS3(settings()));
    expect(sts.asked).toHaveLength(1);
    const asked = new URLSearchParams(sts.asked[0]?.split(' ').at(-1));
    expect(asked.get('Action')).toBe('AssumeRoleWithWebIdentity');
    expect(asked.get('WebIdentityToken')).toBe('a-token-of-the-cluster');
  });

  it('come from the metadata of the instance', async () => {
    const metadata = await endpoint(async (path) => {
      if (path === '/latest/api/token') return 'a-session';
      return path.endsWith('/security-credentials/') ? 'a-role' : asMetadata(await assumeRole(minio), Date.now() + HOUR_MS);
    });
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', undefined);
    vi.stubEnv('AWS_EC2_METADATA_SERVICE_ENDPOINT', metadata.url);
    await expectUsable(await openS3(settings()));
    expect(metadata.asked).toHaveLength(3);
  });

  it('come from the endpoint of the container, once for all that ask at the same time', async () => {
    const { asked } = await container(() => assumeRole(minio));
    const store = await openS3(settings());
    await Promise.all(Array.from({ length: 20 }, () => store.head('jobs/none')));
    await expectUsable(store);
    expect(asked).toEqual(['GET /credentials']);
  });

  it('may expire while a file is put by parts', async () => {
    const handed: Temporary[] = [];
    const { asked } = await container(async () => {
      const next = await assumeRole(minio);
      handed.push(next);
      return next;
    });
    const store = await openS3(settings());
    const bytes = randomBytes(30 * MIB);
    const source = Readable.from(
      (async function* () {
        for (let sent = 0; sent < 30; sent++) {
          // Two parts are there.
          if (sent === 12) front.expired.add(handed[0]?.accessKeyId ?? '');
          yield bytes.subarray(sent * MIB, (sent + 1) * MIB);
        }
      })(),
      { objectMode: false },
    );
    expect(await store.put('jobs/a/in', source, 30 * MIB)).toEqual({ sizeBytes: 30 * MIB, sha256: sha256(bytes) });
    expect(sha256(await bytesOf(await store.get('jobs/a/in')))).toBe(sha256(bytes));
    expect(await minio.unfinished()).toEqual([]);
    expect(asked).toHaveLength(2);
  });

  it('are renewed in good time, before the store refuses any', async () => {
    const { asked } = await container(() => assumeRole(minio), 3_000);
    const store = await openS3(settings());
    await vi.waitFor(
      async () => {
        expect(await store.head('jobs/none')).toBeUndefined();
        expect(asked.length).toBeGreaterThan(2);
      },
      { timeout: 10_000, interval: 100 },
    );
  });
});

describe('a granted URL', () => {
  it('is not promised to live longer than the credentials that sign it', async () => {
    await container(() => assumeRole(minio), 20 * 60_000);
    const ends = Date.now() + 20 * 60_000;
    const store = await openS3(settings());
    for (const granted of [await store.grantRead('jobs/a/in', 90 * 60_000), await store.grantWrite('jobs/a/out', 90 * 60_000)]) {
      const asked = new URL(granted).searchParams;
      const [, date = '', time = ''] = /^(\d{8})T(\d{6})Z$/.exec(asked.get('X-Amz-Date') ?? '') ?? [];
      const signed = Date.parse(`${date.replace(/(....)(..)(..)/, '$1-$2-$3')}T${time.replace(/(..)(..)(..)/, '$1:$2:$3')}Z`);
      const lives = signed + Number(asked.get('X-Amz-Expires')) * 1_000;
      expect(lives).toBeLessThanOrEqual(ends + 1_000);
      expect(lives).toBeGreaterThan(ends - 10_000);
    }
  });

  it('that has ended with its credentials is told as one to be asked for again, and that one holds', async () => {
    const handed: Temporary[] = [];
    await container(async () => {
      const next = await assumeRole(minio);
      handed.push(next);
      return next;
    });
    const store = await openS3(settings());
    await store.put('jobs/a/in', streamOf(Buffer.from('hello')), 5);
    const first = await store.grantRead('jobs/a/in', 60_000);
    front.expired.add(handed[0]?.accessKeyId ?? '');
    const path = join(folder, 'downloaded');
    const fetched = (url: string) => download(url, path, 5, AbortSignal.timeout(10_000));
    await expect(fetched(first)).rejects.toThrow(AccessDenied);
    // A grant asks the store for nothing: what renews them is a call that is refused, or the time.
    await store.head('jobs/a/in');
    await fetched(await store.grantRead('jobs/a/in', 60_000));
    expect(await readFile(path, 'utf8')).toBe('hello');
  });
});

describe('where no credentials are to be had', () => {
  const cases: Record<string, () => Promise<unknown>> = {
    'because no source has any': async () => {},
    'because their endpoint fails': async () => {
      const failing = await endpoint(async () => 500);
      vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `${failing.url}/canary`);
    },
    'because their endpoint does not answer': async () => {
      const silent = await endpoint(async () => undefined);
      vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `${silent.url}/canary`);
    },
    'because STS refuses the token': async () => {
      await writeFile(join(folder, 'token'), 'canary');
      const sts = await endpoint(async () => 403);
      vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', join(folder, 'token'));
      vi.stubEnv('AWS_ROLE_ARN', 'arn:aws:iam::123456789012:role/canary');
      vi.stubEnv('AWS_ENDPOINT_URL_STS', sts.url);
    },
  };
  for (const [why, arrange] of Object.entries(cases)) {
    it(`${why}, the bucket cannot be used, and nothing secret is said`, { timeout: 30_000 }, async () => {
      await arrange();
      const error = await openS3(settings(), { callMs: 12_000, stallMs: 60_000 }).catch((thrown: unknown) => thrown);
      expect(String(error)).toMatch(/The S3 bucket "[^"]+" cannot be used: (no credentials were found|.* within 12 s)/);
      expect(inspect(error)).not.toMatch(/canary|127\.0\.0\.1|123456789012/);
    });
  }
});
