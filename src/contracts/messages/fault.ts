/** What is wrong with a worker itself, so that it takes no orders, or with one of its engines: no file is to blame. */
import { z } from 'zod';

export const faultReasons = ['disk_full', 'disk_broken', 'descriptors', 'launcher', 'engine_missing'] as const;

export const Fault = z.strictObject({
  /** One of the above; a newer worker may know more. */
  reason: z.string().max(63),
  /** A sentence for the operator of the worker. */
  message: z.string().max(500),
});
export type Fault = z.infer<typeof Fault>;
export type FaultReason = (typeof faultReasons)[number];

export const faultOf = (reason: FaultReason, message: string): Fault => ({ reason, message: message.slice(0, 500) });

/** Why an engine that is installed does not work: its trial with a known good file failed. */
const SENTENCES = {
  cannot_load: 'a library or module that it needs cannot be loaded',
  cannot_start: 'its program cannot be started',
  crashed: 'it crashes on a file that is known to be good',
  timeout: 'it takes too long for a tiny file',
  memory: 'it needs more memory for a tiny file than a conversion may use',
  wrong_output: 'its output for a file that is known to be good is unusable',
  failed: 'it cannot convert a file that is known to be good',
} as const;

export type Defect = keyof typeof SENTENCES;

/** @param defect of a worker that may be newer and know more */
export const defectSentence = (defect: string): string =>
  Object.hasOwn(SENTENCES, defect) ? SENTENCES[defect as Defect] : SENTENCES.failed;
