/** Entity tags in conditional requests. */

/** Weak comparison (RFC 9110 §13.1.2). */
export const matchesAny = (header: string | undefined, etag: string): boolean =>
  header?.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag) ?? false;
