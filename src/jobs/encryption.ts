/** Secrets at rest: encrypted with the service's keys, so that neither a record nor a queue holds one in the clear. */
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export interface Encryption {
  /** @param bound what the secret belongs to: it opens for nothing else */
  encrypt(secret: string, bound: string): string;
  /** @throws when the text was encrypted with none of the keys, or not for `bound` */
  decrypt(sealed: string, bound: string): string;
  /** 64 hex digits that tell one text from another, and that nobody without the key can test a guess against. */
  hmac(text: string): string;
}

/**
 * AES-256-GCM (NIST SP 800-38D) with a random nonce. The SHA-256 of a key is the cipher's.
 * @param keys any secret texts: the first encrypts, all decrypt
 * @param salt the key of `mark`, any secret text that lasts: with another one nothing that was marked before is known again
 */
export function encryptionWith(keys: readonly string[], salt: string): Encryption {
  const derived = (key: string, use: string) => createHash('sha256').update(`filemill ${use}\0`).update(key).digest();
  const [cipherKey, ...earlierKeys] = keys.map((key) => derived(key, 'seal'));
  if (cipherKey === undefined) throw new RangeError('a secret is encrypted with at least one key');
  const markKey = derived(salt, 'mark');
  const decrypt = (key: Buffer, bytes: Buffer, bound: string) => {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES)).setAAD(Buffer.from(bound));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  };
  return {
    encrypt(secret, bound) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', cipherKey, nonce).setAAD(Buffer.from(bound));
      return Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url');
    },
    decrypt(sealed, bound) {
      const bytes = Buffer.from(sealed, 'base64url');
      for (const key of earlierKeys) {
        try {
          return decrypt(key, bytes, bound);
        } catch {
          // It was another.
        }
      }
      return decrypt(cipherKey, bytes, bound);
    },
    hmac: (text) => createHmac('sha256', markKey).update(text).digest('hex'),
  };
}

/** A new key comes before the others: the last is the one that has been there for longest. @param salt where one was chosen */
export const saltOf = (keys: readonly string[], salt?: string): string => salt ?? keys.at(-1) ?? '';
