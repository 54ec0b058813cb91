/** Why a role does not start, in one sentence for the operator: something in its environment is wrong. */
import { innermostCause } from '../../errors.ts';

export class CannotStart extends Error {
  override readonly name = 'CannotStart';
}

/** For a promise's `catch`: the message of an error of this kind is already meant for the operator. */
export const asCannotStart =
  (kind: new (...args: never[]) => Error) =>
  (error: unknown): never => {
    throw error instanceof kind ? new CannotStart(error.message, { cause: error }) : error;
  };

/** Such as `EACCES`; the error's message if it has no code. */
export function errorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? (error as Error).message;
}

/** The message of the innermost cause. */
export const firstCause = (error: unknown): string => String((innermostCause(error) as Error).message);
