/** The store of batches of one machine, held to its suite. */
import { describe } from 'vitest';
import { openSqliteBatches } from '../../src/jobs/sqlite/batches.ts';
import { batchesSuite } from './batches.ts';
import { inOneFile } from './within.ts';

describe('batches in SQLite', () =>
  batchesSuite(async () => {
    const told: Error[] = [];
    const { sql, ...rest } = await inOneFile((path) => openSqliteBatches(path, (found) => told.push(found)));
    return { ...rest, told, damage: async (id) => sql("UPDATE batches SET record = '{' WHERE id = ?", id) };
  }));
