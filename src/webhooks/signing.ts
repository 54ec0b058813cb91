/** Signatures of messages, by Standard Webhooks 1.0: Ed25519 with the keys of this installation, or HMAC-SHA256 with the client's own secret. */
import { createHmac, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import type { Encryption } from '../jobs/encryption.ts';

/** What goes before the 32 bytes of a private key in PKCS #8 (RFC 8410 §7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
/** Length of what goes before a public key (SubjectPublicKeyInfo), bytes. */
const SPKI_HEAD = 12;

export interface SigningKeys {
  /** `whpk_` and the 32 bytes of a public key in base64, those of the first key first. */
  readonly publicKeys: readonly string[];
  /** The headers of one attempt. @param secret the client's own @param now ms since the epoch */
  headers(messageId: string, body: Buffer, now: number, secret?: string): Readonly<Record<string, string>>;
}

/** Every key of the service signs: a receiver that knows the public key of any of them can verify while one is replaced by another. */
export function signingKeys(encryption: Pick<Encryption, 'derive'>): SigningKeys {
  const keys: readonly KeyObject[] = encryption
    .derive('webhook signatures')
    .map((seed) => createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' }));
  const publicKeys = keys.map((key) => {
    const spki = createPublicKey(key).export({ format: 'der', type: 'spki' });
    return `whpk_${spki.subarray(SPKI_HEAD).toString('base64')}`;
  });
  return {
    publicKeys,
    headers(messageId, body, now, secret) {
      const timestamp = String(Math.floor(now / 1_000));
      const signed = Buffer.concat([Buffer.from(`${messageId}.${timestamp}.`), body]);
      const signatures =
        secret === undefined
          ? keys.map((key) => `v1a,${sign(null, signed, key).toString('base64')}`)
          : [`v1,${createHmac('sha256', secretBytes(secret)).update(signed).digest('base64')}`];
      return { 'webhook-id': messageId, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
    },
  };
}

const secretBytes = (secret: string): Buffer => Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
