/** Times and memory, as docs/cluster.md states them. */
import sharp from 'sharp';
import { convert } from './client.ts';
import { base, inNamespace } from './cluster.ts';
import { must, step } from './steps.ts';

/** When a container's first process began, ms since the epoch. */
const BEGUN = `
const { readFileSync } = require('node:fs');
const ticks = Number(readFileSync('/proc/1/stat', 'utf8').split(') ')[1].split(' ')[19]);
console.log(Date.now() - (Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) - ticks / 100) * 1000);`;

export async function measure(): Promise<void> {
  await step("a worker's start, from its process to its first request for an order", async () => {
    const found: number[] = [];
    for (const pod of (await inNamespace('get', 'pods', '-l', 'app.kubernetes.io/component=worker', '-o', 'name')).trim().split('\n')) {
      const log = await inNamespace('logs', pod, '--timestamps');
      const ready = /^(\S+) .*takes orders of the pool/m.exec(log)?.[1];
      const begun = Number(await inNamespace('exec', pod, '--', 'node', '-e', BEGUN));
      if (ready !== undefined) found.push(Date.parse(ready) - begun);
    }
    must(found.length > 0, 'no worker says when it began');
    return `${found.map((ms) => Math.round(ms)).join(', ')} ms`;
  });
  await step('a hundred small pictures, one after the other', async () => {
    const small = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#c33' } })
      .png()
      .toBuffer();
    const taken: number[] = [];
    for (let n = 0; n < 100; n++) {
      const start = performance.now();
      await convert(base, [new Blob([Uint8Array.from(small)]), 'small.png'], 'jpg');
      taken.push(performance.now() - start);
    }
    taken.sort((a, b) => a - b);
    return `p50 ${Math.round(taken[49] ?? 0)} ms, p99 ${Math.round(taken[98] ?? 0)} ms, with the download of each`;
  });
  await step('memory of each role', async () => {
    const held: string[] = [];
    for (const component of ['api', 'controller', 'egress', 'worker']) {
      const pods = (await inNamespace('get', 'pods', '-l', `app.kubernetes.io/component=${component}`, '-o', 'name')).trim().split('\n');
      const status = await inNamespace('exec', pods[0] ?? '', '--', 'cat', '/proc/1/status');
      held.push(`${component} ${Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024)} MiB`);
    }
    return held.join(', ');
  });
}
