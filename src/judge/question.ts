/** What a judging thread is asked and what it answers, in values that can be handed from thread to thread. */
import type { Task } from '../catalog/engine.ts';
import type { Sample } from '../catalog/sniff/sample.ts';
import type { Code } from '../errors.ts';

export type Question =
  | { readonly ask: 'source'; readonly sample: Sample; readonly filename: string; readonly fromFormat: string | undefined }
  | { readonly ask: 'matches'; readonly sample: Sample; readonly format: string }
  | { readonly ask: 'order'; readonly names: readonly string[] }
  | { readonly ask: 'facts'; readonly reader: Reader; readonly stdout: Uint8Array; readonly task: Inspected }
  | { readonly ask: 'reason'; readonly engine: string; readonly words: string; readonly code: number | null };

/** Whose inspection is read: an engine's, by its id, or that of a tool with a plan of its own, by its slug. */
export type Reader = { readonly engine: string } | { readonly tool: string };

export type Inspected = Pick<Task, 'source' | 'target' | 'options'>;

/** `refused`: a Failure, taken apart. `broken`: anything else that was thrown, which is a bug. */
export type Answer =
  | { readonly is: 'value'; readonly value: unknown }
  | { readonly is: 'refused'; readonly code: Code; readonly says: string; readonly details: Readonly<Record<string, unknown>> }
  | { readonly is: 'broken'; readonly words: string };

/** A thread's first word: it has loaded all that it needs. */
export const READY = 'ready';

/** What a thread is told at its start: whether it is to read what engines print, besides samples. */
export interface Learned {
  readonly engines: boolean;
}
