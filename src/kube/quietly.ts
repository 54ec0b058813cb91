/** Wraps callbacks so that an exception in one breaks neither its caller nor the process. */

/** @returns the same callback, whose exceptions are dropped */
export const quietly =
  <A extends readonly unknown[]>(callback: ((...given: A) => void) | undefined) =>
  (...given: A): void => {
    try {
      callback?.(...given);
    } catch {
      // The callback itself logs or measures errors: there is nowhere to report this one.
    }
  };
