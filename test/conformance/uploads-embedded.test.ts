/** The store of uploads of one machine, held to its suite. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { openUploads } from '../../src/uploads/sqlite.ts';
import type { UploadStore } from '../../src/uploads/store.ts';
import { collect } from './samples.ts';
import { uploadsSuite } from './uploads.ts';

async function open() {
  const folder = await mkdtemp(join(tmpdir(), 'filemill-uploads-'));
  const path = join(folder, 'filemill.db');
  const opened: UploadStore[] = [];
  const told: Error[] = [];
  const reopen = async () => {
    const store = openUploads(path, (why) => told.push(why));
    opened.push(store);
    return store;
  };
  return {
    first: await reopen(),
    reopen,
    path,
    told,
    async close() {
      for (const store of opened) await store.close();
      await rm(folder, { recursive: true });
    },
  };
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
