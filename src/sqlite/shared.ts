/**
 * One connection for all stores of a process, which writes what they change together: one transaction for what happens within a few
 * milliseconds. Nothing is durable before `commit`, which everything waits for that tells others of a change (docs/decisions/0077).
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { BUSY_MS, type Database, PRAGMAS } from './open.ts';

/** A change is committed after this time at the latest, ms: a small conversion has ended by then, and other processes have their turn to write. */
const LATEST_MS = 50;

export class SharedDatabase {
  /** How often changes that were made, and not yet committed, were lost: the disk was full. */
  losses = 0;
  readonly #connection: DatabaseSync;
  #lost: unknown;
  #timer: NodeJS.Timeout | undefined;
  readonly #sql: Readonly<Record<'begin' | 'commit' | 'rollback' | 'save' | 'release' | 'undo', StatementSync>>;

  /** @param path of the file, in an existing folder */
  constructor(path: string) {
    this.#connection = new DatabaseSync(path, { timeout: BUSY_MS });
    this.#connection.exec(PRAGMAS);
    const prepare = (sql: string) => this.#connection.prepare(sql);
    this.#sql = {
      begin: prepare('BEGIN IMMEDIATE'),
      commit: prepare('COMMIT'),
      rollback: prepare('ROLLBACK'),
      save: prepare('SAVEPOINT work'),
      release: prepare('RELEASE work'),
      undo: prepare('ROLLBACK TO work'),
    };
  }

  /** Makes all changes so far durable. @param since `losses` when the caller began: what it knows may be gone since @throws SQLite's error */
  commit(since = this.losses): void {
    if (this.#connection.isTransaction) {
      clearTimeout(this.#timer);
      this.#guarded(() => this.#sql.commit.run(), 'all');
    }
    if (since !== this.losses) throw this.#lost;
  }

  /** The tables of one store. */
  open(schema: string): Database {
    this.commit();
    this.#connection.exec(schema);
    let isOpen = true;
    return {
      get isOpen() {
        return isOpen;
      },
      exec: (sql) => this.#change(() => this.#connection.exec(sql)),
      prepare: (sql) => {
        const statement = this.#connection.prepare(sql);
        if (/^\s*(?:SELECT|WITH)\b/i.test(sql)) return statement;
        // A cast: their types have two forms of each.
        const changing = <Call extends (...values: never[]) => unknown>(call: Call) =>
          ((...values: unknown[]) => this.#change(() => Reflect.apply(call, statement, values))) as unknown as Call;
        return { get: changing(statement.get), all: changing(statement.all), run: changing(statement.run) };
      },
      atomically: (work) => this.#change(() => this.#atomically(work)),
      close: () => {
        isOpen = false;
      },
    };
  }

  /** After all stores have closed. */
  close(): void {
    this.commit();
    this.#connection.close();
  }

  #change<T>(change: () => T): T {
    if (!this.#connection.isTransaction) {
      this.#sql.begin.run();
      // Where this fails, the answer that tells of the change does, too.
      this.#timer = setTimeout(() => {
        try {
          this.commit();
        } catch {}
      }, LATEST_MS);
    }
    return this.#guarded(change, 'own');
  }

  #atomically<T>(work: () => T): T {
    this.#sql.save.run();
    try {
      const result = work();
      this.#sql.release.run();
      return result;
    } catch (error) {
      if (this.#connection.isTransaction) {
        this.#sql.undo.run();
        this.#sql.release.run();
      }
      throw error;
    }
  }

  /** @param loses of a failure: `all` changes that are not committed, or only its own, unless SQLite has undone all (https://sqlite.org/lang_transaction.html) */
  #guarded<T>(work: () => T, loses: 'all' | 'own'): T {
    try {
      return work();
    } catch (error) {
      const isOpen = this.#connection.isTransaction;
      if (loses === 'own' && isOpen) throw error;
      clearTimeout(this.#timer);
      if (isOpen) this.#sql.rollback.run();
      this.losses++;
      this.#lost = error;
      throw error;
    }
  }
}
