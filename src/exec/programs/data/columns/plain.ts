/** Cells as the syntaxes of data have them: times and days by ISO 8601, bytes in Base64. */
import { DataType, type Field, TimeUnit } from 'apache-arrow';
import { type Datum, fieldsFrom } from '../values/value.ts';
import { plainType, type Raw } from './raw.ts';

const DAY_MS = 86_400_000;
/** Digits of a fraction of a second, by unit. */
export const DIGITS: Readonly<Record<number, number>> = {
  [TimeUnit.SECOND]: 0,
  [TimeUnit.MILLISECOND]: 3,
  [TimeUnit.MICROSECOND]: 6,
  [TimeUnit.NANOSECOND]: 9,
};

export function datumOf(of: DataType, value: Raw): Datum {
  if (value === null) return null;
  const type = plainType(of);
  if (DataType.isDecimal(type)) return decimal(value as bigint, type.scale);
  if (DataType.isFloat(type) && type.precision === 1) return shortest(value as number);
  if (DataType.isDate(type)) return dayOrMoment(type.unit === 0 ? BigInt(value as number) * BigInt(DAY_MS) : (value as bigint));
  if (DataType.isTimestamp(type)) return momentText(value as bigint, DIGITS[type.unit] ?? 0, type.timezone ? 'Z' : '');
  if (DataType.isTime(type)) return timeText(value as bigint, DIGITS[type.unit] ?? 0);
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Map) {
    const fields = type.children as readonly Field[];
    return fieldsFrom(fields.map(({ name, type: inner }) => [name, datumOf(inner, value.get(name) ?? null)] as const));
  }
  if (Array.isArray(value)) {
    const [child] = type.children as readonly Field[];
    if (child === undefined) return null;
    if (!DataType.isMap(type)) return value.map((each: Raw) => datumOf(child.type, each));
    const [key, item] = child.type.children as unknown as readonly [Field, Field];
    return fieldsFrom(
      (value as readonly (readonly Raw[])[]).map(
        ([one = null, other = null]) => [String(datumOf(key.type, one)), datumOf(item.type, other)] as const,
      ),
    );
  }
  return value as Datum;
}

/** The shortest that is the same in 32 bits: 0.1, not what is nearest to it there. */
function shortest(value: number): number {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return value;
}

/** A number where a double has all of its digits, else a text. */
function decimal(value: bigint, scale: number): Datum {
  const text = decimalText(value, scale);
  return text.replace(/\D/g, '').length <= 15 ? Number(text) : text;
}

export function decimalText(value: bigint, scale: number): string {
  if (scale <= 0) return String(value * 10n ** BigInt(-scale));
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
  return `${value < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

const floor = (value: bigint, by: bigint): bigint => (value - (((value % by) + by) % by)) / by;

/** A fraction without the zeros at its end, in threes. */
function fraction(value: bigint, digits: number): string {
  let text = digits === 0 ? '' : String(value).padStart(digits, '0');
  while (text.endsWith('000')) text = text.slice(0, -3);
  return text === '' ? '' : `.${text}`;
}

export function momentText(value: bigint, digits: number, zone: string): string {
  const unit = 10n ** BigInt(digits);
  const seconds = floor(value, unit);
  const at = new Date(Number(seconds) * 1000);
  // Beyond what calendars have.
  if (Number.isNaN(at.getTime())) return String(value);
  return `${at.toISOString().slice(0, -5)}${fraction(value - seconds * unit, digits)}${zone}`;
}

function dayOrMoment(milliseconds: bigint): string {
  const text = momentText(milliseconds, 3, '');
  return milliseconds % BigInt(DAY_MS) === 0n ? (text.split('T')[0] ?? text) : text;
}

function timeText(value: bigint, digits: number): string {
  const unit = 10n ** BigInt(digits);
  const seconds = Number(value / unit);
  const two = (part: number) => String(part).padStart(2, '0');
  return `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}${fraction(value % unit, digits)}`;
}

/** Whole numbers keep their digits. */
export const jsonOf = (value: Datum): string =>
  JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? JSON.rawJSON(String(each)) : each));
