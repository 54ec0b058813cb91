/** What libarchive and gzip say of an archive that they cannot read, in lower case. Names of files stand beside it: nothing else of a line is passed on. */

/** Encrypted, in a way that libarchive does not decrypt: any 7z and RAR, and some ZIPs. */
export const ENCRYPTED: readonly string[] = [
  ...[
    'encryption is not supported',
    'encryption support unavailable',
    'encryption not supported',
    'crypto codec not supported',
    'encrypted',
  ],
];
/** The archive is sound, and made in a way that is not known here. */
export const UNKNOWN_METHODS: readonly string[] = [
  ...ENCRYPTED,
  ...['unsupported compression', 'unsupported block header'],
  ...['compression method', 'not supported', 'unsupported method', 'unrecognized archive format'],
];
export const WRONG_PASSWORD: readonly string[] = ['incorrect passphrase'];
export const NO_PASSWORD: readonly string[] = ['passphrase required'];
/** For the log: any other failure counts as damage. */
export const DAMAGE: readonly string[] = [
  ...['bad crc', 'crc error', 'checksum', 'truncated', 'unexpected end', 'damaged', 'invalid', 'corrupt'],
];

/** The warning about entries of one name. @param apart how many got another one */
export const namesCollide = (apart: number): { readonly code: string; readonly message: string }[] =>
  apart === 0
    ? []
    : [{ code: 'names_collide', message: `${apart} files or folders had the name of another one: each has a number in the result.` }];
