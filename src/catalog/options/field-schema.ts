/** What a form field takes, as JSON Schema (2020-12): for a reader who knows numbers and switches, though a form sends them as text. */
import { z } from 'zod';
import { wordsOf } from '../tool.ts';

export type Schema = z.core.JSONSchema.JSONSchema;

/** Integers, numbers, switches and lists of words are said as what they mean; what only we can read, as times and pages, is a text. */
export function fieldSchema(field: z.ZodType): Schema {
  const [said, meant] = [jsonSchema(field, 'input'), jsonSchema(field, 'output')];
  const { default: _, ...rules } = isPlain(said, meant) ? meant : said;
  const description = wordsOf(field);
  const preset = field.safeParse(undefined).data;
  return {
    ...rules,
    // What is empty is not given.
    ...(rules.type === 'string' && rules.enum === undefined && rules.pattern === undefined ? { minLength: 1 } : {}),
    ...(rules.enum?.every(Number.isInteger) ? { type: 'integer' as const } : {}),
    ...(description === '' ? {} : { description }),
    ...(['string', 'number', 'boolean'].includes(typeof preset) ? { default: preset as string | number | boolean } : {}),
  };
}

/** Whether a form must have it. */
export const isRequired = (field: z.ZodType): boolean => !field.safeParse(undefined).success;

function isPlain(said: Schema, meant: Schema): boolean {
  if (meant.enum !== undefined || meant.type === 'integer' || meant.type === 'boolean') return true;
  // A number that may be written otherwise than as one, as in 00:01:30, has no pattern.
  return meant.type === 'number' && said.pattern !== undefined;
}

function jsonSchema(field: z.ZodType, io: 'input' | 'output'): Schema {
  const { $schema: _, ...schema } = z.toJSONSchema(field, { io, unrepresentable: 'any' }) as Schema;
  return schema;
}
