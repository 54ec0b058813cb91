/** Our own programs say why there is no result: a line of JSON, as residents answer, and this status. */
import type { Reason } from '../../errors.ts';

const REFUSED = 2;

/** @param among what the program may say @returns undefined where it has said nothing */
export const reasonTold = (output: string, code: number | null, among: readonly Reason[]): Reason | undefined =>
  code === REFUSED ? among.find((reason) => output.includes(`"reason":"${reason}"`)) : undefined;
