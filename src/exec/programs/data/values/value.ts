/** What all syntaxes have in common: scalars, lists and objects, as in JSON; whole numbers of any size. */

export type Scalar = string | number | bigint | boolean | null;
export type Datum = Scalar | readonly Datum[] | { readonly [key: string]: Datum };
export type Entries = { readonly [key: string]: Datum };

/** Levels: deeper than any person writes, and shallow enough for every writer's stack. */
export const MOST_LEVELS = 200;
/** Values that a result may have. One that the file refers to several times counts each time. */
export const MOST_VALUES = 5_000_000;

/** Data that the target cannot hold, or a file that is not what it is named. */
export class FileRefused extends Error {
  readonly reason: 'corrupt_input' | 'unsupported_variant' | 'input_limit' | 'invalid_option' | 'model_not_installed';
  readonly says: string | undefined;
  readonly details: Limit | undefined;
  /** The option that does not fit the file; with the reason `invalid_option`. */
  readonly misfit: Misfit | undefined;
  constructor(reason: FileRefused['reason'], says?: string, details?: Limit, misfit?: Misfit) {
    super(says ?? reason);
    this.reason = reason;
    this.says = says;
    this.details = details;
    this.misfit = misfit;
  }
}

/** An option that asks for what this file does not have. */
interface Misfit {
  readonly option: string;
  readonly received: string;
  readonly allowed: string;
  readonly says: string;
}

interface Limit {
  readonly limit: string;
  readonly max?: number;
  readonly min?: number;
  readonly received: number;
}

/** @param received at least one more than may be, where the reader stopped there */
export const beyond = (limit: string, max: number, received = max + 1): FileRefused =>
  new FileRefused('input_limit', undefined, { limit, max, received });

/** Cells of a table that has a column for each key of any of its records, full or empty. */
const MOST_CELLS = 10_000_000;

/** Records that have few keys in common, and one row that is wider than all others, make far more cells than they fill. @throws FileRefused */
export function boundCells(rows: number, columns: number): void {
  if (rows * columns > MOST_CELLS) throw beyond('cells of a table', MOST_CELLS, rows * columns);
}

export const isList = (value: Datum | undefined): value is readonly Datum[] => Array.isArray(value);
export const isTable = (value: Datum | undefined): value is Entries => typeof value === 'object' && value !== null && !Array.isArray(value);

/** An object whose keys are plain data, even `__proto__`. */
export const fieldsFrom = (entries: Iterable<readonly [string, Datum]>): Entries => {
  const table: Record<string, Datum> = Object.create(null);
  for (const [key, value] of entries) table[key] = value;
  return table;
};

/**
 * What a reader's library returned, in the shape above: dates as ISO 8601, whole numbers that a double does not hold as `bigint`.
 * @throws FileRefused where it is too deep or too much
 */
export function asValue(found: unknown): Datum {
  let values = 0;
  const visit = (each: unknown, level: number): Datum => {
    if (level > MOST_LEVELS) throw beyond('levels', MOST_LEVELS);
    if (++values > MOST_VALUES) throw beyond('values', MOST_VALUES);
    if (each === undefined || each === null) return null;
    if (typeof each === 'bigint') return BigInt(Number(each)) === each && Number.isSafeInteger(Number(each)) ? Number(each) : each;
    if (typeof each === 'string' || typeof each === 'number' || typeof each === 'boolean') return each;
    if (each instanceof Date) return each.toISOString();
    if (each instanceof Uint8Array) return Buffer.from(each).toString('base64');
    if (Array.isArray(each) || each instanceof Set) return [...each].map((one) => visit(one, level + 1));
    const entries = each instanceof Map ? [...each].map(([key, one]) => [keyOf(key), one] as const) : Object.entries(each);
    return fieldsFrom(entries.map(([key, one]) => [key, visit(one, level + 1)]));
  };
  return visit(found, 0);
}

const keyOf = (key: unknown): string => (typeof key === 'object' && key !== null ? JSON.stringify(key) : String(key));
