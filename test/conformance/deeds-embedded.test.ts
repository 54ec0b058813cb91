/** The store of deeds of one machine, held to its suite. */
import { describe } from 'vitest';
import { openDeeds } from '../../src/jobs/idempotency-sqlite.ts';
import { deedsSuite } from './deeds.ts';
import { inOneFile } from './within.ts';

describe('deeds in SQLite', () =>
  deedsSuite(async () => {
    const { sql, ...rest } = await inOneFile(openDeeds);
    return { ...rest, damage: async (key) => sql("UPDATE deeds SET record = '{' WHERE key = ?", key) };
  }));
