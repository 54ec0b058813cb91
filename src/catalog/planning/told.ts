/** What our own programs print: their progress, and at the end an answer as residents give. */
import type { Reason } from '../../errors.ts';
import type { ProcessStep, ResidentStep } from '../engine.ts';

/** A call of such a program. @param run a key of the engine's binaries */
export const ownStep = (run: string, args: readonly string[]): ProcessStep => ({ run, args, answers: true, progress: progressTold });

interface ModelFiles {
  readonly input: string;
  readonly beside?: string;
  /** In a folder that has nothing else; unset: the task's output folder, or the input itself. */
  readonly output?: string;
}

/** A call of a program around models, which keeps them loaded between calls. Its arguments name the files. */
export function modelStep(run: string, args: readonly string[], { input, beside, output }: ModelFiles): ResidentStep {
  const files = { input, beside, ...(output !== undefined && { output: output.slice(0, output.lastIndexOf('/')) }) };
  return { ask: run, request: { args }, ...files, otherwise: ownStep(run, args) };
}

/** @returns 0 to 1 */
export function progressTold(line: string): number | undefined {
  const fraction = /^progress (\d\.\d{1,6})$/.exec(line.trim())?.[1];
  return fraction === undefined ? undefined : Number(fraction);
}

/** Why a program that prepares a text refuses it. */
export const reasonOfText = (output: string, code: number | null): Reason | undefined =>
  reasonTold(output, code, ['corrupt_input', 'unsupported_variant', 'input_limit', 'invalid_option']);

/** Where there is no result, they end with this status, and the answer says why. */
const REFUSED = 2;

/** @param among what the program may say @returns undefined where it has said nothing */
export const reasonTold = (output: string, code: number | null, among: readonly Reason[]): Reason | undefined =>
  code === REFUSED ? among.find((reason) => output.includes(`"reason":"${reason}"`)) : undefined;
