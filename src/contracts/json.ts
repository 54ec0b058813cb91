/** What JSON may hold. */

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What should have been a text, as one; of a list or an object only that it is one: it may have no text, or a method that makes it. */
export const asText = (value: unknown): string =>
  Array.isArray(value) ? 'a list' : typeof value === 'object' && value !== null ? 'an object' : String(value);
