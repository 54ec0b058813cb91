/**
 * Runs libvips: each line of JSON on stdin requests one conversion, and one line of JSON on stdout answers it.
 *
 *   image.ts             serves requests until stdin ends; prints {"ready":true} first
 *   image.ts --once      answers one request and exits: 0 done, 1 failed
 *   image.ts --version   prints "sharp 0.35.5 libvips 8.18.7"
 */
import { createInterface } from 'node:readline';
import { convert } from './image/convert.ts';
import { sharp } from './image/libvips.ts';
import { type ImageRequest, refusalOf } from './image/request.ts';

async function answer(line: string): Promise<{ ok: boolean }> {
  try {
    return { ok: true, ...(await convert(JSON.parse(line) as ImageRequest)) };
  } catch (error) {
    return refusalOf(error);
  }
}

const send = (message: object): boolean => process.stdout.write(`${JSON.stringify(message)}\n`);

async function main(mode: string | undefined): Promise<void> {
  if (mode === '--version') {
    process.stdout.write(`sharp ${sharp.versions.sharp} libvips ${sharp.versions.vips}\n`);
    return;
  }
  // One job at a time in each process, and a process per core: threads and the cache of libvips would cost more than they gain.
  sharp.cache(false);
  sharp.concurrency(1);
  if (mode !== '--once') send({ ready: true });
  for await (const line of createInterface({ input: process.stdin })) {
    const reply = await answer(line);
    send(reply);
    if (mode !== '--once') continue;
    process.exitCode = reply.ok ? 0 : 1;
    return;
  }
}

await main(process.argv[2]);
