/** The store of batches of one machine, held to its suite. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import type { BatchStore } from '../../src/jobs/batch.ts';
import { openBatches } from '../../src/jobs/batches-sqlite.ts';
import { batchesSuite } from './batches.ts';

describe('batches in SQLite', () =>
  batchesSuite(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'filemill-batches-'));
    const opened: BatchStore[] = [];
    const reopen = async () => {
      const store = openBatches(join(folder, 'filemill.db'));
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
