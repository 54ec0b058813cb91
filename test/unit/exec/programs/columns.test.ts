/** Our program for tables with typed columns: what it keeps, read by other libraries, and files that are made to do harm. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import {
  Decimal,
  Dictionary,
  Int32,
  LargeUtf8,
  makeData,
  makeVector,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableFromArrays,
  tableToIPC,
  Utf8,
  Utf8View,
  vectorFromArray,
} from 'apache-arrow';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { afterAll, describe, expect, it } from 'vitest';
import { snappy } from '../../../../src/exec/programs/data/columns/blocks.ts';
import { contentOf } from '../../../kit/catalog/content.ts';
import { avroFile, avroLong, avroText, parquet, sqliteFile } from '../../../kit/fixtures/data/columns.ts';
import { arrowRows, parquetRows, parquetTypes } from '../../../kit/judges/documents/columns.ts';

const home = mkdtempSync(join(tmpdir(), 'filemill-columns-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

interface Told {
  readonly ok: boolean;
  readonly reason?: string;
  readonly says?: string;
  readonly details?: { readonly limit: string };
  readonly warnings?: readonly { readonly message: string }[];
}

/** @param content of a file, or of those of a folder by their names */
function convert(source: string, content: string | Uint8Array | Readonly<Record<string, string>>, target: string) {
  const folder = mkdtempSync(join(home, 'out-'));
  const isFile = typeof content === 'string' || content instanceof Uint8Array;
  const input = join(isFile ? home : mkdtempSync(join(home, 'in-')), `in.${source}`);
  if (isFile) writeFileSync(input, content);
  else {
    mkdirSync(input);
    for (const [name, text] of Object.entries(content)) writeFileSync(join(input, name), text);
  }
  const args = ['--max-old-space-size=512', 'src/exec/programs/data/columns.ts', input, source, folder, target];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 });
  const told = JSON.parse(stdout.trim().split('\n').at(-1) || JSON.stringify({ ok: false, reason: stderr })) as Told;
  const names = readdirSync(folder).sort();
  return { told, names, path: join(folder, names[0] ?? 'nothing') };
}
const messages = ({ warnings = [] }: Told) => warnings.map(({ message }) => message);

const PEOPLE = [
  '{"id": 9007199254740993, "name": "Ännä", "share": 0.5, "on": true, "tags": ["a", "b"], "home": {"city": "Rome", "floor": 2}, "note": null}',
  '{"id": 2, "name": "日本", "share": null, "on": false, "tags": [], "home": null, "note": "x"}',
].join('\n');

describe('records become columns', () => {
  it('of Parquet with their types, structures and lists', async () => {
    const { told, path } = convert('jsonl', PEOPLE, 'parquet');
    expect(told).toMatchObject({ ok: true, warnings: [] });
    expect(await parquetTypes(path)).toMatchObject({
      id: 'INT64',
      name: 'BYTE_ARRAY UTF8',
      share: 'DOUBLE',
      on: 'BOOLEAN',
      floor: 'INT64',
    });
    expect(await parquetRows(path)).toEqual([
      { id: 9007199254740993n, name: 'Ännä', share: 0.5, on: true, tags: ['a', 'b'], home: { city: 'Rome', floor: 2n }, note: null },
      { id: 2n, name: '日本', share: null, on: false, tags: [], home: undefined, note: 'x' },
    ]);
  });

  it('and come back as they were, by way of Avro, Arrow and Parquet', () => {
    const steps = ['avro', 'arrow', 'parquet', 'jsonl'];
    let [format, content]: [string, string | Buffer] = ['jsonl', PEOPLE];
    for (const target of steps) {
      const { path, told } = convert(format, content, target);
      expect(told, `${format} to ${target}`).toMatchObject({ ok: true, warnings: [] });
      [format, content] = [target, readFileSync(path)];
    }
    expect(String(content).trim()).toBe(PEOPLE.replaceAll(/(?<=[:,]) /g, ''));
  });

  it('of a CSV with days and moments, where all of a column are such', async () => {
    const text = 'day,at,zip,left\n2024-02-29,2024-01-01T10:00:00.123456Z,01234,1\n2023-01-01,2024-01-01T10:00:00Z,99999,\n';
    const { path } = convert('csv', text, 'parquet');
    expect(await parquetTypes(path)).toEqual({ day: 'INT32 DATE', at: 'INT64 TIMESTAMP_MICROS', zip: 'BYTE_ARRAY UTF8', left: 'INT64' });
    expect(convertedText('parquet', readFileSync(path), 'csv')).toBe(
      'day,at,zip,left\n2024-02-29,2024-01-01T10:00:00.123456Z,01234,1\n2023-01-01,2024-01-01T10:00:00Z,99999,\n',
    );
    const { path: other } = convert('csv', 'day\n2023-02-30\n2023-01-01\n', 'parquet');
    expect(await parquetTypes(other)).toEqual({ day: 'BYTE_ARRAY UTF8' });
  });

  it('of text where their values are of several types, which is said', async () => {
    const { told, path } = convert('json', '[{"a": 1}, {"a": "x"}, {"a": [true]}]', 'arrow');
    expect(messages(told)).toEqual(['Columns with values of several types are text: a.']);
    expect(await arrowRows(path)).toEqual([{ a: '1' }, { a: 'x' }, { a: '[true]' }]);
  });
});

const convertedText = (source: string, content: string | Uint8Array, target: string): string => {
  const { told, path } = convert(source, content, target);
  return told.ok ? readFileSync(path, 'utf8') : JSON.stringify(told);
};

describe('a table without rows', () => {
  it('has its columns', () => {
    for (const source of ['parquet', 'arrow', 'avro', 'sqlite']) {
      const { path } = convert('csv', 'a,b\n', source);
      for (const target of ['csv', 'fods']) expect(convertedText(source, readFileSync(path), target), source).toMatch(/\ba\b.*\bb\b/);
    }
  });

  it('is left out of a workbook where it has no cell, and refused where all are such', () => {
    const [one, none] = ['["a"]\n[1]\n', '[null]\n'];
    const { told, names } = convert('rows', { '001 Sheet1.rows': one, '002 Sheet2.rows': none, '003 Sheet3.rows': '["x"]\n' }, 'parquet');
    expect(told).toMatchObject({ ok: true, warnings: [] });
    expect(names).toEqual(['001 Sheet1.parquet', '002 Sheet3.parquet']);
    expect(convert('rows', { '001 a.rows': none, '002 b.rows': none }, 'sqlite').told.reason).toBe('corrupt_input');
  });
});

it('names each column of an Avro once, whatever letters it had', () => {
  const { path } = convert('csv', '日,本,__2,年\n1,2,3,4\n', 'avro');
  expect(convertedText('avro', readFileSync(path), 'csv')).toBe('_,__2,__2_2,__3\n1,2,3,4\n');
});

/** @param shift of the place in the buffer to which the second of two texts points */
const views = (shift = 0) => {
  const long = Buffer.from('longer than twelve');
  const bytes = new Uint8Array(32);
  const data = new DataView(bytes.buffer);
  data.setInt32(0, 2, true);
  bytes.set(Buffer.from('ab'), 4);
  data.setInt32(16, long.length, true);
  bytes.set(long.subarray(0, 4), 20);
  data.setInt32(28, shift, true);
  const column = makeData({ type: new Utf8View(), length: 2, nullCount: 0, views: bytes, variadicBuffers: [long] } as never);
  return tableToIPC(new Table({ a: makeVector(column as never) }), 'file');
};

describe('texts of Arrow', () => {
  it('may be views', () => {
    expect(convertedText('arrow', views(), 'csv')).toBe('a\nab\nlonger than twelve\n');
    for (const target of ['parquet', 'avro', 'sqlite']) {
      const { path } = convert('arrow', views(), target);
      expect(convertedText(target, readFileSync(path), 'csv'), target).toBe('a\nab\nlonger than twelve\n');
    }
  });

  it('may be large, beside words by number, in several batches', async () => {
    const all = Array.from({ length: 3000 }, (_, at) => `t${at}`);
    const table = new Table({
      a: vectorFromArray(all, new LargeUtf8()),
      b: vectorFromArray(
        all.map((_, at) => `w${at % 3}`),
        new Dictionary(new Utf8(), new Int32()),
      ),
      c: vectorFromArray(
        all.map((_, at) => `l${at % 2}`),
        new Dictionary(new LargeUtf8(), new Int32()),
      ),
    });
    const { path: packed } = convert('arrow', tableToIPC(table, 'file'), 'parquet');
    const { path } = convert('parquet', readFileSync(packed), 'arrow');
    const expected = all.map((a, at) => ({ a, b: `w${at % 3}`, c: `l${at % 2}` }));
    expect(await arrowRows(path)).toEqual(expected);
    expect(convertedText('arrow', readFileSync(path), 'jsonl')).toBe(expected.map((row) => `${JSON.stringify(row)}\n`).join(''));
  });
});

it('unpacks what repeats itself while it is written', () => {
  expect(Buffer.from(snappy(Buffer.from([13, 8, 97, 98, 99, 38, 3, 0]))).toString()).toBe('abcabcabcabca');
});

it('keeps every digit of decimals and whole numbers', () => {
  const schema = {
    type: 'record',
    name: 'r',
    fields: [
      { name: 'd', type: { type: 'bytes', logicalType: 'decimal', precision: 30, scale: 2 } },
      { name: 'n', type: 'long' },
    ],
  };
  const digits = 1234567890123456789012345n;
  const row = Buffer.concat([avroText(Buffer.from(digits.toString(16).padStart(22, '0'), 'hex')), avroLong(-(2n ** 63n))]);
  const { path } = convert('avro', avroFile(schema, [[1, row]]), 'parquet');
  expect(convertedText('parquet', readFileSync(path), 'csv')).toBe('d,n\n12345678901234567890123.45,-9223372036854775808\n');
  const { path: database } = convert('parquet', readFileSync(path), 'sqlite');
  expect(convertedText('sqlite', readFileSync(database), 'csv')).toBe('d,n\n12345678901234567890123.45,-9223372036854775808\n');
  const unsigned = tableToIPC(tableFromArrays({ a: new BigUint64Array([2n ** 64n - 1n, 7n]), b: new BigUint64Array([1n, 2n]) }), 'file');
  const { path: whole } = convert('arrow', unsigned, 'sqlite');
  expect(convertedText('sqlite', readFileSync(whole), 'jsonl')).toBe('{"a":"18446744073709551615","b":1}\n{"a":"7","b":2}\n');
});

describe('a database', () => {
  const two = () =>
    sqliteFile((database) => {
      database.exec(
        'CREATE TABLE a (id INTEGER, ok BOOLEAN, day DATE, raw BLOB, mixed); CREATE TABLE "b b" (x REAL); CREATE VIEW v AS SELECT 1',
      );
      database.exec("INSERT INTO a VALUES (1, 1, '2024-02-29', x'00ff', 1), (NULL, 0, NULL, NULL, 'x'); INSERT INTO \"b b\" VALUES (1.5)");
    });

  it('has its tables in one JSON, and one file for each elsewhere', async () => {
    const bytes = await two();
    const { told, path } = convert('sqlite', bytes, 'json');
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
      a: [
        { id: 1, ok: true, day: '2024-02-29', raw: 'AP8=', mixed: '1' },
        { id: null, ok: false, day: null, raw: null, mixed: 'x' },
      ],
      'b b': [{ x: 1.5 }],
    });
    expect(messages(told)).toEqual([
      'Columns with values of several types are text: a.mixed.',
      'Views and virtual tables are not part of the result: 1.',
    ]);
    const { names, path: first } = convert('sqlite', bytes, 'parquet');
    expect(names).toEqual(['001 a.parquet', '002 b b.parquet']);
    expect(await parquetTypes(first)).toEqual({
      id: 'INT64',
      ok: 'BOOLEAN',
      day: 'INT32 DATE',
      raw: 'BYTE_ARRAY',
      mixed: 'BYTE_ARRAY UTF8',
    });
  });

  it('has all tables but those of its virtual ones, whatever their names begin with', async () => {
    const bytes = await sqliteFile((database) =>
      database.exec('CREATE VIRTUAL TABLE t USING    fts5(x); CREATE TABLE t_more (y); INSERT INTO t_more VALUES (1)'),
    );
    const hidden = Buffer.from(
      bytes.toString('latin1').replace('CREATE VIRTUAL TABLE t USING    ', 'CREATE/**/VIRTUAL TABLE t USING '),
      'latin1',
    );
    for (const each of [bytes, hidden]) {
      const { told, path } = convert('sqlite', each, 'jsonl');
      expect(messages(told)).toEqual(['Views and virtual tables are not part of the result: 1.']);
      expect(readFileSync(path, 'utf8')).toBe('{"y":1}\n');
    }
  });

  it('has no column that is calculated when it is read', async () => {
    const bytes = await sqliteFile((database) =>
      database.exec(
        'CREATE TABLE a (x, b GENERATED ALWAYS AS (zeroblob(900000000)), c GENERATED ALWAYS AS (x + 1) STORED); INSERT INTO a (x) VALUES (1)',
      ),
    );
    const { told, path } = convert('sqlite', bytes, 'jsonl');
    expect(messages(told)).toEqual(['Columns that are calculated when they are read are not part of the result: a.b.']);
    expect(readFileSync(path, 'utf8')).toBe('{"x":1,"c":2}\n');
  });

  it('runs nothing of what is in it', async () => {
    const bytes = await sqliteFile((database) =>
      database.exec(
        "CREATE TABLE a (x); INSERT INTO a VALUES (1); CREATE VIEW v AS SELECT load_extension('/x'); CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM a; END",
      ),
    );
    expect(convertedText('sqlite', bytes, 'jsonl')).toBe('{"x":1}\n');
  });
});

const NULLS = { type: 'record', name: 'r', fields: [{ name: 'n', type: 'null' }] };
const LOOP = { type: 'record', name: 'l', fields: [{ name: 'next', type: ['null', 'l'] }] };
/** Each of twenty records has the one before it twice. */
const DOUBLING = Array.from({ length: 20 }).reduce<unknown>(
  (inner, _, at) => ({
    type: 'record',
    name: `r${at}`,
    fields: [
      { name: 'a', type: inner },
      { name: 'b', type: at === 0 ? 'int' : `r${at - 1}` },
    ],
  }),
  'int',
);
const columnless = () => {
  const rows = makeData({ type: new Struct([]), length: 30_000_000, nullCount: 0, children: [] });
  return tableToIPC(new Table(new RecordBatch(new Schema([]), rows as never)), 'file');
};
const scaled = () => {
  const type = new Decimal(2 ** 30, 10, 128);
  return tableToIPC(new Table({ a: makeVector(makeData({ type, length: 1, nullCount: 0, data: new Uint32Array(4) }) as never) }), 'file');
};
const dictionary = () => {
  const type = new Dictionary(new Utf8(), new Int32());
  const words = vectorFromArray(['a'], new Utf8());
  const column = makeVector(makeData({ type, length: 2, nullCount: 0, data: new Int32Array([0, 7]), dictionary: words }));
  return tableToIPC(new Table({ a: column }), 'file');
};
const shared = () => {
  // Each of the lists is the whole of the same 60,000 values.
  const bytes = tableToIPC(tableFromArrays({ a: [Array.from({ length: 3 }, (_, at) => at)] }), 'file');
  return bytes.subarray(0, bytes.length - 12);
};

describe('does no harm', () => {
  const half = (bytes: Uint8Array) => bytes.subarray(0, Math.floor(bytes.length / 2));
  it.each<[string, string, () => Uint8Array | Promise<Uint8Array>, string, object]>([
    ['a Parquet that is cut', 'parquet', () => half(parquet(contentOf('a'))), 'json', { reason: 'corrupt_input' }],
    ['an Arrow that is cut', 'arrow', shared, 'json', { reason: 'corrupt_input' }],
    ['an Avro that is cut', 'avro', () => half(avroFile('string', [[1, avroText('x'.repeat(99))]])), 'json', { reason: 'corrupt_input' }],
    [
      'a database that is cut',
      'sqlite',
      async () => half(await sqliteFile((database) => database.exec('CREATE TABLE a (x)'))),
      'json',
      { reason: 'corrupt_input' },
    ],
    ['numbers of words that a dictionary does not have', 'arrow', dictionary, 'json', { reason: 'corrupt_input' }],
    ['a view of bytes that are not there', 'arrow', () => views(1000), 'json', { reason: 'corrupt_input' }],
    ['a decimal with millions of zeros', 'arrow', scaled, 'json', { reason: 'corrupt_input' }],
    ['rows without a column', 'arrow', columnless, 'json', { reason: 'corrupt_input' }],
    [
      'a schema that doubles with each line',
      'avro',
      () => avroFile(DOUBLING, [[0, Buffer.alloc(0)]]),
      'json',
      { details: { limit: 'types in the schema' } },
    ],
    [
      'records that have no key in common',
      'jsonl',
      () => Buffer.from(Array.from({ length: 4000 }, (_, at) => `{"k${at}":1}`).join('\n')),
      'arrow',
      { details: { limit: 'cells of a table' } },
    ],
    [
      'rows without a byte, without end',
      'avro',
      () => avroFile(NULLS, [[2n ** 50n, Buffer.alloc(0)]]),
      'json',
      { details: { limit: 'values' } },
    ],
    [
      'a list without a byte, without end',
      'avro',
      () => avroFile({ type: 'array', items: 'null' }, [[1, avroLong(2n ** 50n)]]),
      'json',
      { details: { limit: 'values' } },
    ],
    ['a type within itself', 'avro', () => avroFile(LOOP, [[1, Buffer.alloc(5_000, 2)]]), 'json', { details: { limit: 'levels' } }],
    [
      'a block that unpacks to a thousand times its size',
      'avro',
      () => avroFile('string', [[1, deflateRawSync(Buffer.alloc(300 << 20))]], 'deflate'),
      'json',
      { details: { limit: 'bytes of a block' } },
    ],
    [
      'millions of rows in a few bytes',
      'parquet',
      () => new Uint8Array(parquetWriteBuffer({ columnData: [{ name: 'a', data: new Int32Array(6_000_000), type: 'INT32' }] })),
      'json',
      { details: { limit: 'values' } },
    ],
  ])('%s', async (_, source, make, target, told) => {
    expect(convert(source, await make(), target).told).toMatchObject({ ok: false, ...told });
  });
});
