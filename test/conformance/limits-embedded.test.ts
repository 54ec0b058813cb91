/** Limits on one machine: SQLite held to the suite, and what is special about it. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RevisionConflict } from '../../src/errors.ts';
import { openSqliteJobs } from '../../src/jobs/sqlite/jobs.ts';
import { identifyWith } from '../../src/limits/clients/client.ts';
import { limiterOver } from '../../src/limits/limiter.ts';
import { NEW_CLIENT } from '../../src/limits/record.ts';
import { limitSettings } from '../../src/limits/settings.ts';
import { openSqliteLimits } from '../../src/limits/sqlite.ts';
import type { LimitStore } from '../../src/limits/store.ts';
import { limitsSuite } from './limits.ts';
import { jobId, START } from './samples.ts';

const newFolder = () => mkdtemp(join(tmpdir(), 'filemill-limits-'));

limitsSuite('SQLite', async () => {
  const folder = await newFolder();
  let now = START;
  const clock = () => now;
  const opened: LimitStore[] = [];
  const reopen = async () => {
    const store = openSqliteLimits(join(folder, 'filemill.db'), clock);
    opened.push(store);
    return store;
  };
  return {
    store: await reopen(),
    reopen,
    clock,
    elapse: async (ms) => {
      now += ms;
    },
    close: async () => {
      for (const store of opened) await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
});

describe('one SQLite file of limits', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await newFolder();
    path = join(folder, 'filemill.db');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('holds several processes to one limit, and forgets none of their requests', async () => {
    const src = new URL('../../src/', import.meta.url).href;
    const text = `
      import { limiterOver } from 'SRC/limits/limiter.ts';
      import { limitSettings } from 'SRC/limits/settings.ts';
      import { openSqliteLimits } from 'SRC/limits/sqlite.ts';
      const settings = limitSettings.parse({ daily: 70, cooldownMs: 0, rejections: 1000, concurrent: 1000 });
      const limiter = limiterOver(openSqliteLimits('${path}', Date.now), settings, { clock: Date.now, fateOf: async () => 'unfinished' });
      const client = { key: 'c', network: 'c', multiple: 1, bannable: true };
      const jobs = Array.from({ length: 40 }, (_, n) => process.pid + '-' + n);
      const answers = await Promise.all(jobs.map((job) => limiter.reserve(client, { via: 'rest', jobs: [job] })));
      console.log(answers.filter(({ granted }) => granted).length);
    `;
    const counts = Array.from({ length: 3 }, async () => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', text.replaceAll('SRC/', src)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const output: Buffer[] = [];
      child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
      expect(await once(child, 'close')).toEqual([0, null]);
      return Number(Buffer.concat(output).toString());
    });
    expect((await Promise.all(counts)).reduce((sum, count) => sum + count, 0)).toBe(70);
    const store = openSqliteLimits(path, Date.now);
    expect((await store.get('c'))?.record).toMatchObject({ windows: { daily: { used: 70 } } });
    await store.close();
  });

  it('is shared with the jobs', async () => {
    const [jobs, limits] = [openSqliteJobs(path, Date.now), openSqliteLimits(path, Date.now)];
    await limits.put('c', NEW_CLIENT, undefined, START);
    expect(await limits.get('c')).toBeDefined();
    await Promise.all([jobs.close(), limits.close()]);
  });

  it('forgets clients of whom nothing matters any more, and keeps the others', async () => {
    let now = START;
    const store = openSqliteLimits(path, () => now);
    for (let n = 0; n < 20; n++) await store.put(`old${n}`, NEW_CLIENT, undefined, START + 1_000 + n);
    const old = await store.get('old0');
    now += 2_000;
    for (let n = 0; n < 10; n++) await store.put(`new${n}`, NEW_CLIENT, undefined, now + 1_000);
    const left = await Promise.all(Array.from({ length: 20 }, (_, n) => store.get(`old${n}`)));
    expect(left.filter((found) => found !== undefined)).toEqual([]);
    expect(await store.get('new0')).toBeDefined();
    await expect(store.put('old0', NEW_CLIENT, old?.revision, now + 1_000)).rejects.toThrow(RevisionConflict);
    await store.put('old0', NEW_CLIENT, undefined, now + 1_000);
    await expect(store.put('old0', NEW_CLIENT, old?.revision, now + 1_000), 'a number is not given twice').rejects.toThrow(
      RevisionConflict,
    );
    await store.close();
  });

  for (const [which, text] of Object.entries({
    'that is not JSON': '{',
    'of a newer version': '{"version":2}',
    'of another shape': '[]',
  })) {
    it(`starts again with a record ${which}, says so, and can be written again`, async () => {
      const told: Error[] = [];
      const store = openSqliteLimits(path, Date.now, (found) => told.push(found));
      await store.put('c', NEW_CLIENT, undefined, START);
      const database = new DatabaseSync(path);
      database.prepare('UPDATE clients SET record = ?').run(text);
      database.close();
      const found = await store.get('c');
      expect(found?.record).toEqual(NEW_CLIENT);
      expect(told.map(({ message }) => message)).toEqual([expect.stringContaining('client c')]);
      await store.put('c', NEW_CLIENT, found?.revision, START);
      await store.close();
    });
  }

  it('holds no address in clear', async () => {
    const store = openSqliteLimits(path, Date.now);
    const client = identifyWith({ trustProxy: [], sharedEgress: [], salt: 's'.repeat(32) })('203.0.113.7', undefined);
    const limiter = limiterOver(store, limitSettings.parse({}), { clock: Date.now, fateOf: async () => 'unfinished' });
    await limiter.reserve(client, { via: 'rest', jobs: [jobId(1)] });
    await store.close();
    const written = await readFile(path, 'latin1');
    expect(written).toContain(client.key);
    expect(written).not.toContain(client.network);
  });
});
