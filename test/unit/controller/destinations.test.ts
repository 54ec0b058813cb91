/** Where a ConversionJob wants its result, from Secrets: what is sent on, and what their annotations refuse. */
import { expect, it } from 'vitest';
import { boundTo, SubmissionSecrets } from '../../../src/contracts/messages/submission.ts';
import type { ConversionJobObject } from '../../../src/controller/conversion-jobs/resource.ts';
import { secretsBy } from '../../../src/controller/conversion-jobs/secrets.ts';
import { encryptionWith } from '../../../src/jobs/encryption.ts';

const URL = 'https://reports.blob.core.windows.net/out/board.pdf?sig=secret';
const encryption = encryptionWith(['the first key of this test, long enough'], 'salt');
const job = (headers: readonly string[] = []) =>
  ({
    metadata: { name: 'report', namespace: 'team', uid: '1' },
    spec: {
      source: { url: 'https://files.example.org/board.docx' },
      toFormat: 'pdf',
      destination: {
        urlFrom: { secretKeyRef: { name: 'place', key: 'url' } },
        headersFrom: headers.map((name) => ({ name, secretKeyRef: { name: 'header', key: 'value' } })),
      },
    },
  }) as unknown as ConversionJobObject;

/** @param annotations of both Secrets, or of each */
function read(of: ConversionJobObject, uses: string, hosts: string, hostsOfHeader = hosts) {
  const secrets: Readonly<Record<string, object>> = {
    place: { data: { url: Buffer.from(URL).toString('base64') }, hosts },
    header: { data: { value: Buffer.from('BlockBlob').toString('base64') }, hosts: hostsOfHeader },
  };
  const get = async (_: unknown, { name }: { name: string }) => {
    const { data, hosts: allowed } = secrets[name] as { data: object; hosts: string };
    return { metadata: { name, annotations: { 'filemill.io/used-for': uses, 'filemill.io/allowed-hosts': allowed } }, data };
  };
  return secretsBy({ get } as unknown as Parameters<typeof secretsBy>[0], encryption)(of, 'source', new AbortController().signal);
}

it('URL and headers are sent on, encrypted for the one resource', async () => {
  const found = await read(job(['X-MS-Blob-Type']), 'output', '*.blob.core.windows.net');
  if (found === undefined || 'reason' in found) throw new Error('refused');
  expect(found.encrypted).not.toContain('secret');
  const secrets = SubmissionSecrets.parse(JSON.parse(encryption.decrypt(found.encrypted, boundTo({ namespace: 'team', uid: '1' }))));
  expect(secrets).toEqual({ destination: { url: URL, headers: { 'x-ms-blob-type': 'BlockBlob' } } });
});

it.each([
  ['is not for outputs', 'source', 'reports.blob.core.windows.net', undefined, 'SecretNotAllowed'],
  ['may not be sent to the host of its URL', 'output', 'other.example', undefined, 'HostNotAllowed'],
  ['has a header for another host', 'output', 'reports.blob.core.windows.net', 'other.example', 'HostNotAllowed'],
])('a Secret that %s is refused, and nothing of the URL is told', async (_, uses, hosts, hostsOfHeader, reason) => {
  const found = await read(job(['x-a']), uses, hosts, hostsOfHeader);
  expect(found).toMatchObject({ reason });
  expect(JSON.stringify(found)).not.toMatch(/windows|secret\b/);
});
