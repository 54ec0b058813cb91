/** What every tool says of itself, also one that cannot be called: lists, limits and MCP are made of it. */
import type { z } from 'zod';
import type { SearchWords } from '../contracts/search-words.ts';
import type { OptionText } from './options/fields.ts';

export type ToolFamily = 'image' | 'audio_video' | 'pdf' | 'ai';

export interface ListedTool {
  /** As in `/api/v1/tools/{slug}`. */
  readonly slug: string;
  /** One sentence: what it does, for people and assistants. */
  readonly summary: string;
  /** What people call what it does, beside its slug and summary. */
  readonly search: SearchWords;
  readonly family: ToolFamily;
  /**
   * Fields besides the files, flat. Forms send text, so every schema starts from a string. A refused client reads its description as `allowed`.
   */
  readonly input: z.ZodObject<Readonly<Record<string, z.ZodType>>>;
  /** Fields of a typical request, as a form sends them; unset: it has none. */
  readonly example?: Readonly<Record<string, string>>;
  /** What its fields do, unless they mean here what they mean to conversions (`options/texts.ts`). */
  readonly texts?: Readonly<Record<string, OptionText>>;
  /** REST requests of one client in 24 hours, in the tier `ai`; unset: it counts in the general tiers only. An operator may change it. */
  readonly daily?: number;
  readonly files?: ToolFiles;
  /** Set if MCP lists it as a separate tool; the others are called by `run_tool`. */
  readonly mcp?: McpText;
}

/** The form fields for files, and the number of files. */
export interface ToolFiles {
  readonly fields: readonly string[];
  readonly min: number;
  readonly max: number;
  /** Each field means something different: files are sorted by field, whatever order they arrive in. */
  readonly inOrder?: true;
  /** Limit on all files together; the limit of one file applies as well. */
  readonly totalBytes?: number;
}

/** What assistants read of a tool. Bounds, presets and the number of files come from the tool. */
export interface McpText {
  /** Unset: the slug, with `_` for `-`. */
  readonly name?: string;
  /** Where MCP lists it, after converting a file, as the contract orders them: models prefer the beginning, and some clients show a list as it comes. Unset: at the end. */
  readonly place?: number;
  /** Two or three words. */
  readonly title: string;
  readonly description: string;
  /** By the name that MCP gives a field. Fields that are not named here cannot be sent. */
  readonly params?: Readonly<Record<string, McpParam>>;
  /** The result is usually a picture, which the answer can show. */
  readonly shows?: true;
}

export interface McpParam {
  /** Unset: as the argument. */
  readonly field?: string;
  /** What it does, in as few words as models need; unset: the field's text. */
  readonly means?: string;
}

/** A tool that is listed, although nothing here can run it. */
export interface AbsentTool extends ListedTool {
  readonly reason: string;
}

/** The reason of tools that wait for a model. */
export const noSuchModel = (id: string): string => `the model ${id} is not installed (filemill models pull ${id})`;
export const isForModel = (reason: string): boolean => /^the model \S+ is not installed/.test(reason);
