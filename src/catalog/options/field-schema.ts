/** The JSON Schema (2020-12) of a form field, with numbers and booleans as such, although a form sends text. */
import { z } from 'zod';
import { wordsOf } from './fields.ts';

export type Schema = z.core.JSONSchema.JSONSchema;

/** Integers, numbers, booleans and enums have their own types; values that only we can parse, such as times and pages, are strings. */
export function fieldSchema(field: z.ZodType): Schema {
  const [said, meant] = [jsonSchema(field, 'input'), jsonSchema(field, 'output')];
  const { default: _, ...rules } = isPlain(said, meant) ? meant : said;
  const description = wordsOf(field);
  const preset = field.safeParse(undefined).data;
  return {
    ...rules,
    // An empty value counts as not sent.
    ...(rules.type === 'string' && rules.enum === undefined && rules.pattern === undefined ? { minLength: 1 } : {}),
    ...(rules.enum?.every(Number.isInteger) ? { type: 'integer' as const } : {}),
    ...(description === '' ? {} : { description }),
    ...(['string', 'number', 'boolean'].includes(typeof preset) ? { default: preset as string | number | boolean } : {}),
  };
}

/** Whether a form must have the field. */
export const isRequired = (field: z.ZodType): boolean => !field.safeParse(undefined).success;

function isPlain(said: Schema, meant: Schema): boolean {
  if (meant.enum !== undefined || meant.type === 'integer' || meant.type === 'boolean') return true;
  // A number that may have other notations, such as 00:01:30, has no pattern.
  return meant.type === 'number' && said.pattern !== undefined;
}

function jsonSchema(field: z.ZodType, io: 'input' | 'output'): Schema {
  const { $schema: _, ...schema } = z.toJSONSchema(field, { io, unrepresentable: 'any' }) as Schema;
  return schema;
}
