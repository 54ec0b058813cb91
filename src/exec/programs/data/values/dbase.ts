/**
 * Tables of dBASE III and IV, Clipper, FoxPro and Visual FoxPro: a head, a description of 32 bytes for each column, then rows that are all equally long
 * (dBASE, "Table File Structure"; Visual FoxPro, "Table File Structure").
 */
import { lossy, type Told } from '../../process/answer.ts';
import { encodingFor, toldOf } from '../../text/charset.ts';
import { decoderOf } from '../../text/code-pages.ts';
import { columnNames } from './records.ts';
import { beyond, type Datum, type Entries, FileRefused, fieldsFrom, MOST_VALUES, type Scalar } from './value.ts';

export interface TableRead {
  readonly value: Datum;
  readonly told: readonly Told[];
}

const HEAD_BYTES = 32;
const COLUMN_BYTES = 32;
const END_OF_COLUMNS = 0x0d;
const DELETED = 0x2a;

/** Encodings by the language driver, the byte at offset 29; most are listed twice, for DOS and for Windows. */
const CHARSETS: readonly (readonly [encoding: string, ...drivers: number[]])[] = [
  ['IBM437', 0x01, 0x09, 0x0b, 0x0d, 0x0f, 0x11, 0x15, 0x18, 0x19, 0x1b],
  ['IBM850', 0x02, 0x0a, 0x0e, 0x10, 0x12, 0x14, 0x16, 0x1a, 0x1d, 0x25, 0x37],
  ['IBM852', 0x1f, 0x22, 0x23, 0x40, 0x64, 0x87],
  ['IBM865', 0x08, 0x17, 0x66],
  ['IBM866', 0x26, 0x65],
  ['IBM737', 0x6a, 0x86],
  ['IBM857', 0x6b, 0x88],
  ['windows-1250', 0xc8],
  ['windows-1251', 0xc9],
  ['windows-1252', 0x03, 0x57, 0x58, 0x59],
  ['windows-1253', 0xcb],
  ['windows-1254', 0xca],
  ['windows-1255', 0x7d],
  ['windows-1256', 0x7e],
  ['windows-1257', 0xcc],
  ['windows-874', 0x50, 0x7c],
  ['shift_jis', 0x13, 0x7b],
  ['gbk', 0x4d, 0x7a],
  ['euc-kr', 0x4e, 0x79],
  ['big5', 0x4f, 0x78],
  ['macintosh', 0x04],
  ['x-mac-cyrillic', 0x96],
];

interface Column {
  readonly name: Buffer;
  readonly type: string;
  /** Offset in a row, and length. */
  readonly at: number;
  readonly length: number;
  /** Bits in the last column of a row: whether its text is shorter than the column, and whether it has no value. */
  readonly shorter: number | undefined;
  readonly empty: number | undefined;
}

/** @param charset counts more than what the table says @throws FileRefused */
export function readDbase(bytes: Buffer, charset?: string): TableRead {
  const [stated, begin, length] = [bytes.readUInt32LE(4), bytes.readUInt16LE(8), bytes.readUInt16LE(10)];
  const isVisual = (bytes[0] ?? 0) >> 4 === 3;
  const columns = columnsOf(bytes, begin);
  if (length < 2 || columns.some(({ at, length: width }) => at + width > length)) throw new FileRefused('corrupt_input');
  const shown = columns.filter(({ type }) => type !== '0');
  const count = Math.min(stated, Math.max(0, Math.floor((bytes.length - begin) / length)));
  if (count * shown.length > MOST_VALUES) throw beyond('values', MOST_VALUES, count * shown.length);
  const rows = Array.from({ length: count }, (_, row) => bytes.subarray(begin + row * length, begin + (row + 1) * length));
  const kept = rows.filter(([mark]) => mark !== DELETED);

  const { decode, told } = lettersOf(bytes[29] ?? 0, kept, shown, charset);
  const names = columnNames(
    shown.map(({ name }) => decode(name)),
    shown.length,
  );
  const flags = columns.find(({ type }) => type === '0')?.at;
  const fieldOf = fieldReader(isVisual, decode);
  const elsewhere = shown.filter(({ type }) => isElsewhere(type, isVisual)).length;
  const deleted = rows.length - kept.length;
  return {
    value: kept.map(
      (row): Entries => fieldsFrom(shown.map((column, place) => [names[place] ?? '', fieldOf(column, row, flagsIn(row, flags))] as const)),
    ),
    told: [
      ...told,
      ...lossy([
        ...(count === stated ? [] : [`Rows that the table announces are not in the file, which may have been cut off: ${stated - count}.`]),
        ...(elsewhere === 0 ? [] : [`Columns whose texts are in another file (.dbt or .fpt) are empty: ${elsewhere}.`]),
        ...(deleted === 0 ? [] : [`Rows that are marked as deleted are not part of the result: ${deleted}.`]),
      ]),
    ],
  };
}

function columnsOf(bytes: Buffer, begin: number): readonly Column[] {
  const columns: Column[] = [];
  let [place, bit] = [1, 0];
  for (let at = HEAD_BYTES; at + COLUMN_BYTES <= begin && bytes[at] !== END_OF_COLUMNS; at += COLUMN_BYTES) {
    const description = bytes.subarray(at, at + COLUMN_BYTES);
    const type = String.fromCharCode(description[11] ?? 0);
    // A text has no decimals: Clipper and FoxPro have the rest of its length there.
    const length = (description[16] ?? 0) + (type === 'C' ? 256 * (description[17] ?? 0) : 0);
    const end = description.indexOf(0);
    columns.push({
      name: description.subarray(0, end < 0 || end > 11 ? 11 : end),
      type,
      at: place,
      length,
      shorter: type === 'V' ? bit++ : undefined,
      empty: (description[18] ?? 0) & 2 ? bit++ : undefined,
    });
    place += length;
  }
  return columns;
}

/** How its texts are read: as the option says, as the table says, or as they look. */
function lettersOf(driver: number, rows: readonly Buffer[], columns: readonly Column[], charset?: string) {
  const stated = charset ?? CHARSETS.find(([, ...drivers]) => drivers.includes(driver))?.[0];
  if (stated !== undefined) return { decode: decoderOf(stated), told: [] };
  const texts = columns.filter(({ type }) => type === 'C' || type === 'V');
  const lines = rows.flatMap((row) => texts.flatMap(({ at, length }) => [row.subarray(at, at + length), LINE_END]));
  const { encoding, isGuessed } = encodingFor(Buffer.concat([...columns.map(({ name }) => name), LINE_END, ...lines]), []);
  return { decode: decoderOf(encoding), told: isGuessed ? toldOf({ text: '', guessed: encoding }) : [] };
}
const LINE_END = Buffer.from('\n');

/** Memos, pictures and other objects. */
const isElsewhere = (type: string, isVisual: boolean): boolean => 'MGP'.includes(type) || (type === 'B' && !isVisual);

const flagsIn =
  (row: Buffer, at: number | undefined) =>
  (bit: number | undefined): boolean =>
    at !== undefined && bit !== undefined && (((row[at + (bit >> 3)] ?? 0) >> (bit & 7)) & 1) === 1;

function fieldReader(isVisual: boolean, decode: (bytes: Buffer) => string) {
  return ({ type, at, length, shorter, empty }: Column, row: Buffer, isSet: ReturnType<typeof flagsIn>): Scalar => {
    if (isSet(empty) || isElsewhere(type, isVisual)) return null;
    const field = row.subarray(at, at + length);
    const ascii = field.toString('latin1').trim();
    switch (type) {
      case 'V':
        return decode(isSet(shorter) ? field.subarray(0, field.at(-1)) : field);
      case 'N':
      case 'F':
        return numberOf(ascii);
      case 'D':
        return /^\d{8}$/.test(ascii) ? ascii.replace(/(....)(..)(..)/, '$1-$2-$3') : null;
      case 'L':
        return /^[TtYy]$/.test(ascii) ? true : /^[FfNn]$/.test(ascii) ? false : null;
      case 'I':
        return length === 4 ? field.readInt32LE() : null;
      case 'B':
        return length === 8 ? finite(field.readDoubleLE()) : null;
      // Ten-thousandths.
      case 'Y':
        return length === 8 ? Number(field.readBigInt64LE()) / 10_000 : null;
      case 'T':
        return length === 8 ? timeOf(field.readUInt32LE(), field.readUInt32LE(4)) : null;
      default:
        return decode(withoutEnd(field));
    }
  };
}

/** Blanks and zeros fill a column. */
function withoutEnd(field: Buffer): Buffer {
  let end = field.length;
  while (end > 0 && (field[end - 1] === 0x20 || field[end - 1] === 0)) end--;
  return field.subarray(0, end);
}

const finite = (number: number): number | null => (Number.isFinite(number) ? number : null);

/** Asterisks stand for a number that its column has no room for. */
function numberOf(text: string): Scalar {
  if (/^[-+]?\d{1,255}$/.test(text)) return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text.replace('+', ''));
  return /^[-+.\deE]{1,255}$/.test(text) ? finite(Number(text)) : null;
}

/** Days of the Julian calendar, whose day 2,440,588 is the first of 1970, and ms. */
function timeOf(day: number, ms: number): string | null {
  const time = new Date((day - 2_440_588) * 86_400_000 + ms);
  return day === 0 || Number.isNaN(time.getTime()) ? null : time.toISOString().slice(0, 19);
}
