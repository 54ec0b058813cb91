/** Data of an older filemill is taken over, all of it or nothing; data of a newer one is refused, and stays as it is. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import { ORDER_VERSION } from '../../../src/contracts/messages/order.ts';
import { RECORD_VERSION } from '../../../src/jobs/record.ts';
import { DATA_VERSION, type DataStep, NewerData, refuseNewer, takeOver } from '../../../src/sqlite/data-version.ts';
import { UPLOAD_VERSION } from '../../../src/uploads/store.ts';

const root = mkdtempSync(join(tmpdir(), 'filemill-data-version-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let files = 0;
const newPath = (): string => join(root, `${++files}.db`);

/** A later filemill: its first step is ours, its second adds a table. */
const SECOND: DataStep = (database) => database.exec("CREATE TABLE shelves (name TEXT) STRICT; INSERT INTO shelves VALUES ('first')");
const LATER: readonly DataStep[] = [() => {}, SECOND];

function read(path: string, sql: string): unknown {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return Object.values(database.prepare(sql).get() ?? {})[0];
  } finally {
    database.close();
  }
}
function writeOld(path: string): void {
  const database = new DatabaseSync(path);
  database.exec("CREATE TABLE jobs (id TEXT, record TEXT); INSERT INTO jobs VALUES ('a', 'b')");
  database.close();
}

describe('a data folder', () => {
  it('that is new gets the version of the program, without any step', () => {
    const path = newPath();
    const fails: DataStep = () => {
      throw new Error('a step ran');
    };
    expect(takeOver(path, '0.1.0', 1, [fails])).toBeUndefined();
    expect(read(path, 'PRAGMA user_version')).toBe(1);
    expect(read(path, 'SELECT version FROM programs')).toBe('0.1.0');
  });

  it('from before there were versions is taken over, with what it holds', () => {
    const path = newPath();
    writeOld(path);
    expect(takeOver(path, '0.1.0', 1)).toBe(0);
    expect([read(path, 'PRAGMA user_version'), read(path, 'SELECT record FROM jobs')]).toEqual([DATA_VERSION, 'b']);
  });

  it('is taken over step by step, once', () => {
    const path = newPath();
    writeOld(path);
    expect(takeOver(path, '0.2.0', 1, LATER)).toBe(0);
    expect(takeOver(path, '0.2.1', 2, LATER)).toBe(2);
    expect([read(path, 'SELECT count(*) FROM shelves'), read(path, 'SELECT count(*) FROM programs')]).toEqual([1, 2]);
  });

  it('stays as it was where a step fails, and is taken over by the next try', () => {
    const path = newPath();
    takeOver(path, '0.1.0', 1);
    const breaks: DataStep = (database) => {
      SECOND(database);
      throw new Error('the disk is full');
    };
    expect(() => takeOver(path, '0.2.0', 2, [() => {}, breaks])).toThrow('the disk is full');
    expect(read(path, 'PRAGMA user_version')).toBe(1);
    expect(read(path, "SELECT count(*) FROM sqlite_schema WHERE name = 'shelves'")).toBe(0);
    expect(takeOver(path, '0.2.0', 3, LATER)).toBe(1);
  });

  it('of a newer filemill is refused by the one before, which says which to start, and writes nothing', () => {
    const path = newPath();
    takeOver(path, '0.2.0', 1, LATER);
    const before = readFileSync(path);
    const says =
      /was written by filemill 0\.2\.0 \(version 2 of the data\), and this one, 0\.1\.0, reads versions up to 1: start filemill 0\.2\.0/;
    expect(() => takeOver(path, '0.1.0', 2)).toThrow(NewerData);
    expect(() => refuseNewer(path, '0.1.0')).toThrow(says);
    expect(readFileSync(path)).toEqual(before);
  });

  it('of a newer filemill that did not say its version is refused too', () => {
    const path = newPath();
    writeOld(path);
    const database = new DatabaseSync(path);
    database.exec('PRAGMA user_version = 9');
    database.close();
    expect(() => takeOver(path, '0.1.0', 1)).toThrow(/was written by a newer filemill \(version 9 of the data\)/);
  });
});

// A record that the filemill before cannot read is newer data: this list is changed together with the steps.
it('has a version for the versions of all records', () =>
  expect({ data: DATA_VERSION, job: RECORD_VERSION, order: ORDER_VERSION, upload: UPLOAD_VERSION }).toEqual({
    data: 1,
    job: 1,
    order: 1,
    upload: 1,
  }));
