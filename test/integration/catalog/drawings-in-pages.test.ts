/** Drawings that stand in a page as SVG are pictures in what is made of it, and one that cannot be drawn costs nothing else. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { unzip } from '../../kit/judges/documents/text.ts';
import { convertTo } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

let [url, folder] = ['', ''];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-drawings-'));
  ({ url } = await sharedService());
});
afterAll(() => rm(folder, { recursive: true }));

const DRAWING =
  '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="40"><rect width="80" height="40" fill="#00ff00"/><text x="5" y="20">Inside</text></svg>';
const BROKEN =
  '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><image href="file:///etc/passwd" width="1" height="1"/><g filter="url(#';

it.each([
  ['docx', /word\/media\/.*png$/, /word\/document\.xml$/, /<wp:extent cx="762000" cy="381000"/],
  ['epub', /\.png$/, /ch001\.xhtml$/, /alt="Inside"/],
  ['odt', /^Pictures\/.*png$/, /^content\.xml$/, /svg:width="0\.83\d*in"/],
])('in %s', async (target, picture, page, size) => {
  const source = join(folder, 'page.html');
  await writeFile(source, `<p>before ${DRAWING} after</p>`);
  const { path, job } = await convertTo(url, folder, source, target);
  const files = await unzip(await readFile(path));
  const [, drawn] = [...files].find(([name]) => picture.test(name)) ?? [];
  const { data, info } = await sharp(drawn).raw().toBuffer({ resolveWithObject: true });
  expect([info.width, info.height, ...data.subarray(0, 3)]).toEqual([160, 80, 0, 255, 0]);
  expect([...files].find(([name]) => page.test(name))?.[1].toString()).toMatch(size);
  expect(job.warnings.map(({ message }) => message)).toContain('Drawings in SVG are pictures of pixels in the result: 1.');
  expect(job.warnings.map(({ code }) => code)).not.toContain('property_lost');
});

it('not where one is none', async () => {
  const source = join(folder, 'broken.html');
  await writeFile(source, `<p>before <img src="data:image/svg+xml;base64,${Buffer.from(BROKEN).toString('base64')}"> after</p>`);
  const { path, job } = await convertTo(url, folder, source, 'docx');
  const document = (await unzip(await readFile(path))).get('word/document.xml')?.toString() ?? '';
  expect(document).toContain('before');
  expect(document).toContain('after');
  expect(job.warnings.map(({ message }) => message)).toContain('Drawings in SVG that could not be drawn are left out: 1.');
});
