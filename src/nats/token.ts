/** Names that become one token of a subject: nothing in them may part it, or match others. */

export const isToken = (name: string): boolean => /^[A-Za-z0-9_=-]{1,128}$/.test(name);

/** @throws RangeError */
export function tokenOf(name: string): string {
  if (!isToken(name))
    throw new RangeError(`${JSON.stringify(name)} cannot be part of a subject: letters, digits, "_", "=", "-" are allowed`);
  return name;
}
