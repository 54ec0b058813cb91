/** The word that gives a message back to its consumer. */

/** @param delayMs after which it is handed out again */
export const nakFor = (delayMs: number): string => (delayMs > 0 ? `-NAK {"delay":${Math.ceil(delayMs) * 1_000_000}}` : '-NAK');
