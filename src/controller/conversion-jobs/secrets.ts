/** Secrets that a ConversionJob names: read when needed, with a permission from their own namespace, and sent on encrypted. */

import {
  ALLOWED_HOSTS,
  type S3Place,
  SECRET_USES,
  type SecretKeyRef,
  type SecretUse,
  USED_FOR,
} from '../../contracts/kubernetes/secret-ref.ts';
import { boundTo, type SubmissionSecrets } from '../../contracts/messages/submission.ts';
import type { Encryption } from '../../jobs/encryption.ts';
import type { Kube } from '../../kube/connection/connect.ts';
import { KubeError } from '../../kube/connection/error.ts';
import type { KubeObject, Resource } from '../../kube/resource.ts';
import type { ConversionJobObject } from './resource.ts';

const SECRETS: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };

interface SecretObject extends KubeObject {
  /** In base64. */
  readonly data?: Readonly<Record<string, string>>;
}

/** Why a Secret cannot be used for now: it may be created, or annotated to allow it, in a moment. */
export interface SecretProblem {
  readonly reason:
    | 'SecretNotFound'
    | 'SecretForbidden'
    | 'SecretNotAllowed'
    | 'SecretKeyNotFound'
    | 'SecretInvalid'
    | 'HostNotAllowed'
    | 'EncryptionKeyMissing';
  readonly message: string;
}

/** @returns undefined where none is named */
export type ReadSecrets = (
  job: ConversionJobObject,
  of: 'source' | 'output',
  signal: AbortSignal,
) => Promise<{ readonly encrypted: string } | SecretProblem | undefined>;

/** The use of a value: what a Secret must allow. */
interface NeededSecret {
  readonly use: SecretUse;
  /** Path in the spec, for messages. */
  readonly field: string;
  readonly ref: SecretKeyRef;
  /** `host` or `host:port`; a function where the value itself names it. */
  readonly host?: string | ((value: string) => string);
  readonly give: (value: string, secrets: Draft) => void;
}

interface Draft {
  password?: string;
  webhookSecret?: string;
  headers: Record<string, string>;
  destination: { url?: string; headers: Record<string, string> };
  s3: { accessKeyId?: string; secretAccessKey?: string; sessionToken?: string };
  user?: string;
}

/** @param encryption undefined where the controller was given no key */
export function secretsBy(kube: Pick<Kube, 'get'>, encryption: Pick<Encryption, 'encrypt'> | undefined): ReadSecrets {
  return async ({ metadata, spec }, of, signal) => {
    const wanted = of === 'source' ? wantedForSource(spec) : wantedForOutput(spec);
    if (wanted.length === 0) return undefined;
    if (encryption === undefined)
      return {
        reason: 'EncryptionKeyMissing',
        message: 'The controller has no key to encrypt Secrets with: give it the same secret.key (SECRET_KEY) as the API.',
      };
    const read = new Map<string, SecretObject | SecretProblem>();
    const draft: Draft = { headers: {}, destination: { headers: {} }, s3: {} };
    for (const want of wanted) {
      const { name, key } = want.ref;
      const found = read.get(name) ?? (await find(kube, metadata.namespace, want, signal));
      read.set(name, found);
      if ('reason' in found) return found;
      const problem = refusal(found, want, dataOf(found, key) ?? '');
      if (problem !== undefined) return problem;
      const value = dataOf(found, key);
      if (value === undefined)
        return { reason: 'SecretKeyNotFound', message: `${want.field}: the Secret "${name}" has no key "${key}", or it is empty.` };
      if (!isPlain(value, want.use))
        return {
          reason: 'SecretInvalid',
          message: `${want.field}: the key "${key}" of the Secret "${name}" is not a single line of text, or is too long.`,
        };
      want.give(value, draft);
    }
    return { encrypted: encryption.encrypt(JSON.stringify(finished(draft)), boundTo(metadata)) };
  };
}

function wantedForSource({ source, passwordFrom, webhook, destination }: ConversionJobObject['spec']): NeededSecret[] {
  const wanted: NeededSecret[] = destination === undefined ? [] : wantedForDestination(destination);
  if (webhook?.secretFrom !== undefined)
    wanted.push({
      use: 'webhook',
      field: 'spec.webhook.secretFrom.secretKeyRef',
      ref: webhook.secretFrom.secretKeyRef,
      // Who signs for a receiver could pass its messages on to it.
      host: hostOf(webhook.url),
      give(value, secrets) {
        secrets.webhookSecret = value;
      },
    });
  if (passwordFrom !== undefined)
    wanted.push({
      use: 'password',
      field: 'spec.passwordFrom.secretKeyRef',
      ref: passwordFrom.secretKeyRef,
      give(value, secrets) {
        secrets.password = value;
      },
    });
  if (source.s3 !== undefined) return [...wanted, ...wantedForBucket(source.s3, 'source')];
  const at = { use: 'source', ...(source.url === undefined ? {} : { host: hostOf(source.url) }) } as const;
  const header = (name: string, field: string, ref: SecretKeyRef, text: (value: string) => string = (value) => value): NeededSecret => ({
    ...at,
    field: `spec.source.${field}`,
    ref,
    give(value, { headers }) {
      headers[name.toLowerCase()] = text(value);
    },
  });
  for (const { name, secretKeyRef } of source.headersFrom ?? [])
    wanted.push(header(name, `headersFrom[${name}].secretKeyRef`, secretKeyRef));
  if (source.authorization !== undefined)
    wanted.push(header('authorization', 'authorization.secretKeyRef', source.authorization.secretKeyRef, (token) => `Bearer ${token}`));
  if (source.basicAuth !== undefined) {
    const { username, password } = source.basicAuth;
    wanted.push(
      {
        ...at,
        field: 'spec.source.basicAuth.username',
        ref: username,
        give(value, secrets) {
          secrets.user = value;
        },
      },
      {
        ...at,
        field: 'spec.source.basicAuth.password',
        ref: password,
        give(value, { headers, user = '' }) {
          // RFC 7617, 2.
          headers['authorization'] = `Basic ${Buffer.from(`${user}:${value}`).toString('base64')}`;
        },
      },
    );
  }
  return wanted;
}

/** The URL is in a Secret, too, as it is one. Headers may be sent only where their own Secret allows it. */
function wantedForDestination({ urlFrom, headersFrom = [] }: NonNullable<ConversionJobObject['spec']['destination']>): NeededSecret[] {
  let host = '';
  const url: NeededSecret = {
    use: 'output',
    field: 'spec.destination.urlFrom.secretKeyRef',
    ref: urlFrom.secretKeyRef,
    host: hostOf,
    give(value, { destination }) {
      host = hostOf(value);
      destination.url = value;
    },
  };
  const headers = headersFrom.map(
    ({ name, secretKeyRef }): NeededSecret => ({
      use: 'output',
      field: `spec.destination.headersFrom[${name}].secretKeyRef`,
      ref: secretKeyRef,
      host: () => host,
      give(value, { destination }) {
        destination.headers[name.toLowerCase()] = value;
      },
    }),
  );
  return [url, ...headers];
}

const wantedForOutput = ({ output }: ConversionJobObject['spec']): NeededSecret[] =>
  output === undefined ? [] : wantedForBucket(output.s3, 'output');

const S3_FIELDS = {
  accessKeyId: 'accessKeyIDSecretRef',
  secretAccessKey: 'secretAccessKeySecretRef',
  sessionToken: 'sessionTokenSecretRef',
} as const satisfies Record<string, keyof typeof S3Place.shape>;

type Place = NonNullable<ConversionJobObject['spec']['output']>['s3'];

function wantedForBucket(
  place: Pick<Place, 'endpoint' | (typeof S3_FIELDS)[keyof typeof S3_FIELDS]>,
  use: 'source' | 'output',
): NeededSecret[] {
  return Object.entries(S3_FIELDS).flatMap(([name, field]) => {
    const ref = place[field];
    if (ref === undefined) return [];
    return {
      use,
      field: `spec.${use}.s3.${field}`,
      ref,
      host: hostOf(place.endpoint),
      give(value: string, { s3 }: Draft) {
        s3[name as keyof typeof S3_FIELDS] = value;
      },
    };
  });
}

async function find(
  kube: Pick<Kube, 'get'>,
  namespace: string | undefined,
  { field, ref: { name } }: NeededSecret,
  signal: AbortSignal,
): Promise<SecretObject | SecretProblem> {
  try {
    return await kube.get<SecretObject>(SECRETS, { name, namespace }, { signal });
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (error.reason === 'NotFound')
      return { reason: 'SecretNotFound', message: `${field}: there is no Secret "${name}" in this namespace.` };
    if (error.reason === 'Forbidden')
      return {
        reason: 'SecretForbidden',
        message: `${field}: the controller may not read the Secret "${name}": bind a Role to it, as in manifests/rbac/secrets.yaml.`,
      };
    throw error;
  }
}

/** Users who may create ConversionJobs may not read Secrets: without an annotation that allows it, they could send a Secret to their own server. */
function refusal(
  { metadata: { annotations = {} } }: SecretObject,
  { use, field, ref: { name }, host: named }: NeededSecret,
  value: string,
): SecretProblem | undefined {
  const host = typeof named === 'function' ? named(value) : named;
  const uses = listed(annotations[USED_FOR]);
  if (!SECRET_USES.includes(use) || !uses.includes(use))
    return {
      reason: 'SecretNotAllowed',
      message: `${field}: the Secret "${name}" does not allow it: its annotation ${USED_FOR} must have "${use}".`,
    };
  if (host === undefined || listed(annotations[ALLOWED_HOSTS]).some((pattern) => isHost(host, pattern.toLowerCase()))) return undefined;
  return {
    reason: 'HostNotAllowed',
    message: `${field}: the Secret "${name}" may not be sent to ${typeof named === 'function' ? 'the host of the destination' : host}: its annotation ${ALLOWED_HOSTS} must have that host.`,
  };
}

const listed = (text = ''): string[] => text.split(',').flatMap((entry) => entry.trim() || []);

/** @param pattern a host, or `*.` and a domain, for its subdomains; with a port unless it is the scheme's default */
const isHost = (host: string, pattern: string): boolean =>
  host === pattern ||
  (pattern.startsWith('*.') && pattern.indexOf('.', 2) > 2 && host.length > pattern.length && host.endsWith(pattern.slice(1)));

/** Lower case, ASCII; with the port unless it is the scheme's default. */
const hostOf = (url: string): string => URL.parse(url)?.host ?? '';

function dataOf({ data = {} }: SecretObject, key: string): string | undefined {
  const value = Buffer.from((Object.hasOwn(data, key) ? data[key] : undefined) ?? '', 'base64').toString();
  // Many editors end a file with a line break, which is not part of a credential.
  return value.replace(/\r?\n$/, '') || undefined;
}

/** Bytes. */
const LONGEST = 8_192;

/** What a header may hold (RFC 9110, 5.5) and a signature may contain; passwords may have other characters. */
const isPlain = (value: string, use: SecretUse): boolean =>
  value.length <= LONGEST && (use === 'password' ? !/[\r\n\0]/.test(value) : /^[\x20-\x7e\t]+$/.test(value));

function finished({
  password,
  webhookSecret,
  headers,
  destination,
  s3: { accessKeyId, secretAccessKey, sessionToken },
}: Draft): SubmissionSecrets {
  return {
    ...(password === undefined ? {} : { password }),
    ...(webhookSecret === undefined ? {} : { webhookSecret }),
    ...(destination.url === undefined ? {} : { destination: { ...destination, url: destination.url } }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(accessKeyId === undefined || secretAccessKey === undefined ? {} : { s3: { accessKeyId, secretAccessKey, sessionToken } }),
  };
}
