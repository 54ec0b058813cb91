/** Types of Avro (Apache Avro 1.12, "Specification") as columns of Arrow, and back. */
import {
  Bool,
  type DataType,
  DateDay,
  Decimal,
  Field,
  FixedSizeBinary,
  Float32,
  Float64,
  Int32,
  Int64,
  DataType as Is,
  Map_,
  Null,
  Struct,
  TimeMicrosecond,
  TimeMillisecond,
  Timestamp,
  TimeUnit,
} from 'apache-arrow';
import { beyond, FileRefused, MOST_LEVELS } from '../values/value.ts';
import { BYTES, listType, TEXT } from './make.ts';
import { damaged, isBytesColumn, isTextColumn, plainType } from './raw.ts';

/** A schema as it stands in a file, with names of types resolved: where one is within itself, it is the same object. */
export interface AvroType {
  readonly kind: string;
  readonly logical?: string;
  readonly fields: readonly { readonly name: string; readonly type: AvroType }[];
  readonly items?: AvroType;
  readonly options: readonly AvroType[];
  readonly symbols: readonly string[];
  readonly size: number;
  readonly precision: number;
  readonly scale: number;
}

const PRIMITIVES = new Set(['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string']);
const MOST_TYPES = 10_000;

type Mutable = { -readonly [Key in keyof AvroType]: AvroType[Key] };
const bare = (kind: string): Mutable => ({ kind, fields: [], options: [], symbols: [], size: 0, precision: 0, scale: 0 });

/** @throws FileRefused */
export function avroTypeOf(schema: unknown): AvroType {
  const named = new Map<string, AvroType>();
  let types = 0;
  const read = (found: unknown, space: string, level: number): AvroType => {
    if (level > MOST_LEVELS) throw beyond('levels', MOST_LEVELS);
    if (++types > MOST_TYPES) throw beyond('types in the schema', MOST_TYPES);
    if (typeof found === 'string') {
      if (PRIMITIVES.has(found)) return bare(found);
      const known = named.get(found.includes('.') ? found : full(found, space)) ?? named.get(found);
      if (known === undefined) throw damaged();
      return known;
    }
    if (Array.isArray(found)) return { ...bare('union'), options: found.map((each) => read(each, space, level + 1)) };
    if (typeof found !== 'object' || found === null) throw damaged();
    const it = found as Readonly<Record<string, unknown>>;
    if (typeof it['type'] === 'object' && it['type'] !== null) return read(it['type'], space, level + 1);
    const type = bare(String(it['type']));
    if (typeof it['logicalType'] === 'string') type.logical = it['logicalType'];
    type.precision = Number(it['precision'] ?? 0);
    type.scale = Number(it['scale'] ?? 0);
    const own = String(it['name'] ?? '');
    const inner = own.includes('.') ? own.slice(0, own.lastIndexOf('.')) : String(it['namespace'] ?? space);
    if (['record', 'error', 'enum', 'fixed'].includes(type.kind)) named.set(full(own, inner), type).set(own, type);
    if (type.kind === 'array') type.items = read(it['items'], space, level + 1);
    else if (type.kind === 'map') type.items = read(it['values'], space, level + 1);
    else if (type.kind === 'enum') type.symbols = ((it['symbols'] ?? []) as readonly unknown[]).map(String);
    else if (type.kind === 'fixed') type.size = Number(it['size']);
    else if (type.kind === 'record' || type.kind === 'error') {
      type.kind = 'record';
      const fields = it['fields'];
      if (!Array.isArray(fields)) throw damaged();
      type.fields = fields.map((field: Readonly<Record<string, unknown>>) => ({
        name: String(field['name']),
        type: read(field['type'], inner, level + 1),
      }));
    } else if (!PRIMITIVES.has(type.kind)) {
      const known = named.get(full(type.kind, space)) ?? named.get(type.kind);
      if (known === undefined) throw damaged();
      return known;
    }
    if (type.kind === 'fixed' && !(Number.isInteger(type.size) && type.size >= 0 && type.size <= MOST_FIXED)) throw damaged();
    return type;
  };
  const root = read(schema, '', 0);
  boundColumns(root);
  return root;
}

/** A few records that name each other twice are millions of columns, one within the other. @throws FileRefused */
function boundColumns(root: AvroType): void {
  let count = 0;
  const visit = (type: AvroType, within: readonly AvroType[]): void => {
    if (++count > MOST_TYPES) throw beyond('types in the schema', MOST_TYPES);
    if (within.length > MOST_LEVELS) throw beyond('levels', MOST_LEVELS);
    if (within.includes(type)) return;
    const inside = [...within, type];
    for (const { type: field } of type.fields) visit(field, inside);
    const inner = type.kind === 'union' ? optionOf(type) : type.items;
    if (inner !== undefined) visit(inner, inside);
  };
  visit(root, []);
}
const MOST_FIXED = 1 << 20;
const full = (name: string, space: string): string => (name.includes('.') || space === '' ? name : `${space}.${name}`);

/** A union of nothing and one type, or of one: the others are kept as JSON. */
export function optionOf({ options }: AvroType): AvroType | undefined {
  const others = options.filter(({ kind }) => kind !== 'null');
  return others.length === 1 ? others[0] : undefined;
}

/** Precision that Arrow's decimals have. */
const [DECIMAL_128, DECIMAL_256] = [38, 76];

/** @param within types around it: one that contains itself becomes JSON @returns undefined where the value has to be text */
export function arrowTypeOf(type: AvroType, within: readonly AvroType[] = []): DataType | undefined {
  if (within.includes(type)) return undefined;
  const inside = [...within, type];
  const { kind, logical, precision, scale } = type;
  if (
    (kind === 'bytes' || kind === 'fixed') &&
    logical === 'decimal' &&
    precision > 0 &&
    precision <= DECIMAL_256 &&
    scale >= 0 &&
    scale <= precision
  )
    return new Decimal(scale, precision, precision <= DECIMAL_128 ? 128 : 256);
  switch (kind) {
    case 'null':
      return new Null();
    case 'boolean':
      return new Bool();
    case 'int':
      return logical === 'date' ? new DateDay() : logical === 'time-millis' ? new TimeMillisecond() : new Int32();
    case 'long':
      return momentOf(logical ?? '') ?? (logical === 'time-micros' ? new TimeMicrosecond() : new Int64());
    case 'float':
      return new Float32();
    case 'double':
      return new Float64();
    case 'bytes':
      return BYTES;
    case 'fixed':
      return new FixedSizeBinary(type.size);
    case 'string':
    case 'enum':
      return TEXT;
    case 'array':
      return type.items && listType(arrowTypeOf(type.items, inside) ?? TEXT);
    case 'map':
      return type.items && mapOf(arrowTypeOf(type.items, inside) ?? TEXT);
    case 'record':
      // Parquet has no structure without fields.
      return type.fields.length === 0
        ? undefined
        : new Struct(type.fields.map(({ name, type: inner }) => new Field(name, arrowTypeOf(inner, inside) ?? TEXT, true)));
    default: {
      const option = optionOf(type);
      return option && arrowTypeOf(option, inside);
    }
  }
}

const mapOf = (value: DataType): Map_ =>
  new Map_(new Field('entries', new Struct([new Field('key', TEXT, false), new Field('value', value, true)]), false) as never);

const UNITS = { millis: TimeUnit.MILLISECOND, micros: TimeUnit.MICROSECOND, nanos: TimeUnit.NANOSECOND } as const;

/** A moment in time, or one on the clock of wherever the reader is. */
function momentOf(logical: string): DataType | undefined {
  const [, local, unit] = /^(local-)?timestamp-(millis|micros|nanos)$/.exec(logical) ?? [];
  return unit === undefined ? undefined : new Timestamp(UNITS[unit as keyof typeof UNITS], local === undefined ? 'UTC' : null);
}

/** What a writer says of a column. */
export type AvroSchema = string | { readonly [key: string]: unknown } | readonly AvroSchema[];

/** @param nameOf makes a name that Avro allows, and that no other type has @throws FileRefused */
export function avroSchemaOf(of: DataType, nameOf: (name: string) => string, typeName: () => string): AvroSchema {
  const inner = (type: DataType): AvroSchema => ['null', avroSchemaOf(type, nameOf, typeName)];
  const type = plainType(of);
  if (Is.isNull(type)) return 'string';
  if (Is.isBool(type)) return 'boolean';
  if (Is.isInt(type)) {
    if (type.bitWidth < 32 || (type.bitWidth === 32 && type.isSigned)) return 'int';
    return type.bitWidth === 32 || type.isSigned ? 'long' : { type: 'bytes', logicalType: 'decimal', precision: 20, scale: 0 };
  }
  if (Is.isFloat(type)) return type.precision === 2 ? 'double' : 'float';
  if (Is.isDecimal(type)) return { type: 'bytes', logicalType: 'decimal', precision: type.precision, scale: type.scale };
  if (Is.isDate(type))
    return type.unit === 0 ? { type: 'int', logicalType: 'date' } : { type: 'long', logicalType: 'local-timestamp-millis' };
  if (Is.isTime(type))
    return type.unit <= TimeUnit.MILLISECOND ? { type: 'int', logicalType: 'time-millis' } : { type: 'long', logicalType: 'time-micros' };
  if (Is.isTimestamp(type)) {
    const unit = (['millis', 'millis', 'micros', 'nanos'] as const)[type.unit];
    return { type: 'long', logicalType: `${type.timezone ? '' : 'local-'}timestamp-${unit}` };
  }
  if (Is.isDuration(type)) return 'long';
  if (isTextColumn(type)) return 'string';
  if (Is.isFixedSizeBinary(type)) return { type: 'fixed', name: typeName(), size: type.byteWidth };
  if (isBytesColumn(type)) return 'bytes';
  if (Is.isList(type) || Is.isLargeList(type) || Is.isFixedSizeList(type)) return { type: 'array', items: inner(childOf(type)) };
  if (Is.isMap(type)) return { type: 'map', values: inner((childOf(type).children as unknown as readonly [Field, Field])[1].type) };
  if (Is.isStruct(type)) {
    const fields = type.children as readonly Field[];
    return {
      type: 'record',
      name: typeName(),
      fields: fields.map(({ name, type: each }) => ({ name: nameOf(name), type: inner(each), default: null })),
    };
  }
  throw new FileRefused('unsupported_variant', `A column has values of the type ${type}, which Avro does not have.`);
}

export const childOf = (type: DataType): DataType => (type.children?.[0] as Field | undefined)?.type ?? TEXT;
