/** Kinds of form fields: how to parse the text, and a description of what is allowed. */
import { z } from 'zod';

/** Longest value of any field, characters: longer ones are refused unread. */
export const LONGEST_VALUE = 8192;

/** RFC 7578 sends text only: every schema starts from a string. */
export const textField = z.string();
export const integer = (min: number, max: number, unit: string) =>
  textField
    .regex(/^-?\d{1,9}$/)
    .transform(Number)
    .pipe(z.number().int().min(min).max(max))
    .describe(`integer, ${min} to ${max}${unit}`);
/** With up to two decimals. */
export const decimal = (min: number, max: number, unit: string) =>
  textField
    .regex(/^-?\d{1,3}(\.\d{1,2})?$/)
    .transform(Number)
    .pipe(z.number().min(min).max(max))
    .describe(`number, ${min} to ${max}${unit}`);
export const oneOf = <const T extends readonly string[]>(values: T) =>
  textField
    .toLowerCase()
    .pipe(z.enum(values))
    .describe(`one of ${values.join(', ')}`);
export const numberOf = (values: readonly number[], unit: string) =>
  textField
    .regex(/^\d{1,6}$/)
    .transform(Number)
    .pipe(z.literal(values))
    .describe(`one of ${values.join(', ')}${unit}`);
export const flag = textField
  .toLowerCase()
  .pipe(z.enum(['true', 'false', '1', '0', 'on', 'off', 'yes', 'no']))
  .transform((value) => ['true', '1', 'on', 'yes'].includes(value))
  .pipe(z.boolean())
  .describe('one of true, false, 1, 0, on, off, yes, no');

/** What runs a tool that can work in several ways; which of them are here is known when a file arrives. */
export const modelName = textField.toLowerCase().max(64).describe('an installed model, or classical');

export const colour = textField
  .regex(/^#[0-9a-fA-F]{6}$/)
  .toLowerCase()
  .describe('#rrggbb');

/** The description of a field's schema, also of an optional one. */
export function wordsOf(schema: z.ZodType | undefined): string {
  if (schema === undefined) return '';
  const inner = 'unwrap' in schema ? (schema.unwrap as () => z.ZodType)() : undefined;
  return schema.description ?? wordsOf(inner);
}

/** What a field does, for people and assistants. */
export interface OptionText {
  /** What it does, in a sentence or two. */
  readonly means: string;
  /** The same for models, which read all texts with every request; unset: `means`. */
  readonly brief?: string;
  /** The default, if it is one fixed value. */
  readonly preset?: string | number | boolean;
  /** To send its default is not the same as not to send it. */
  readonly asks?: true;
  /** Where it has an effect: of several targets or sources. */
  readonly where?: string;
}

export const pixels = integer(16, 7680, ' px');
export const offset = integer(0, 1_000_000, ' px');
export const extent = integer(1, 1_000_000, ' px');
