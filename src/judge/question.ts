/** The messages between the judge and its threads. */
import type { Task } from '../catalog/engine.ts';
import type { Sample } from '../catalog/looks/sample.ts';
import type { Code } from '../errors.ts';

export type Question =
  | { readonly ask: 'source'; readonly sample: Sample; readonly filename: string; readonly fromFormat: string | undefined }
  | { readonly ask: 'matches'; readonly sample: Sample; readonly format: string }
  | { readonly ask: 'order'; readonly names: readonly string[] }
  | { readonly ask: 'look'; readonly format: string; readonly path: string }
  | { readonly ask: 'contents'; readonly format: string; readonly path: string }
  | { readonly ask: 'facts'; readonly reader: OutputReader; readonly stdout: Uint8Array; readonly task: Inspected }
  | { readonly ask: 'reason'; readonly engine: string; readonly output: string; readonly code: number | null };

/**
 * Whose inspection parses the output: an engine's, by id, or that of a tool with its own plan, by slug and the engine of its method. With `measures`
 * it is what the engine reads for receipts.
 */
export type OutputReader = { readonly engine: string; readonly measures?: true } | { readonly tool: string; readonly engine: string };

export type Inspected = Pick<Task, 'source' | 'target' | 'options'>;

/** `refused`: the fields of a Failure. `broken`: any other error, which is a bug. */
export type JudgeAnswer =
  | { readonly is: 'value'; readonly value: unknown }
  | { readonly is: 'refused'; readonly code: Code; readonly says: string; readonly details: Readonly<Record<string, unknown>> }
  | { readonly is: 'broken'; readonly stack: string };

/** A thread's first message: it has loaded all that it needs. */
export const READY = 'ready';

/** What a thread gets at its start. */
export interface ThreadData {
  /** Whether it parses the output of engines, besides samples. */
  readonly engines: boolean;
}
