/** An MCP tool: its own names for a tool of the catalog and its fields. */
import type { Schema } from '../../../catalog/options/field-schema.ts';

export interface Param {
  /** What a form calls it. */
  readonly field: string;
  /** For an assistant: what it does, and what happens without it. */
  readonly means: string;
  readonly preset?: string | number | boolean;
  readonly required?: boolean;
  /** Where the catalog lacks the tool, or accepts more than this description says. */
  readonly schema?: Schema;
}

export interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The tool of REST that does it; a conversion has none. */
  readonly slug?: string;
  readonly files: 'one' | 'several';
  /** The result is usually a picture, which the answer can show. */
  readonly shows?: true;
  readonly params: Readonly<Record<string, Param>>;
}
