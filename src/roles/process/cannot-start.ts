/** Why a role does not start, in one sentence for whoever started it: something around us is not as it must be. */

export class CannotStart extends Error {
  override readonly name = 'CannotStart';
}

/** For a promise's `catch`: an error of this kind says already what is wrong, and to whom. */
export const asCannotStart =
  (kind: new (...args: never[]) => Error) =>
  (error: unknown): never => {
    throw error instanceof kind ? new CannotStart(error.message, { cause: error }) : error;
  };

/** Such as `EACCES`; the error's own words where it has no code. */
export function errorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? (error as Error).message;
}

/** What it all began with, in the words of whoever met it first. */
export function firstCause(error: unknown): string {
  return error instanceof Error && error.cause !== undefined ? firstCause(error.cause) : String((error as Error).message);
}
