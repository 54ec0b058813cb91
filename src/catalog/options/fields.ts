/** Kinds of form fields: how a text becomes a value, and in words what is allowed. */
import { z } from 'zod';

/** Of any field's value, characters: a longer one is refused before anything looks at it. */
export const LONGEST_VALUE = 8192;

/** RFC 7578 sends text only: every schema starts from a string. */
export const text = z.string();
export const integer = (min: number, max: number, unit: string) =>
  text
    .regex(/^-?\d{1,9}$/)
    .transform(Number)
    .pipe(z.number().int().min(min).max(max))
    .describe(`integer, ${min} to ${max}${unit}`);
export const oneOf = <const T extends readonly string[]>(values: T) =>
  text
    .toLowerCase()
    .pipe(z.enum(values))
    .describe(`one of ${values.join(', ')}`);
export const numberOf = (values: readonly number[], unit: string) =>
  text
    .regex(/^\d{1,6}$/)
    .transform(Number)
    .pipe(z.literal(values))
    .describe(`one of ${values.join(', ')}${unit}`);
export const flag = text
  .toLowerCase()
  .pipe(z.enum(['true', 'false', '1', '0', 'on']))
  .transform((value) => value === 'true' || value === '1' || value === 'on')
  .pipe(z.boolean())
  .describe('one of true, false, 1, 0, on');

export const pixels = integer(16, 7680, ' px');
export const offset = integer(0, 1_000_000, ' px');
export const extent = integer(1, 1_000_000, ' px');
