/** The keys that every object store accepts: they are valid as a path below a folder, and in a URL without escapes. */

/** Bytes. A file name may have 255 (Linux NAME_MAX); temporary files have a suffix. */
const MAX_SEGMENT = 200;
/** Bytes: S3's own limit. */
const MAX_KEY = 1_024;

/** @throws RangeError for a key that could leave the store's folder */
export function validKey(key: string): string {
  const valid = (segment: string) => /^[A-Za-z0-9._-]+$/.test(segment) && !/^\.\.?$/.test(segment) && segment.length <= MAX_SEGMENT;
  if (key.length > MAX_KEY || !key.split('/').every(valid)) {
    throw new RangeError(`not a key: ${JSON.stringify(key.slice(0, 100))}; allowed are A-Z a-z 0-9 . _ - between single slashes`);
  }
  return key;
}

/** @param prefix of keys; may end anywhere in a key @throws RangeError when no valid key begins with it */
export function validPrefix(prefix: string): string {
  const slash = prefix.lastIndexOf('/');
  if (slash >= 0) validKey(prefix.slice(0, slash));
  return prefix;
}
