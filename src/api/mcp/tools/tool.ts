/** An MCP tool: its own names for a tool of the catalogue and its fields. */
import type { z } from 'zod';
import type { Schema } from '../../../catalog/options/field-schema.ts';

export interface Param {
  /** What a form calls it. */
  readonly field: string;
  /** For an assistant: what it does, and what happens without it. */
  readonly means: string;
  readonly preset?: string | number | boolean;
  readonly required?: boolean;
  /** Where it is no field of a form. */
  readonly schema?: Schema;
}

export interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The tool of REST that does it; a conversion has none. */
  readonly slug?: string;
  /** The fields of that tool. */
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly files: 'one' | 'several';
  /** The result is usually a picture, which the answer can show. */
  readonly shows?: true;
  readonly params: Readonly<Record<string, Param>>;
}
