/** Examples in Chromium: each tool is tried with a file that the browser makes, and the result is what the tool promises. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { unzip } from '../../kit/judges/documents/text.ts';
import { findings, nothingOdd, pageGround, result, start, untilStates, visit } from './browser.ts';

const run = promisify(execFile);
const ground = pageGround('example');
const press = 'Try it with an example';

/** @param look at the result */
async function tried<T>(tool: string, look: (page: Page) => Promise<T>): Promise<T> {
  const visited = await visit(ground.browser, `${ground.url}/tools/${tool}`);
  const { page } = visited;
  await page.getByRole('button', { name: press }).click();
  await page.locator('.pieces li').first().waitFor();
  // Keyboards go on where the button was.
  await expect.poll(() => page.evaluate('document.activeElement.type')).toBe('submit');
  await start(page);
  await untilStates(page, ['done']);
  const found = await look(page);
  nothingOdd(visited);
  await visited.close();
  return found;
}
const made = (tool: string): Promise<Buffer> => tried(tool, result);
async function file(name: string, bytes: Buffer): Promise<string> {
  const path = join(ground.folder, name);
  await writeFile(path, bytes);
  return path;
}
const pagesOf = async (path: string) => Number(/^Pages:\s+(\d+)$/m.exec((await run('pdfinfo', [path])).stdout)?.[1]);
const probed = async (path: string) =>
  JSON.parse(
    (await run('/usr/bin/ffprobe', ['-v', 'error', '-of', 'json', '-show_entries', 'stream=codec_type:format=duration', path])).stdout,
  ) as {
    streams: { codec_type: string }[];
    format: { duration: string };
  };

describe('an example', () => {
  it('of a picture is resized, rotated and made smaller', async () => {
    expect(await sharp(await made('resize-image')).metadata()).toMatchObject({ width: 320, height: 210 });
    expect(await sharp(await made('rotate-image')).metadata()).toMatchObject({ width: 420, height: 640 });
    for (const [tool, format] of Object.entries({
      'compress-jpg': 'jpeg',
      'compress-webp': 'webp',
      'compress-gif': 'gif',
      'compress-png': 'png',
    })) {
      const found = await sharp(await made(tool)).metadata();
      expect(found.format).toBe(format);
      if (format === 'gif') expect(found).toMatchObject({ pages: 10, width: 160, height: 105 });
    }
  });

  it('of a text is read', async () => {
    await tried('image-to-text', async (page) => {
      await page.getByRole('button', { name: 'Preview' }).click();
      await page.getByText('The quick brown fox').first().waitFor();
    });
  });

  it('of a PDF loses a page, is split, and two are merged', async () => {
    expect(await pagesOf(await file('less.pdf', await made('pdf-page-remover')))).toBe(2);
    expect((await unzip(await made('split-pdf'))).size).toBe(3);
    const merged = await file('merged.pdf', await made('merge-pdf'));
    expect(await pagesOf(merged)).toBe(6);
    const { stdout } = await run('pdftotext', [merged, '-']);
    for (const title of ['Example 1, page 3', 'Example 2, page 1']) expect(stdout).toContain(title);
  });

  it('of a sound is cut', async () => {
    const { streams, format } = await probed(await file('cut.wav', await made('audio-cutter')));
    expect(streams.map(({ codec_type }) => codec_type)).toEqual(['audio']);
    expect(Number(format.duration)).toBeCloseTo(2, 1);
  });

  it('of a video is trimmed, and has a sound', async () => {
    const { streams, format } = await probed(await file('trimmed.webm', await made('trim-video')));
    expect(streams.map(({ codec_type }) => codec_type).toSorted()).toEqual(['audio', 'video']);
    expect(Number(format.duration)).toBeGreaterThan(0.7);
    expect(Number(format.duration)).toBeLessThan(1.4);
    expect(Number((await probed(await file('sound.mp3', await made('extract-audio-from-video')))).format.duration)).toBeGreaterThan(1);
  });

  it('is there for every tool but four, and axe finds nothing', async () => {
    const { data } = (await (await fetch(`${ground.url}/api/v1/tools`)).json()) as {
      data: { tools: { slug: string; available: boolean }[] };
    };
    const visited = await visit(ground.browser, `${ground.url}/tools`);
    const { page } = visited;
    const without: string[] = [];
    for (const { slug } of data.tools.filter(({ available }) => available)) {
      await page.goto(`${ground.url}/tools/${slug}`);
      await page.locator('form.panel').waitFor();
      if ((await page.getByRole('button', { name: press }).count()) === 0) without.push(slug);
    }
    expect(without.toSorted()).toEqual(['passport-photo', 'speech-to-text', 'unlock-pdf', 'webpage-to-pdf']);
    await page.goto(`${ground.url}/tools/blur-image`);
    await page.getByRole('button', { name: press }).waitFor();
    expect(await findings(page)).toEqual([]);
    await visited.close();
  });

  it('that the browser cannot make is told', async () => {
    const { page, close } = await visit(ground.browser, `${ground.url}/tools/trim-video`);
    await page.evaluate('MediaRecorder.isTypeSupported = () => false');
    await page.getByRole('button', { name: press }).click();
    await page.getByText('This browser cannot make the example.').waitFor();
    await close();
  });
});
