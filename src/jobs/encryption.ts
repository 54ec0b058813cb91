/** Secrets at rest: encrypted with the service's keys, so that neither a record nor a queue holds one in the clear. */
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export interface Encryption {
  /** @param bound what the secret belongs to: it decrypts for nothing else */
  encrypt(secret: string, bound: string): string;
  /** @throws if the text was encrypted with none of the keys, or not for `bound` */
  decrypt(sealed: string, bound: string): string;
  /** 64 hex digits that identify a text; without the key, a guess cannot be tested against them. */
  hmac(text: string): string;
  /** 32 bytes for another use, derived from each key in their order (HKDF, RFC 5869): they tell nothing of the keys, nor of those for other uses. */
  derive(use: string): readonly Buffer[];
}

/**
 * AES-256-GCM (NIST SP 800-38D) with a random nonce. The cipher's key is derived by SHA-256.
 * @param keys any secret texts: the first encrypts, all decrypt
 * @param salt the key of `hmac`, any secret text that must not change: with another one no earlier HMAC matches
 */
export function encryptionWith(keys: readonly string[], salt: string): Encryption {
  const derived = (key: string, use: string) => createHash('sha256').update(`filemill ${use}\0`).update(key).digest();
  const [cipherKey, ...earlierKeys] = keys.map((key) => derived(key, 'seal'));
  if (cipherKey === undefined) throw new RangeError('a secret is encrypted with at least one key');
  const hmacKey = derived(salt, 'mark');
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
          // Encrypted with another key.
        }
      }
      return decrypt(cipherKey, bytes, bound);
    },
    derive: (use) => keys.map((key) => Buffer.from(hkdfSync('sha256', key, '', `filemill ${use}`, 32))),
    hmac: (text) => createHmac('sha256', hmacKey).update(text).digest('hex'),
  };
}

/** New keys are put first, so the last key is the oldest. @param salt if one is configured */
export const saltOf = (keys: readonly string[], salt?: string): string => salt ?? keys.at(-1) ?? '';
