/** sharp, warm and alone: converts a picture for each line of JSON on stdin, and answers with a line. */
import { createInterface } from 'node:readline';
import sharp from 'sharp';

interface Order {
  readonly input: string;
  readonly output: string;
  readonly target: 'jpg' | 'webp';
  readonly width?: number;
}

sharp.cache(false);
sharp.concurrency(1);
for await (const line of createInterface({ input: process.stdin })) {
  const { input, output, target, width } = JSON.parse(line) as Order;
  const picture = sharp(input, { failOn: 'error', sequentialRead: true }).autoOrient();
  const sized = width === undefined ? picture : picture.resize({ width });
  await (target === 'jpg' ? sized.jpeg({ quality: 80 }) : sized.webp({ quality: 80, effort: 3 })).toFile(output);
  process.stdout.write('done\n');
}
