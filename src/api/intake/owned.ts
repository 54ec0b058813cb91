/** What a request has stored and no job owns yet: undone at the end of the scope that holds it, unless the request got as far as a queued job. */

export interface Owned extends AsyncDisposable {
  /** From now on the job owns it: the end of the scope leaves it. */
  keep(): void;
}

/** @param undo must not throw: the failure that ended the scope is the answer, and one of the clean-up would hide it */
export function owned(undo: () => Promise<void>): Owned {
  let isKept = false;
  return {
    keep() {
      isKept = true;
    },
    async [Symbol.asyncDispose]() {
      if (!isKept) await undo();
    },
  };
}

/** The request has succeeded: none of this is undone. */
export function keepAll(...all: readonly Owned[]): void {
  for (const each of all) each.keep();
}
