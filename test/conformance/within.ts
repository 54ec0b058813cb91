/** Around each case of a suite: a separate harness, closed whatever happens. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

interface Closable {
  close(): Promise<void>;
}

/** @returns what makes a case of work with a harness */
export const withinEach =
  <H extends Closable>(open: () => Promise<H>) =>
  (work: (harness: H) => Promise<void>) =>
  async (): Promise<void> => {
    const harness = await open();
    try {
      await work(harness);
    } finally {
      await harness.close();
    }
  };

/** Opens a store on a separate database file, once and again, and closes all of it with the folder. */
export async function inOneFile<S extends Closable>(open: (path: string) => S) {
  const folder = await mkdtemp(join(tmpdir(), 'filemill-store-'));
  const path = join(folder, 'filemill.db');
  const opened: S[] = [];
  const reopen = async () => {
    const store = open(path);
    opened.push(store);
    return store;
  };
  return {
    first: await reopen(),
    reopen,
    path,
    /** Another process's statement. */
    sql(text: string, ...values: string[]) {
      const database = new DatabaseSync(path);
      database.prepare(text).run(...values);
      database.close();
    },
    async close() {
      for (const store of opened) await store.close();
      await rm(folder, { recursive: true });
    },
  };
}
