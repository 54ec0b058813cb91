/** docs/recipes.md as it stands there: over HTTP, at the command line here and on a server, by name, and as an assistant calls it. */
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { call, refusalIn } from '../../kit/api/assistant.ts';
import { type readRecipe, sendRecipe } from '../../kit/api/recipes.ts';
import { fixtures as documents } from '../../kit/fixtures/documents/documents.ts';
import { checkout, type Service, type Settings, startService, untilEnded } from '../../kit/roles/service.ts';

const run = promisify(execFile);
const text = await readFile(join(checkout, 'docs/recipes.md'), 'utf8');
const blocks = new Map([...text.matchAll(/```(?:json|yaml) (\S+)\n([\s\S]*?)```/g)].map(([, name = '', block = '']) => [name, block]));
const commands = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) => block.trim().split('\n'));

let service: Service;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-recipes-'));
  // Limits count here, as nowhere else.
  service = await startService({
    ...(parse(blocks.get('filemill.yaml') ?? '') as Settings),
    limits: { cooldownMs: 0, ai: { 'upscale-image': 1 } },
  });
  for (const [name, content] of blocks) await writeFile(join(folder, name), content);
  for (const name of ['a', 'b'])
    await copyFile((await documents['docx']?.(name, await mkdtemp(join(folder, 'made-')))) ?? '', join(folder, `${name}.docx`));
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

const sh = async (command: string, env: Readonly<Record<string, string>> = {}) =>
  (await run('sh', ['-c', command.replaceAll('http://localhost:8080', service.url)], { cwd: folder, env: { ...process.env, ...env } }))
    .stdout;
const file = async (name: string) => ({ name, bytes: await readFile(join(folder, name)) });
const pagesOf = async (path: string) => Number(/Pages: +(\d+)/.exec((await run('pdfinfo', [path])).stdout)?.[1]);
const used = async () =>
  ((await (await fetch(`${service.url}/api/v1/limits`)).json()) as { data: { tiers: { daily: { used: number }; mcp: { used: number } } } })
    .data.tiers;
const tiny = async () => ({
  name: 'dot.png',
  bytes: await sharp({ create: { width: 20, height: 20, channels: 3, background: 'red' } })
    .png()
    .toBuffer(),
});

describe('docs/recipes.md', () => {
  it('makes a book and its cover over HTTP, and limits count each conversion', async () => {
    const before = await used();
    const [send = '', ...downloads] = commands.filter((command) => command.startsWith('curl') && !command.includes('invoice'));
    const { job_id: id } = (JSON.parse(await sh(send)) as { data: { job_id: string } }).data;
    expect((await untilEnded(service.url, id)).data?.status).toBe('done');
    for (const command of downloads) await sh(command, { JOB: id });
    expect((await readdir(folder)).filter((name) => name.startsWith('a-filemill')).sort()).toEqual(['a-filemill.pdf', 'a-filemill.zip']);
    expect(await pagesOf(join(folder, 'a-filemill.pdf'))).toBeGreaterThanOrEqual(2);
    // Two letters, one book, one cover.
    expect((await used()).daily.used - before.daily.used).toBe(4);
  });

  it.each(['here', 'on a server'])('makes them at the command line, %s', async (where) => {
    const command = commands.find((each) => each.startsWith('filemill run')) ?? '';
    const out = where === 'here' ? 'book/' : 'there/';
    const flags = where === 'here' ? '' : ` --server ${service.url}`;
    await sh(`${command.replace('filemill', join(checkout, 'scripts/filemill')).replace('book/', out)}${flags}`);
    expect((await readdir(join(folder, out))).sort()).toEqual(['a.pdf', 'a.webp']);
    expect(await pagesOf(join(folder, out, 'a.pdf'))).toBeGreaterThanOrEqual(2);
    expect((await sharp(await readFile(join(folder, out, 'a.webp'))).metadata()).format).toBe('webp');
  });

  it('runs a recipe by its name, with what its clients may change and nothing else', async () => {
    const command = commands.find((each) => each.includes('invoice')) ?? '';
    const { job_id: id } = (JSON.parse(await sh(command)) as { data: { job_id: string } }).data;
    const ended = (await untilEnded(service.url, id)) as unknown as Awaited<ReturnType<typeof readRecipe>>;
    expect(ended.data?.outputs?.map(({ name, filename }) => [name, filename])).toEqual([['small', 'a-filemill.webp']]);
    for (const fields of [{ 'text.pdfa': '2b' }, { 'small.to_format': 'png' }, { 'other.pages': '1' }]) {
      const { error } = await sendRecipe(service.url, 'invoice', [await file('a.docx')], fields);
      expect([error?.code, error?.details['field']]).toEqual(['BAD_REQUEST', Object.keys(fields)[0]]);
    }
    const { error } = await sendRecipe(service.url, 'invoice', [await file('a.docx')], { 'small.pages': '0' });
    expect([error?.code, error?.details['step'], error?.details['field']]).toEqual(['INVALID_OPTION', 'small', 'options.pages']);
    const list = (await (await fetch(`${service.url}/api/v1/recipes`)).json()) as {
      data: { recipes: { name: string; may_change: string[] }[] };
    };
    expect(list.data.recipes.map(({ name, may_change }) => [name, may_change])).toEqual([
      ['invoice', ['small.pages', 'small.img_quality']],
    ]);
  });

  it('is what an assistant runs, whose own limit counts each conversion', async () => {
    const before = await used();
    const { bytes } = await tiny();
    const steps = [
      { name: 'small', do: 'convert', options: { to_format: 'webp' } },
      { name: 'pdf', do: 'convert', options: { to_format: 'pdf' } },
    ];
    const args = {
      files: [`data:image/png;base64,${bytes.toString('base64')}`],
      recipe: JSON.stringify({ steps, outputs: ['small', 'pdf'] }),
    };
    const { structuredContent } = await call(service.url, 'run_recipe', args);
    expect((structuredContent as unknown as { outputs: { name: string }[] }).outputs.map(({ name }) => name)).toEqual(['small', 'pdf']);
    expect((await used()).mcp.used - before.mcp.used).toBe(2);
    const refused = refusalIn(await call(service.url, 'run_recipe', { ...args, recipe: '{"steps":[{"name":"a","do":"nothing"}]}' }));
    expect([refused.code, refused.details['step']]).toEqual(['BAD_REQUEST', 'a']);
  });

  it('counts calls of tools that have their own limits', async () => {
    const steps = [1, 2].map((scale) => ({ name: `up${scale}`, do: 'upscale-image', options: { scale: 2 } }));
    const { error } = await sendRecipe(service.url, { steps }, [await tiny()], {}, { prefer: 'respond-async' });
    expect([error?.code, error?.details['tier']]).toEqual(['RATE_LIMITED', 'ai']);
  });
});
