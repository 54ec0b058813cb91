/** Cells of Arrow's columns (Apache Arrow, "Columnar Format") as they are stored: no digit of a time or a decimal is lost on the way to another format. */
import { type Data, DataType, type Field, type Vector } from 'apache-arrow';
import { beyond, FileRefused, MOST_VALUES } from '../values/value.ts';

/**
 * A cell, by the type of its column: whole numbers of 64 bits, times and moments in the column's unit and decimals without their point are `bigint`; a day is
 * a number; a structure is a Map, a map a list of pairs.
 */
export type Raw = null | boolean | number | bigint | string | Uint8Array | readonly Raw[] | ReadonlyMap<string, Raw>;

/** Bytes of all values or blocks of a file together. */
export const MOST_DATA_BYTES = 1 << 30;

/** Counts what is read: lists and texts may share their values and bytes, and so have far more of them than the file. */
export interface Budget {
  left: number;
  bytes: number;
}
export const budgetOf = (): Budget => ({ left: MOST_VALUES, bytes: MOST_DATA_BYTES });
export function spend(budget: Budget, values = 1): void {
  budget.left -= values;
  if (budget.left < 0) throw beyond('values', MOST_VALUES);
}
export function spendBytes(budget: Budget, bytes: number): void {
  budget.bytes -= bytes;
  if (budget.bytes < 0) throw beyond('bytes of data', MOST_DATA_BYTES);
}

export const damaged = (): FileRefused => new FileRefused('corrupt_input');

/** The type of a column's values, whether or not it names them by numbers. */
export const plainType = (type: DataType): DataType => (DataType.isDictionary(type) ? plainType(type.dictionary as DataType) : type);

export function* rawsOf(column: Vector, budget: Budget): Generator<Raw> {
  for (const data of column.data) {
    const read = readerOf(data, budget);
    for (let at = 0; at < data.length; at++) yield read(at);
  }
}

type Read = (at: number) => Raw;

/** @throws FileRefused for a kind of column that no other format has */
function readerOf(data: Data, budget: Budget): Read {
  const read = valueReader(data, budget);
  return (at) => {
    spend(budget);
    return data.getValid(at) ? read(at) : null;
  };
}

/** @throws FileRefused where a column has fewer values than rows */
function requireWhole({ type, length, offset, values, valueOffsets, nullCount, nullBitmap }: Data): void {
  const bits = offset + length;
  if (nullCount > 0 && nullBitmap !== undefined && nullBitmap.length * 8 < bits) throw damaged();
  const offsets = valueOffsets as ArrayLike<unknown> | undefined;
  if (offsets !== undefined && offsets.length > 0 && length > 0 && offsets.length < length + 1) throw damaged();
  const found = values as ArrayLike<unknown> | undefined;
  if (offsets !== undefined || found === undefined || DataType.isNull(type)) return;
  const each = DataType.isFixedSizeBinary(type) ? type.byteWidth : DataType.isDecimal(type) ? type.bitWidth / 32 : 1;
  if (DataType.isBool(type) ? found.length * 8 < bits : found.length < length * each) throw damaged();
}

function valueReader(data: Data, budget: Budget): Read {
  if (!(DataType.isStruct(data.type) || DataType.isFixedSizeList(data.type))) requireWhole(data);
  const { type, values } = data as Data & { readonly values: ArrayLike<number | bigint> };
  if (DataType.isNull(type)) return () => null;
  if (DataType.isBool(type)) return (at) => (((values[(data.offset + at) >> 3] as number) >> ((data.offset + at) & 7)) & 1) === 1;
  if (DataType.isDecimal(type)) {
    if (!DECIMAL_BITS.includes(type.bitWidth) || Math.abs(type.scale) > MOST_SCALE) throw damaged();
    return decimalReader(values as ArrayLike<number>, type.bitWidth);
  }
  if (DataType.isFloat(type) && type.precision === 0) return (at) => halfOf(values[at] as number);
  if (DataType.isDate(type)) return type.unit === 0 ? (at) => Number(values[at]) : (at) => BigInt(values[at] ?? 0);
  if (DataType.isTime(type) || DataType.isTimestamp(type) || DataType.isDuration(type)) return (at) => BigInt(values[at] ?? 0);
  if (DataType.isInt(type) || DataType.isFloat(type)) return (at) => values[at] ?? null;
  if (DataType.isFixedSizeBinary(type)) return (at) => (values as Uint8Array).slice(at * type.byteWidth, (at + 1) * type.byteWidth);
  if (DataType.isStruct(type)) return structReader(data, budget);
  if (DataType.isDictionary(type)) return dictionaryReader(data, budget);
  if (DataType.isFixedSizeList(type)) {
    const item = itemsReader(data, budget);
    return (at) => item(at * type.listSize, (at + 1) * type.listSize);
  }
  if (DataType.isList(type) || DataType.isLargeList(type)) {
    const item = itemsReader(data, budget);
    return (at) => item(...rangeOf(data, at));
  }
  if (DataType.isMap(type)) {
    const item = itemsReader(data, budget);
    return (at) => item(...rangeOf(data, at)).map((entry) => [...(entry as ReadonlyMap<string, Raw>).values()]);
  }
  if (DataType.isUtf8View(type) || DataType.isBinaryView(type)) return viewReader(data, budget);
  if (isTextual(type)) return textReader(data, budget);
  throw new FileRefused('unsupported_variant', `A column has values of the type ${type}, which are not read.`);
}

export const isTextColumn = (type: DataType): boolean => DataType.isUtf8(type) || DataType.isLargeUtf8(type) || DataType.isUtf8View(type);
export const isBytesColumn = (type: DataType): boolean =>
  DataType.isBinary(type) || DataType.isLargeBinary(type) || DataType.isBinaryView(type) || DataType.isFixedSizeBinary(type);
const isTextual = (type: DataType): boolean => isTextColumn(type) || isBytesColumn(type);

/** Numbers of Arrow's Schema.fbs, Decimal; the most digits are those of 256 bits. */
const [DECIMAL_BITS, MOST_SCALE] = [[32, 64, 128, 256], 76];

const decoderOf = (type: DataType): ((bytes: Uint8Array) => string | Uint8Array) =>
  isTextColumn(type) ? (bytes) => TEXT.decode(bytes) : (bytes) => bytes.slice();
const TEXT = new TextDecoder();

function textReader(data: Data, budget: Budget): Read {
  const { type, values } = data as Data & { readonly values: Uint8Array };
  const decode = decoderOf(type);
  return (at) => {
    const [begin, end] = rangeOf(data, at);
    if (begin < 0 || end < begin || end > values.length) throw damaged();
    spendBytes(budget, end - begin);
    return decode(values.subarray(begin, end));
  };
}

/** A view: its length, then all of its bytes where they are few, else their beginning, the number of a buffer and the place there ("Variable-size Binary View Layout"). */
const [VIEW_BYTES, MOST_INLINE] = [16, 12];

function viewReader(data: Data, budget: Budget): Read {
  const { type, values, variadicBuffers } = data as Data & { readonly values: Uint8Array };
  if (values.length < data.length * VIEW_BYTES) throw damaged();
  const views = new DataView(values.buffer, values.byteOffset, values.byteLength);
  const decode = decoderOf(type);
  return (place) => {
    const at = place * VIEW_BYTES;
    const length = views.getInt32(at, true);
    const isInline = length <= MOST_INLINE;
    const bytes = isInline ? values : variadicBuffers[views.getInt32(at + 8, true)];
    const begin = isInline ? at + 4 : views.getInt32(at + 12, true);
    if (length < 0 || bytes === undefined || begin < 0 || begin + length > bytes.length) throw damaged();
    spendBytes(budget, length);
    return decode(bytes.subarray(begin, begin + length));
  };
}

function rangeOf({ valueOffsets }: Data, at: number): [begin: number, end: number] {
  const offsets = valueOffsets as unknown as ArrayLike<number | bigint>;
  return [Number(offsets[at]), Number(offsets[at + 1])];
}

function itemsReader({ children }: Data, budget: Budget): (begin: number, end: number) => readonly Raw[] {
  const [child] = children;
  if (child === undefined) throw damaged();
  const read = readerOf(child, budget);
  return (begin, end) => {
    if (!(begin >= 0 && end >= begin && end <= child.length)) throw damaged();
    return Array.from({ length: end - begin }, (_, at) => read(begin + at));
  };
}

function structReader({ type, children, length }: Data, budget: Budget): Read {
  const fields = (type.children ?? []) as readonly Field[];
  if (children.some((child) => child.length < length)) throw damaged();
  const readers = children.map((child) => readerOf(child, budget));
  return (at) => new Map(readers.map((read, place) => [fields[place]?.name ?? String(place), read(at)]));
}

function dictionaryReader(data: Data, budget: Budget): Read {
  const words = data.dictionary === undefined ? [] : [...rawsOf(data.dictionary, budget)];
  const numbers = data.values as ArrayLike<number | bigint>;
  return (at) => {
    const word = words[Number(numbers[at])];
    if (word === undefined) throw damaged();
    return word;
  };
}

/** Words of 32 bits, the lowest first. */
function decimalReader(values: ArrayLike<number>, bits: number): Read {
  const words = bits / 32;
  return (at) => {
    let value = 0n;
    for (let word = words - 1; word >= 0; word--) value = (value << 32n) | BigInt((values[at * words + word] ?? 0) >>> 0);
    return BigInt.asIntN(bits, value);
  };
}

/** IEEE 754, binary16. */
function halfOf(bits: number): number {
  const [sign, exponent, fraction] = [bits >> 15 === 1 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * 2 ** -14 * (fraction / 1024) : sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
}
