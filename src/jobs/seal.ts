/** Secrets at rest: sealed with the service's key, so that neither a record nor a queue holds one in the clear. */
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export interface Seal {
  /** @param bound what the secret belongs to: it opens for nothing else */
  close(secret: string, bound: string): string;
  /** @throws when the text was not sealed with this key for `bound` */
  open(sealed: string, bound: string): string;
  /** 64 hex digits that tell one text from another, and that nobody without the key can test a guess against. */
  mark(text: string): string;
}

/** AES-256-GCM (NIST SP 800-38D) with a random nonce. @param key any secret text; its SHA-256 is the cipher's key */
export function sealWith(key: string): Seal {
  const derived = (use: string) => createHash('sha256').update(`filemill ${use}\0`).update(key).digest();
  const cipherKey = derived('seal');
  const markKey = derived('mark');
  return {
    close(secret, bound) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', cipherKey, nonce).setAAD(Buffer.from(bound));
      return Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url');
    },
    open(sealed, bound) {
      const bytes = Buffer.from(sealed, 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', cipherKey, bytes.subarray(0, NONCE_BYTES)).setAAD(Buffer.from(bound));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
    },
    mark: (text) => createHmac('sha256', markKey).update(text).digest('hex'),
  };
}
