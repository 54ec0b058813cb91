/** One thing that `filemill doctor` looked at: how it is, and what to do about it. */

export const findingStates = ['ok', 'unknown', 'warning', 'problem'] as const;
/** `warning`: it works, but less well or not for long. `problem`: conversions or clients fail. `unknown`: it cannot be seen from here. */
export type FindingState = (typeof findingStates)[number];

export interface Finding {
  /** Id of the check: `landlock`, `disk`. */
  readonly check: string;
  readonly state: FindingState;
  /** A sentence without a full stop. */
  readonly says: string;
  /** The next step, in every state but `ok`. */
  readonly todo?: string;
  /** What was seen, for programs. */
  readonly facts?: FindingFacts;
}
type FindingFacts = Readonly<Record<string, unknown>>;

export const fine = (check: string, says: string, facts?: FindingFacts): Finding => ({ check, state: 'ok', says, ...(facts && { facts }) });

const as =
  (state: FindingState) =>
  (check: string, says: string, todo: string, facts?: FindingFacts): Finding => ({ check, state, says, todo, ...(facts && { facts }) });
export const unseen = as('unknown');
export const weak = as('warning');
export const broken = as('problem');
