/** A pool is added to a trial while clients convert: NATS learns of its user, and neither NATS nor MinIO is replaced. */
import { load, send } from './client.ts';
import { base, helm, inNamespace, VALUES } from './cluster.ts';
import type { E2eFiles } from './files.ts';
import { eventually, must, step } from './steps.ts';

/** Those of the trial that hold data, as they are now. */
export const dataServers = (): Promise<string> =>
  inNamespace('get', 'pods', 'filemill-nats-0', 'filemill-minio-0', '-o', 'jsonpath={.items[*].metadata.uid}');

export async function addPool(files: E2eFiles): Promise<void> {
  await step('helm upgrade: a pool with a name that no toolchain has, under load', async () => {
    const there = await dataServers();
    const photo = [new Blob([Uint8Array.from(files.photo)]), 'photo.jpg'] as const;
    const before = await send(base, '/api/v1/convert', [['file', ...photo]], { to_format: 'png' });
    const stop = load(base, files.photo);
    const more = ['enabled=true', 'spec.toolchain=image', 'spec.workDirSize=1Gi', 'spec.resources.requests.cpu=50m'];
    await helm('upgrade', 'filemill', 'charts/filemill', ...VALUES, '--set', more.map((value) => `pools.more.${value}`).join());
    await eventually(
      'the pool',
      () => inNamespace('get', 'tp', 'more', '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'),
      (ready) => ready === 'True',
      240_000,
    );
    const { done, failed } = await stop();
    must(failed.length === 0 && done > 0, `${failed.length} of ${done + failed.length} jobs failed: ${failed[0]}`);
    must((await before.ended()).status === 'done', 'a job that was accepted before failed');
    must(there === (await dataServers()), 'NATS or MinIO was replaced');
    await helm('rollback', 'filemill', '1', '--wait', '--timeout', '4m');
    return `${done} jobs, none failed`;
  });
}
