/** Credentials for S3: the keys in the settings, or those that the AWS SDK's default chain finds where the process runs. */
import { setTimeout as pause } from 'node:timers/promises';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { within } from '../../streams/deadline.ts';
import type { S3Settings } from '../settings.ts';

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Token of temporary credentials. */
  readonly sessionToken?: string | undefined;
  /** Ms since the epoch; undefined: no end is known. */
  readonly expiresAt?: number | undefined;
}

/** Keys that are set may be temporary ones, of a bucket of a client's own. */
export type S3Access = S3Settings & { readonly sessionToken?: string | undefined };

export interface CredentialsSource {
  /** @throws NoCredentials */
  get(): Promise<Credentials>;
  /** Looks again after the store refused some. @returns whether there are others now */
  replace(refused: Credentials): Promise<boolean>;
}

/** No credentials were found. The provider's own message is not passed on: it names accounts, roles and addresses. */
export class NoCredentials extends Error {
  override readonly name = 'NoCredentials';
  constructor(reason: string) {
    super(`no credentials were found (${reason})`);
  }
}

/** For one look-up with all its requests, ms. */
const LIMIT_MS = 10_000;
/** For one answer of an endpoint that hands out credentials, ms. */
const ANSWER_MS = 3_000;
/** Renewed so long before they expire, as the AWS SDKs do, or after half of what is left of shorter ones, ms. */
const MARGIN_MS = 5 * 60_000;
/** A shared file names no expiry, and its content may be replaced: read again after this time, ms. */
const REREAD_MS = 60_000;
/** At least so long between two look-ups, ms. */
const PAUSE_MS = 1_000;

/**
 * @param lookUp in place of the default chain: environment, shared files, web identity, container and instance metadata, in this order
 * @param clock ms since the epoch
 */
export function credentialsOf(settings: S3Access, lookUp = fromChain(settings.region), clock = Date.now): CredentialsSource {
  const { accessKeyId, secretAccessKey, sessionToken } = settings;
  if (accessKeyId !== undefined && secretAccessKey !== undefined) {
    const keys = { accessKeyId, secretAccessKey, sessionToken };
    return { get: async () => keys, replace: async () => false };
  }

  let held: Credentials | undefined;
  /** From when on `held` is looked up again, and from when on anything may be. */
  let renewAt = 0;
  let notBefore = 0;
  let failure = new NoCredentials('not looked up yet');
  let pending: Promise<void> | undefined;

  async function renew(): Promise<void> {
    try {
      const found = await within(LIMIT_MS, undefined, () => Object.assign(new Error('late'), { name: 'ETIMEDOUT' }), lookUp);
      const now = clock();
      renewAt = found.expiresAt === undefined ? now + REREAD_MS : found.expiresAt - Math.min(MARGIN_MS, (found.expiresAt - now) / 2);
      held = found;
    } catch (error) {
      failure = new NoCredentials(reasonOf(error));
    } finally {
      notBefore = clock() + PAUSE_MS;
      pending = undefined;
    }
  }

  /** One look-up at a time. @param paused whether the caller waited for `notBefore`: a timer may fire a millisecond before the clock is there */
  async function look(paused = false): Promise<void> {
    if (pending === undefined && (paused || clock() >= notBefore)) pending = renew();
    await pending;
  }

  const valid = (): Credentials | undefined =>
    held !== undefined && (held.expiresAt === undefined || clock() < held.expiresAt) ? held : undefined;

  return {
    async get() {
      if (held === undefined || clock() >= renewAt) await look();
      const found = valid();
      if (found === undefined) throw failure;
      return found;
    },
    async replace(refused) {
      if (held === refused && pending === undefined) await pause(Math.max(0, notBefore - clock()));
      if (held === refused) await look(true);
      return held?.accessKeyId !== refused.accessKeyId || held.sessionToken !== refused.sessionToken;
    },
  };
}

/** A new chain for each look-up: it would keep what it found, and its cache reads a shared file once in a process's life. */
function fromChain(region: string): () => Promise<Credentials> {
  const requestHandler = { connectionTimeout: ANSWER_MS, requestTimeout: ANSWER_MS, throwOnRequestTimeout: true };
  // Its warnings would go to the console.
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  return async () => {
    const chain = defaultProvider({
      ignoreCache: true,
      timeout: ANSWER_MS,
      maxRetries: 1,
      logger,
      clientConfig: { maxAttempts: 2 },
      parentClientConfig: { region, requestHandler, logger },
    });
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = await chain();
    return { accessKeyId, secretAccessKey, sessionToken, expiresAt: expiration?.getTime() };
  };
}

/** An error's name, such as CredentialsProviderError, ExpiredTokenException or AccessDenied. */
const reasonOf = (error: unknown): string => (error instanceof Error && /^\w{1,64}$/.test(error.name) ? error.name : 'unknown');
