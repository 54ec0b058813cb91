/** A NATS operator of a test's own: accounts and users as signed documents (https://docs.nats.io, "JWTs"), and a credentials file. */
import { createHash } from 'node:crypto';
import { nkeys } from 'nats';
import type { Permissions } from '../../../src/nats/permissions.ts';

type Keys = ReturnType<typeof nkeys.createUser>;

export interface Accounts {
  /** For the configuration of a server. */
  readonly server: Readonly<Record<string, unknown>>;
  /** Text of a credentials file of a user of the one account that has JetStream. */
  user(permissions: Permissions): string;
}

const UNLIMITED = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
const STORAGE = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };

export function anOperator(): Accounts {
  const [operator, system, account] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createAccount()];
  const accountOf = (keys: Keys, name: string, limits: object) => signed(operator, keys, name, { type: 'account', limits });
  return {
    server: {
      operator: signed(operator, operator, 'operator', { type: 'operator' }),
      system_account: system.getPublicKey(),
      resolver: 'MEMORY',
      resolver_preload: {
        [system.getPublicKey()]: accountOf(system, 'SYS', UNLIMITED),
        [account.getPublicKey()]: accountOf(account, 'filemill', { ...UNLIMITED, ...STORAGE }),
      },
    },
    user({ publish, subscribe }) {
      const keys = nkeys.createUser();
      const limits = { subs: -1, data: -1, payload: -1 };
      const jwt = signed(account, keys, 'user', { type: 'user', ...limits, pub: { allow: publish }, sub: { allow: subscribe } });
      const seed = new TextDecoder().decode(keys.getSeed());
      const block = (name: string, text: string) => `-----BEGIN ${name}-----\n${text}\n------END ${name}------\n\n`;
      return block('NATS USER JWT', jwt) + block('USER NKEY SEED', seed);
    },
  };
}

function signed(issuer: Keys, subject: Keys, name: string, nats: object): string {
  const claims = { iss: issuer.getPublicKey(), sub: subject.getPublicKey(), name, iat: 1_700_000_000, nats: { version: 2, ...nats } };
  const jti = createHash('sha256').update(JSON.stringify(claims)).digest('hex').toUpperCase();
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part({ jti, ...claims })}`;
  return `${text}.${Buffer.from(issuer.sign(new TextEncoder().encode(text))).toString('base64url')}`;
}
