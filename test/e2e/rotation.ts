/** Credentials and certificates are changed while clients convert, as "Change credentials" in docs/operating/upgrade.md says. */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { toolchains } from '../../src/contracts/toolchains.ts';
import { authorityIn } from '../kit/nats/certificates.ts';
import { load } from './client.ts';
import { base, cluster, clusterDir, crash, execIn, inNamespace, program } from './cluster.ts';
import type { E2eFiles } from './files.ts';
import { eventually, must, step } from './steps.ts';

const USERS = ['api', 'controller', ...toolchains.map((pool) => `worker-${pool}`)];

async function secretOf(name: string): Promise<Readonly<Record<string, string>>> {
  const { data } = JSON.parse(await inNamespace('get', 'secret', name, '-o', 'json')) as { data: Record<string, string> };
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}
const setSecret = (name: string, values: Readonly<Record<string, string>>) =>
  inNamespace('patch', 'secret', name, '--type=merge', '--patch', JSON.stringify({ stringData: values }));

/** Waits until the kubelet has brought a file of a Secret to the server's pod: they have neither a shell nor `cat`. */
async function arrived(pod: string, volume: string, file: string, text: string): Promise<void> {
  const uid = await inNamespace('get', 'pod', pod, '-o', 'jsonpath={.metadata.uid}');
  const path = join(clusterDir, 'node2/kubelet/pods', uid, 'volumes/kubernetes.io~secret', volume, file);
  await eventually(
    `${file} in ${pod}`,
    () => cluster('enter', 'cat', path),
    (found) => found.trim() === text.trim(),
    120_000,
  );
}

async function restart(when: string): Promise<void> {
  await inNamespace('rollout', 'restart', 'deployment', 'filemill-api', 'filemill-controller');
  const patch = { spec: { template: { metadata: { annotations: { restarted: when } } } } };
  for (const pool of toolchains) await inNamespace('patch', 'toolchainpool', pool, '--type=merge', '--patch', JSON.stringify(patch));
  for (const role of ['api', 'controller']) await inNamespace('rollout', 'status', `deployment/filemill-${role}`, '--timeout=180s');
  const states = 'jsonpath={range .items[*]}{.metadata.annotations.restarted} {end}';
  await eventually(
    'other workers',
    () => inNamespace('get', 'pods', '-l', 'app.kubernetes.io/component=worker', '--field-selector=status.phase=Running', '-o', states),
    (found) =>
      found.trim() !== '' &&
      found
        .trim()
        .split(/\s+/)
        .every((one) => one === when) &&
      found.split(' ').length > 1,
    240_000,
  );
}

export async function rotate(files: E2eFiles): Promise<void> {
  const folder = join(files.folder, 'nats-users');
  const users = (...more: readonly string[]) =>
    program('scripts/filemill', ['nats-users', folder, ...toolchains.flatMap((pool) => ['--pool', pool]), ...more]);
  const server = (await secretOf('filemill-nats-config'))['nats.conf'] ?? '';
  /** Servers read what `nats-users` wrote. */
  const admit = async (): Promise<void> => {
    const [head = ''] = server.split('authorization {');
    const text = `${head}${await readFile(join(folder, 'nats-users.conf'), 'utf8')}`;
    await setSecret('filemill-nats-config', { 'nats.conf': text });
    await arrived('filemill-nats-0', 'config', 'nats.conf', text);
    await inNamespace('exec', 'filemill-nats-0', '--', 'nats-server', '--signal', 'reload=1');
  };
  const under = async (work: () => Promise<string>): Promise<string> => {
    const stop = load(base, files.photo);
    const note = await work().catch(async (error: Error) => {
      await stop();
      throw error;
    });
    const { done, failed } = await stop();
    must(failed.length === 0 && done > 0, `${failed.length} of ${done + failed.length} jobs failed: ${failed[0]}`);
    return `${note}; ${done} jobs, none failed`;
  };

  await step('users of NATS, certificates and their authorities, and the secret key, under load', () =>
    under(async () => {
      // The users that there are, as `nats-users` has written them for the operator.
      await mkdir(folder, { recursive: true });
      for (const user of USERS) {
        const { NATS_USER, NATS_PASSWORD } = await secretOf(`filemill-nats-${user}`);
        await writeFile(join(folder, `${user}.env`), `NATS_USER=${NATS_USER}\nNATS_PASSWORD=${NATS_PASSWORD}\n`);
      }
      const authority = authorityIn(files.folder, 'new');
      const ca = await readFile(authority.ca, 'utf8');
      const certificates = Object.fromEntries(
        await Promise.all(
          ['nats', 'minio'].map(async (name) => {
            const { cert, key } = authority.identity(name, `DNS:filemill-${name},DNS:filemill-${name}.filemill.svc`);
            const old = await secretOf(`filemill-${name}-tls`);
            return [name, { old: old['ca.crt'] ?? '', crt: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') }] as const;
          }),
        ),
      );
      const { SECRET_KEY: oldKey = '' } = await secretOf('filemill-keys');
      const newKey = 'a-key-of-this-test-that-is-long-enough-for-anybody';

      // 1: the new beside the old.
      await users('--replace');
      await admit();
      for (const user of USERS) {
        const text = await readFile(join(folder, `${user}.env`), 'utf8');
        await setSecret(
          `filemill-nats-${user}`,
          Object.fromEntries(
            text
              .trim()
              .split('\n')
              .map((line) => line.split('=') as [string, string]),
          ),
        );
      }
      for (const [name, { old }] of Object.entries(certificates))
        await setSecret(`filemill-${name}-tls`, { 'ca.crt': `${old.trim()}\n${ca}` });
      await setSecret('filemill-keys', { SECRET_KEY: `${newKey},${oldKey}` });
      // 2: everybody takes both.
      await restart('both');
      // 3: the servers change.
      for (const [name, { crt, key }] of Object.entries(certificates)) {
        await setSecret(`filemill-${name}-tls`, { 'tls.crt': crt, 'tls.key': key });
        await arrived(`filemill-${name}-0`, 'tls', name === 'nats' ? 'tls.crt' : 'public.crt', crt);
      }
      await inNamespace('exec', 'filemill-nats-0', '--', 'nats-server', '--signal', 'reload=1');
      const served = `require('node:tls').connect({ host: 'filemill-minio', port: 9000, servername: 'filemill-minio' }, function () { console.log(this.getPeerCertificate().issuer.CN); this.end(); })`;
      // It looks once a minute.
      await eventually(
        "MinIO's new certificate",
        () => execIn('app.kubernetes.io/component=api', 'node', '-e', served),
        (issuer) => issuer.trim() === 'new',
        120_000,
      );
      // 4: the old is gone. What starts now trusts the new authority alone.
      for (const name of Object.keys(certificates)) await setSecret(`filemill-${name}-tls`, { 'ca.crt': ca });
      await setSecret('filemill-keys', { SECRET_KEY: newKey, SECRET_SALT: oldKey });
      await restart('new');
      await users('--retire');
      await admit();
      const passwords = (await readFile(join(folder, 'nats-users.conf'), 'utf8')).match(/user: /g) ?? [];
      must(passwords.length === USERS.length, 'replaced users are admitted still');
      return 'every role uses the new ones, and the old ones are gone';
    }),
  );
  await step('keys of the object store, which has one at a time, under load', () =>
    under(async () => {
      await setSecret('filemill-minio', { S3_SECRET_ACCESS_KEY: 'another-key-of-this-test-that-is-long-enough' });
      const start = performance.now();
      // Its container is started again, with what the Secret holds now.
      await crash('^minio server');
      await inNamespace('rollout', 'restart', 'deployment', 'filemill-api');
      await inNamespace('rollout', 'status', 'deployment/filemill-api', '--timeout=180s');
      return `replicas with the new key after ${((performance.now() - start) / 1000).toFixed(1)} s`;
    }),
  );
}
