/** The store of deeds of one machine, held to its suite. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import type { DeedStore } from '../../src/jobs/idempotency.ts';
import { openDeeds } from '../../src/jobs/idempotency-sqlite.ts';
import { deedsSuite } from './deeds.ts';

describe('deeds in SQLite', () =>
  deedsSuite(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'filemill-deeds-'));
    const opened: DeedStore[] = [];
    const reopen = async () => {
      const store = openDeeds(join(folder, 'filemill.db'));
      opened.push(store);
      return store;
    };
    return {
      first: await reopen(),
      reopen,
      async close() {
        for (const store of opened) await store.close();
        await rm(folder, { recursive: true });
      },
    };
  }));
