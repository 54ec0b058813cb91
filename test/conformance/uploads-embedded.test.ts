/** The store of uploads of one machine, held to its suite. */
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { openUploads } from '../../src/uploads/sqlite.ts';
import { collect } from './samples.ts';
import { uploadsSuite } from './uploads.ts';
import { inOneFile } from './within.ts';

async function open() {
  const told: Error[] = [];
  return { ...(await inOneFile((path) => openUploads(path, (why) => told.push(why)))), told };
}

describe('uploads in SQLite', () => {
  uploadsSuite(open);

  it('pass over a damaged record in a scan, and say so', async () => {
    const { first, path, told, close } = await open();
    const database = new DatabaseSync(path);
    database.exec("INSERT INTO uploads (id, client, bytes, expires, record) VALUES ('x', 'one', 1, 1, '{')");
    database.close();
    expect(await collect(first.scan())).toEqual([]);
    expect(told).toHaveLength(1);
    await expect(first.get('x')).rejects.toThrow('cannot be read');
    await close();
  });
});
