/** Other images under load, and back. */
import { load } from './client.ts';
import { base, cluster, helm, IMAGES, imageOf, inNamespace, program, VALUES } from './cluster.ts';
import type { E2eFiles } from './files.ts';
import { must, step } from './steps.ts';

const NEXT = 'next';

export async function upgrade(files: E2eFiles): Promise<void> {
  await step('helm upgrade to another image under load', async () => {
    for (const name of IMAGES)
      await program('buildah', ['tag', imageOf(name.replace(/^\d=/, '')), imageOf(name.replace(/^\d=/, ''), NEXT)]);
    await cluster('load', ...IMAGES.map((name) => imageOf(name, NEXT)));
    const stop = load(base, files.photo);
    await helm('upgrade', 'filemill', 'charts/filemill', ...VALUES, '--set', `image.tag=${NEXT}`, '--wait', '--timeout', '4m');
    const { done, failed } = await stop();
    must(failed.length === 0 && done > 0, `${failed.length} of ${done + failed.length} jobs failed: ${failed[0]}`);
    const images = await inNamespace('get', 'pods', '-l', 'filemill.io/pool=image', '-o', 'jsonpath={.items[*].spec.containers[0].image}');
    must(images.includes(`image:${NEXT}`), `workers run ${images}`);
    const capacity = await inNamespace('get', 'tp', 'image', '-o', 'jsonpath={.spec.capacity}');
    must(capacity === '3', `the upgrade changed what kubectl scale wrote to ${capacity}`);
    return `${done} jobs, none failed`;
  });
  await step('helm rollback under load', async () => {
    const stop = load(base, files.photo);
    await helm('rollback', 'filemill', '1', '--wait', '--timeout', '4m');
    const { done, failed } = await stop();
    must(failed.length === 0 && done > 0, `${failed.length} of ${done + failed.length} jobs failed: ${failed[0]}`);
    return `${done} jobs, none failed`;
  });
}
