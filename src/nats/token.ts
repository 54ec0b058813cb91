/** Names that become one token of a subject, or several with dots between: they must not contain wildcards. */

export const isToken = (name: string): boolean => /^[A-Za-z0-9_=-]{1,128}$/.test(name);

/** @throws RangeError */
export function tokenOf(name: string): string {
  if (!isToken(name))
    throw new RangeError(`${JSON.stringify(name)} cannot be part of a subject: letters, digits, "_", "=", "-" are allowed`);
  return name;
}

/** A key of a bucket. */
export const isKey = (name: string): boolean => name.split('.').every(isToken);

/** @throws RangeError */
export const bucketKey = (name: string): string => name.split('.').map(tokenOf).join('.');
