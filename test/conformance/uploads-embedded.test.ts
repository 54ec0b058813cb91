/** The store of uploads of one machine, held to its suite. */
import { describe } from 'vitest';
import { openSqliteUploads } from '../../src/uploads/sqlite.ts';
import { uploadsSuite } from './uploads.ts';
import { inOneFile } from './within.ts';

describe('uploads in SQLite', () =>
  uploadsSuite(async () => {
    const told: Error[] = [];
    const { sql, ...rest } = await inOneFile((path) => openSqliteUploads(path, (why) => told.push(why)));
    return { ...rest, told, damage: async (id) => sql("UPDATE uploads SET record = '{' WHERE id = ?", id) };
  }));
