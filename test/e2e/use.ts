/** What people do with it: REST, kubectl. */
import { writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { join } from 'node:path';
import { Client } from 'minio';
import { convert, submit } from './client.ts';
import { base, inNamespace, NAMESPACE } from './cluster.ts';
import { blobOf, type E2eFiles, head } from './files.ts';
import { eventually, must, step } from './steps.ts';

export async function use(files: E2eFiles): Promise<void> {
  await step('a photo, warm', async () => {
    const { job, bytes } = await convert(base, [new Blob([files.photo]), 'photo.jpg'], 'webp');
    must(head(bytes, 4) === 'RIFF', 'the photo became no WebP');
    return `${job.engine?.name}, ${bytes.length} bytes`;
  });
  await step('a DOCX', async () => {
    const { job, bytes } = await convert(base, await blobOf(files.docx, 'letter.docx'), 'pdf');
    must(head(bytes, 4) === '%PDF', 'the letter became no PDF');
    return job.engine?.name;
  });
  await step('a video', async () => {
    const { job, bytes } = await convert(base, await blobOf(files.video, 'clip.mp4'), 'mp3');
    must(bytes.length > 500, 'its sound is empty');
    return job.engine?.name;
  });
  await step('a PDF tool', async () => {
    const { bytes } = await submit(base, '/api/v1/tools/merge-pdf', [
      ['files[]', ...(await blobOf(files.pdf, 'a.pdf'))],
      ['files[]', ...(await blobOf(files.pdf, 'b.pdf'))],
    ]);
    must(head(bytes, 4) === '%PDF', 'it merged no PDF');
    return `${bytes.length} bytes`;
  });
  await step('a pool at rest, from no worker to a result', async () => {
    // A worker's Job that is deleted is replaced only where there is work.
    await inNamespace('delete', 'jobs', '-l', 'filemill.io/pool=pdf', '--wait=true');
    await eventually(
      'no worker',
      () => inNamespace('get', 'pods', '-l', 'filemill.io/pool=pdf', '-o', 'name'),
      (pods) => pods === '',
      60_000,
    );
    const start = performance.now();
    const { bytes } = await convert(base, await blobOf(files.pdf, 'a.pdf'), 'txt');
    must(bytes.length > 0, 'no text');
    return `${Math.round(performance.now() - start)} ms`;
  });

  await step('a ConversionJob by kubectl', async () => {
    const ip = await inNamespace('get', 'pod', 'filemill-minio-0', '-o', 'jsonpath={.status.podIP}');
    const key = async (name: string) =>
      Buffer.from(await inNamespace('get', 'secret', 'filemill-minio', '-o', `jsonpath={.data.${name}}`), 'base64').toString();
    const store = new Client({
      endPoint: ip,
      port: 9_000,
      useSSL: true,
      accessKey: await key('S3_ACCESS_KEY_ID'),
      secretKey: await key('S3_SECRET_ACCESS_KEY'),
      // Its certificate names the Service, not the pod.
      transportAgent: new Agent({ rejectUnauthorized: false }),
    });
    await store.putObject('filemill', `imports/${NAMESPACE}/photo.jpg`, files.photo);
    const path = join(files.folder, 'job.yaml');
    const manifest = {
      apiVersion: 'filemill.io/v1alpha1',
      kind: 'ConversionJob',
      metadata: { name: 'photo' },
      spec: { source: { key: 'photo.jpg' }, toFormat: 'png' },
    };
    await writeFile(path, JSON.stringify(manifest));
    await inNamespace('apply', '--filename', path);
    await inNamespace('wait', '--for=condition=Complete', 'conversionjob/photo', '--timeout=60s');
    const url = await inNamespace('get', 'conversionjob/photo', '-o', 'jsonpath={.status.output.url}');
    const bytes = Buffer.from(await (await fetch(url, { signal: AbortSignal.timeout(20_000) })).arrayBuffer());
    must(head(bytes, 4) === '\x89PNG', 'the URL in its status leads to no PNG');
    await inNamespace('delete', 'conversionjob/photo', '--timeout=60s');
    return undefined;
  });
  await step('kubectl scale', async () => {
    await inNamespace('scale', 'toolchainpool', 'image', '--replicas=3');
    await inNamespace('patch', 'tp', 'image', '--type=merge', '--patch={"spec":{"standby":3}}');
    await eventually(
      'three workers',
      () => inNamespace('get', 'tp', 'image', '-o', 'jsonpath={.status.idle}'),
      (idle) => idle === '3',
    );
    await inNamespace('patch', 'tp', 'image', '--type=merge', '--patch={"spec":{"standby":1}}');
    return 'from one worker to three';
  });
}
