/** Calls what others gave us to be called: their mistake is neither ours nor the process's end. */

/** @returns the same callback, whose failures are nobody's */
export const quietly =
  <A extends readonly unknown[]>(callback: ((...given: A) => void) | undefined) =>
  (...given: A): void => {
    try {
      callback?.(...given);
    } catch {
      // It hears of troubles or measures them: there is nobody left to tell.
    }
  };
