/** Which keys every store of objects takes: those that can be a path below a folder and stand in a URL as they are. */

/** Bytes; a file name may have 255 (Linux NAME_MAX), and a temporary one is longer by its mark. */
const MAX_SEGMENT = 200;
/** Bytes: S3's own limit. */
const MAX_KEY = 1_024;

/** @throws RangeError when the key could lead out of where it belongs */
export function validKey(key: string): string {
  const valid = (segment: string) => /^[A-Za-z0-9._-]+$/.test(segment) && !/^\.\.?$/.test(segment) && segment.length <= MAX_SEGMENT;
  if (key.length > MAX_KEY || !key.split('/').every(valid)) {
    throw new RangeError(`not a key: ${JSON.stringify(key.slice(0, 100))}; allowed are A-Z a-z 0-9 . _ - between single slashes`);
  }
  return key;
}

/** @param prefix of keys, ending anywhere @throws RangeError when no key can begin so */
export function validPrefix(prefix: string): string {
  const slash = prefix.lastIndexOf('/');
  if (slash >= 0) validKey(prefix.slice(0, slash));
  return prefix;
}
