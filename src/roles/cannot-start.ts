/** Why a role does not start, in one sentence for whoever started it: something around us is not as it must be. */

export class CannotStart extends Error {
  override readonly name = 'CannotStart';
}

/** Such as `EACCES`; the error's own words where it has no code. */
export function errorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? (error as Error).message;
}

/** What it all began with, in the words of whoever met it first. */
export function firstCause(error: unknown): string {
  return error instanceof Error && error.cause !== undefined ? firstCause(error.cause) : String((error as Error).message);
}
