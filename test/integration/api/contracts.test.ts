/** Every answer is what its contract says, and has no field that the contract does not know. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { describeTools } from '../../../src/api/tools/list.ts';
import { createCatalog } from '../../../src/catalog/catalog.ts';
import { Batch } from '../../../src/contracts/api/batch.ts';
import { Entry } from '../../../src/contracts/api/entry.ts';
import { FormatList } from '../../../src/contracts/api/formats.ts';
import { Job, TextJob } from '../../../src/contracts/api/job.ts';
import { Problem } from '../../../src/contracts/api/problem.ts';
import { Health, Limits } from '../../../src/contracts/api/service.ts';
import { ToolEntry, ToolList } from '../../../src/contracts/api/tools.ts';
import { Upload } from '../../../src/contracts/api/upload.ts';
import { picturedPage } from '../../kit/fixtures/documents/document-cases.ts';
import type { Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const TABLE = new File(['name,size\nkestrel,7\n'], 'table.csv');

describe('an answer', () => {
  let service: Pick<Service, 'url'>;
  let folder: string;
  let page: File;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filemill-contracts-'));
    service = await sharedService();
    page = new File([await readFile(await picturedPage('kestrel', folder))], 'scan.png');
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  const form = (fields: Readonly<Record<string, string | File | readonly File[]>>): RequestInit => {
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) for (const each of [value].flat()) body.append(name, each as string);
    return { method: 'POST', body };
  };
  const ask = async (path: string, request: RequestInit = {}) =>
    (await (await fetch(`${service.url}/api/v1${path}`, request)).json()) as { data?: unknown; error?: { code: string } };
  /** What a contract does not know, it leaves out. */
  const holds = (schema: z.ZodType, value: unknown) => expect(schema.parse(value)).toEqual(value);

  it('about a job that is done', async () => {
    const { data } = await ask('/convert', form({ file: TABLE, to_format: 'xlsx' }));
    holds(Job, data);
    expect(data).toMatchObject({ status: 'done', engine: expect.any(Object), output: expect.any(Object) });
  });

  it('about a job that is under way', async () => {
    const request = form({ file: TABLE, to_format: 'xlsx', nonsense: '1' });
    const { data } = await ask('/convert', { ...request, headers: { prefer: 'respond-async' } });
    holds(Job, data);
    expect(data).toMatchObject({ status: 'processing', warnings: [{ code: 'option_unknown' }] });
  });

  it('about a job that failed', async () => {
    const broken = new File([`%PDF-1.7\n${'x'.repeat(2000)}`], 'broken.pdf');
    const body = await ask('/convert', form({ file: broken, to_format: 'png' }));
    holds(Problem, body);
    expect(body).toMatchObject({ error: { code: 'CONVERSION_FAILED' }, data: { status: 'error' } });
  });

  it('with a text', async () => {
    const { data } = await ask('/tools/image-to-text', form({ file: page }));
    holds(TextJob, data);
    expect(data).toMatchObject({ text: expect.any(String), language: 'eng', pages: 1 });
  });

  it('about a batch, of which a part failed', async () => {
    const odd = new File(['\x7fELF\x02\x01\x01'], 'odd.bin');
    const { data } = await ask('/batch', form({ 'files[]': [TABLE, odd], to_format: 'xlsx' }));
    holds(Batch, data);
    expect(data).toMatchObject({ counts: { total: 2, failed: 1 } });
  });

  it('about an upload', async () => holds(Upload, (await ask('/uploads', form({ file: TABLE }))).data));

  it.each([
    ['/formats', FormatList],
    ['/tools', ToolList],
    ['/tools/resize-image', ToolEntry],
    ['', Entry],
    ['/limits', Limits],
    ['/health', Health],
  ])('to %s', async (path, schema) => holds(schema, (await ask(path)).data));

  it('says of each tool how much it takes, and how often', () => {
    const tools = describeTools(createCatalog([]), { maxFileBytes: 7, ai: { 'upscale-image': { limit: 50 } } });
    const limitsOf = (wanted: string) => tools.find(({ slug }) => slug === wanted)?.limits;
    expect(limitsOf('upscale-image')).toEqual({ max_bytes: 7, max_pixels: 8_000_000, daily: 50 });
    expect(limitsOf('flip-image')).toEqual({ max_bytes: 7 });
  });

  it('says of a tool what one file may have', async () => {
    const limitsOf = async (slug: string) => ((await ask(`/tools/${slug}`)).data as z.infer<typeof ToolEntry>).limits;
    expect(await limitsOf('image-to-text')).toMatchObject({ max_bytes: 26_214_400, max_pixels: 16_000_000, max_pages: 2_000 });
    expect(await limitsOf('reverse-video')).toMatchObject({ max_bytes: 209_715_200, max_seconds: 60 });
    expect(await limitsOf('merge-pdf')).toMatchObject({ max_total_bytes: 419_430_400, max_pages: 2_000 });
    expect(await limitsOf('flip-image')).toMatchObject({ max_bytes: 209_715_200 });
    expect((await fetch(`${service.url}/api/v1/tools/none`)).status).toBe(404);
  });

  it('names every engine that may do a tool’s work, and no other', async () => {
    const grey = (await ask('/tools/grayscale-image')).data as z.infer<typeof ToolEntry>;
    expect(grey.engines?.length).toBeGreaterThan(1);
    expect(grey.engine).toBe(grey.engines?.join(' or '));
  });

  it('says of each tool what it takes, or why it is not there', async () => {
    const { tools } = (await ask('/tools')).data as z.infer<typeof ToolList>;
    expect(tools.length).toBeGreaterThan(35);
    for (const tool of tools)
      expect(tool, tool.slug).toMatchObject(
        tool.available
          ? { engine: expect.stringMatching(/./), options: expect.any(Array), files: expect.any(Object) }
          : { reason: expect.stringMatching(/./) },
      );
    const watermark = tools.find(({ slug }) => slug === 'watermark-image');
    expect(watermark?.options).toContainEqual({
      name: 'opacity',
      required: false,
      allowed: 'integer, 0 to 100 %',
      schema: {
        type: 'integer',
        minimum: 0,
        maximum: 100,
        default: 50,
        description: 'Opacity of the text: 0 is invisible. Takes integer, 0 to 100 %. Default: 50.',
      },
    });
  });
});
