/** Container files of Avro (Apache Avro 1.12, "Object Container Files"). */
import { randomBytes } from 'node:crypto';
import { crc32, deflateRawSync, inflateRawSync, zstdDecompressSync } from 'node:zlib';
import { DataType, type Field, type Table, TimeUnit } from 'apache-arrow';
import { beyond, type Datum, FileRefused, fieldsFrom, MOST_LEVELS } from '../values/value.ts';
import { type AvroType, arrowTypeOf, avroSchemaOf, avroTypeOf, childOf } from './avro-types.ts';
import { MOST_UNPACKED, snappy } from './blocks.ts';
import { type Column, TEXT, tableFrom } from './make.ts';
import { datumOf, jsonOf } from './plain.ts';
import { type Budget, budgetOf, damaged, isTextColumn, plainType, type Raw, rawsOf, spend, spendBytes } from './raw.ts';
import { refusing } from './refusing.ts';

const MAGIC = Buffer.from('Obj\u0001', 'latin1');
const SYNC_BYTES = 16;

class Cursor {
  readonly bytes: Buffer;
  at = 0;
  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
  take(length: number): Buffer {
    if (!(length >= 0 && this.at + length <= this.bytes.length)) throw damaged();
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
  /** Zigzag, seven bits a byte. */
  long(): bigint {
    let [value, shift] = [0n, 0n];
    for (;;) {
      const byte = this.take(1)[0] ?? 0;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n));
      shift += 7n;
      if (shift > 63n) throw damaged();
    }
  }
  text(): string {
    return this.take(this.count()).toString();
  }
  /** Such as a length. */
  count(): number {
    const value = Number(this.long());
    if (!Number.isSafeInteger(value)) throw damaged();
    return value;
  }
}

/** @throws FileRefused */
export function readAvro(bytes: Buffer): { readonly table: Table; readonly asText: readonly string[] } {
  return refusing(() => {
    const file = new Cursor(bytes);
    if (!file.take(MAGIC.length).equals(MAGIC)) throw damaged();
    const budget = budgetOf();
    const head = new Map<string, Buffer>();
    blocks(file, budget, () => head.set(file.text(), file.take(file.count())));
    const sync = file.take(SYNC_BYTES);
    const root = avroTypeOf(JSON.parse(head.get('avro.schema')?.toString() ?? ''));
    const fields = root.kind === 'record' ? root.fields : [{ name: 'value', type: root }];
    const columns = fields.map(({ name, type }) => ({
      name,
      type: arrowTypeOf(type),
      read: columnReader(type, budget),
      values: [] as Raw[],
    }));
    const unpack = unpacker(head.get('avro.codec')?.toString() ?? 'null');
    while (file.at < bytes.length) {
      const rows = file.count();
      const block = new Cursor(unpack(file.take(file.count())));
      spendBytes(budget, block.bytes.length);
      if (!file.take(SYNC_BYTES).equals(sync) || rows < 0) throw damaged();
      for (let row = 0; row < rows; row++) {
        spend(budget);
        for (const { read, values } of columns) {
          spend(budget);
          values.push(read(block));
        }
      }
      if (block.at !== block.bytes.length) throw damaged();
    }
    const made: readonly Column[] = columns.map(({ name, type = TEXT, values }) => ({
      name,
      type: DataType.isNull(type) ? TEXT : type,
      values,
    }));
    return { table: tableFrom(made), asText: columns.flatMap(({ name, type }) => (type === undefined ? [name] : [])) };
  });
}

function unpacker(codec: string): (bytes: Buffer) => Buffer {
  switch (codec) {
    case 'null':
      return (bytes) => bytes;
    case 'deflate':
      return (bytes) => inflateRawSync(bytes, { maxOutputLength: MOST_UNPACKED });
    case 'zstandard':
      return (bytes) => zstdDecompressSync(bytes, { maxOutputLength: MOST_UNPACKED });
    case 'snappy':
      return (bytes) => {
        const whole = Buffer.from(snappy(bytes.subarray(0, -4)));
        if (bytes.length < 4 || crc32(whole) !== bytes.readUInt32BE(bytes.length - 4)) throw damaged();
        return whole;
      };
    default:
      throw new FileRefused(
        'unsupported_variant',
        `The blocks of the file are packed by ${codec.slice(0, 20)}, which is not read: deflate, snappy and zstandard are.`,
      );
  }
}

/** Items of an array or a map. */
function blocks(file: Cursor, budget: Budget, item: () => void): void {
  for (;;) {
    let count = file.count();
    if (count === 0) return;
    if (count < 0) {
      file.count();
      count = -count;
    }
    for (let each = 0; each < count; each++) {
      spend(budget);
      item();
    }
  }
}

type Read = (file: Cursor) => Raw;

/** How a column's values are read: as what `arrowTypeOf` makes of their type, or as text. */
function columnReader(type: AvroType, budget: Budget, within: readonly AvroType[] = []): Read {
  if (arrowTypeOf(type, within) === undefined) return jsonReader(type, budget);
  const inner = (of: AvroType) => columnReader(of, budget, [...within, type]);
  const { items } = type;
  switch (type.kind) {
    case 'array': {
      const item = items === undefined ? () => null : inner(items);
      return (file) => listIn(file, budget, () => item(file));
    }
    case 'map': {
      const item = items === undefined ? () => null : inner(items);
      return (file) => listIn(file, budget, () => [file.text(), item(file)]);
    }
    case 'record': {
      const fields = type.fields.map(({ name, type: of }) => [name, inner(of)] as const);
      return (file) => new Map(fields.map(([name, each]) => [name, each(file)]));
    }
    case 'union': {
      const options = type.options.map((option) => (option.kind === 'null' ? () => null : inner(option)));
      return (file) => chosen(file, options)(file);
    }
    default:
      return leafReader(type);
  }
}

/** A text stays as it is, and what is anything else is written as JSON. */
function jsonReader(type: AvroType, budget: Budget): Read {
  const known = new Map<AvroType, (file: Cursor, level: number) => Datum>();
  const readerOf = (of: AvroType): ((file: Cursor, level: number) => Datum) => {
    const found = known.get(of);
    if (found !== undefined) return found;
    const made = make(of);
    const read = (file: Cursor, level: number): Datum => {
      if (level > MOST_LEVELS) throw beyond('levels', MOST_LEVELS);
      return made(file, level + 1);
    };
    known.set(of, read);
    return read;
  };
  const make = (of: AvroType): ((file: Cursor, level: number) => Datum) => {
    const { items } = of;
    if (of.kind === 'array')
      return (file, level) => listIn(file, budget, () => (items === undefined ? null : readerOf(items)(file, level)));
    if (of.kind === 'map')
      return (file, level) =>
        fieldsFrom(listIn(file, budget, () => [file.text(), items === undefined ? null : readerOf(items)(file, level)] as const));
    // Its own type may be within it.
    if (of.kind === 'record')
      return (file, level) => fieldsFrom(of.fields.map(({ name, type: each }) => [name, readerOf(each)(file, level)] as const));
    if (of.kind === 'union')
      return (file, level) =>
        chosen(
          file,
          of.options.map((option) => (at: Cursor) => readerOf(option)(at, level)),
        )(file);
    const [leaf, column] = [leafReader(of), arrowTypeOf(of) ?? TEXT];
    return (file) => datumOf(column, leaf(file));
  };
  const read = readerOf(type);
  return (file) => {
    const value = read(file, 0);
    return value === null || typeof value === 'string' ? value : jsonOf(value);
  };
}

function chosen<Of>(file: Cursor, options: readonly Of[]): Of {
  const option = options[file.count()];
  if (option === undefined) throw damaged();
  return option;
}

function listIn<Item>(file: Cursor, budget: Budget, item: () => Item): Item[] {
  const items: Item[] = [];
  blocks(file, budget, () => items.push(item()));
  return items;
}

function leafReader(type: AvroType): Read {
  const { kind, symbols, size } = type;
  const column = arrowTypeOf(type);
  const isDecimal = column !== undefined && DataType.isDecimal(column);
  switch (kind) {
    case 'null':
      return () => null;
    case 'boolean':
      return (file) => file.take(1)[0] !== 0;
    case 'int':
      return type.logical === 'time-millis' ? (file) => file.long() : (file) => Number(file.long());
    case 'long':
      return (file) => file.long();
    case 'float':
      return (file) => file.take(4).readFloatLE();
    case 'double':
      return (file) => file.take(8).readDoubleLE();
    case 'bytes':
    case 'fixed': {
      const take = (file: Cursor) => file.take(kind === 'fixed' ? size : file.count());
      return isDecimal ? (file) => signed(take(file)) : (file) => Uint8Array.from(take(file));
    }
    case 'string':
      return (file) => file.text();
    default:
      return (file) => chosen(file, symbols);
  }
}

function signed(bytes: Buffer): bigint {
  return bytes.length === 0 ? 0n : BigInt.asIntN(8 * bytes.length, BigInt(`0x${bytes.toString('hex')}`));
}

const BLOCK_ROWS = 10_000;
/** A name as Avro allows it. */
const NAME = /^[A-Za-z_]\w{0,200}$/;

/** @returns the file, and what it lacks @throws FileRefused */
export function writeAvro(table: Table): { readonly bytes: Buffer; readonly warnings: readonly string[] } {
  const warnings = new Set<string>();
  let types = 0;
  const names = namer(warnings);
  const { fields } = table.schema;
  const own = names();
  const schema = {
    type: 'record',
    name: 'row',
    fields: fields.map(({ name, type }) => ({
      name: own(name),
      type: ['null', avroSchemaOf(type, names(), () => `type_${++types}`)],
      default: null,
    })),
  };
  const budget = budgetOf();
  const columns = fields.map(({ type }, at) => ({ type, values: rawsOf(table.getChildAt(at) as never, budget) }));
  const sync = randomBytes(SYNC_BYTES);
  const head = [
    ['avro.schema', JSON.stringify(schema)],
    ['avro.codec', 'deflate'],
  ].flatMap(([key = '', value = '']) => [text(key), text(value)]);
  const out: Buffer[] = [MAGIC, long(2n), ...head, long(0n), sync];
  for (let row = 0; row < table.numRows; row += BLOCK_ROWS) {
    const count = Math.min(BLOCK_ROWS, table.numRows - row);
    const block: Buffer[] = [];
    for (let each = 0; each < count; each++)
      for (const { type, values } of columns) write(block, type, values.next().value ?? null, warnings);
    const packed = deflateRawSync(Buffer.concat(block));
    out.push(long(BigInt(count)), long(BigInt(packed.length)), packed, sync);
  }
  return { bytes: Buffer.concat(out), warnings: [...warnings] };
}

/** Each name once in a record. */
const namer = (warnings: Set<string>) => (): ((name: string) => string) => {
  const taken = new Map<string, number>();
  return (name) => {
    const plainName = NAME.test(name)
      ? name
      : name
          .replace(/\W/g, '_')
          .replace(/^(?=\d|$)/, '_')
          .slice(0, 200);
    let [free, number] = [plainName, taken.get(plainName) ?? 1];
    while (taken.has(free)) free = `${plainName}_${++number}`;
    // The next one goes on from there.
    taken.set(plainName, number).set(free, taken.get(free) ?? 1);
    if (free !== name) warnings.add('Names of columns that Avro does not allow were changed.');
    return free;
  };
};

function long(value: bigint): Buffer {
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
  const bytes: number[] = [];
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
}
const data = (bytes: Uint8Array): Buffer => Buffer.concat([long(BigInt(bytes.length)), bytes]);
const text = (value: string): Buffer => data(Buffer.from(value));

/** A value behind the number of its option: all may be missing. */
function write(out: Buffer[], of: DataType, value: Raw, warnings: Set<string>): void {
  if (value === null) {
    out.push(long(0n));
    return;
  }
  out.push(long(1n));
  const type = plainType(of);
  const inner = (item: DataType, each: Raw) => write(out, item, each, warnings);
  if (value instanceof Map) for (const { name, type: field } of type.children as readonly Field[]) inner(field, value.get(name) ?? null);
  else if (DataType.isMap(type)) {
    const pairs = value as readonly (readonly Raw[])[];
    const [key, item] = childOf(type).children as unknown as readonly [Field, Field];
    if (pairs.length > 0) out.push(long(BigInt(pairs.length)));
    for (const [one = null, other = null] of pairs) {
      out.push(text(String(datumOf(key.type, one))));
      inner(item.type, other);
    }
    out.push(long(0n));
  } else if (Array.isArray(value)) {
    if (value.length > 0) out.push(long(BigInt(value.length)));
    for (const each of value as readonly Raw[]) inner(childOf(type), each);
    out.push(long(0n));
  } else out.push(scalar(type, value, warnings));
}

function scalar(type: DataType, value: Raw, warnings: Set<string>): Buffer {
  if (typeof value === 'boolean') return Buffer.from([value ? 1 : 0]);
  if (value instanceof Uint8Array) return DataType.isFixedSizeBinary(type) ? Buffer.from(value) : data(value);
  if (isTextColumn(type) || typeof value === 'string') return text(String(value));
  if (DataType.isDecimal(type) || (DataType.isInt(type) && type.bitWidth === 64 && !type.isSigned))
    return data(twosComplement(BigInt(value as bigint)));
  if (DataType.isFloat(type)) {
    const bytes = Buffer.alloc(type.precision === 2 ? 8 : 4);
    if (type.precision === 2) bytes.writeDoubleLE(Number(value));
    else bytes.writeFloatLE(Number(value));
    return bytes;
  }
  const whole = BigInt(value as bigint);
  if ((DataType.isTimestamp(type) || DataType.isTime(type)) && type.unit === TimeUnit.SECOND) return long(whole * 1000n);
  if (!DataType.isTime(type) || type.unit !== TimeUnit.NANOSECOND) return long(whole);
  if (whole % 1000n !== 0n) warnings.add('Avro counts times of day in microseconds: billionths of a second were cut off.');
  return long(whole / 1000n);
}

/** The highest byte first, as few as there may be. */
function twosComplement(value: bigint): Buffer {
  let length = 1;
  while (BigInt.asIntN(8 * length, value) !== value) length++;
  return Buffer.from(
    BigInt.asUintN(8 * length, value)
      .toString(16)
      .padStart(2 * length, '0'),
    'hex',
  );
}
