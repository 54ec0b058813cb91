/** The store of idempotency records of one machine, held to its suite. */
import { describe } from 'vitest';
import { openSqliteIdempotency } from '../../src/jobs/sqlite/idempotency.ts';
import { idempotencySuite } from './idempotency.ts';
import { inOneFile } from './within.ts';

describe('idempotency records in SQLite', () =>
  idempotencySuite(async () => {
    const { sql, ...rest } = await inOneFile(openSqliteIdempotency);
    return { ...rest, damage: async (key) => sql("UPDATE idempotency SET record = '{' WHERE key = ?", key) };
  }));
