/** Whatever a file is called and declared to be, it is converted as what it is, and the client is told: convert, batch, tools and MCP alike. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call } from '../../kit/api/assistant.ts';
import { type JobBody, type Service, startService, untilEnded } from '../../kit/roles/service.ts';

let service: Service;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-differs-'));
  service = await startService({ worker: { slots: { media: 0 } } });
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Sent {
  readonly content: string | Uint8Array;
  readonly name: string;
  readonly type: string;
}

const PAGE = '<!DOCTYPE html><html><body><p>kestrel marble meadow</p></body></html>';
const png = (): Promise<Buffer> =>
  sharp({ create: { width: 16, height: 16, channels: 3, background: '#306090' } })
    .png()
    .toBuffer();

async function post(
  path: string,
  { content, name, type }: Sent,
  fields: Readonly<Record<string, string>>,
  field = 'file',
): Promise<unknown> {
  const form = new FormData();
  for (const [key, value] of Object.entries(fields)) form.set(key, value);
  form.append(field, new Blob([typeof content === 'string' ? content : new Uint8Array(content)], { type }), name);
  const answer = (await (await fetch(`${service.url}/api/v1/${path}`, { method: 'POST', body: form })).json()) as { data?: unknown };
  if (answer.data === undefined) throw new Error(`${path} of ${name}: ${JSON.stringify(answer)}`);
  return answer.data;
}

async function convertAs(sent: Sent, target: string): Promise<JobBody> {
  const { job_id: id } = (await post('convert', sent, { to_format: target })) as JobBody;
  const { data, error } = await untilEnded(service.url, id);
  if (data?.status !== 'done') throw new Error(`${sent.name} failed: ${JSON.stringify(error)}`);
  return data;
}

async function outputOf({ output }: JobBody): Promise<Buffer> {
  return Buffer.from(await (await fetch(output?.url ?? '')).arrayBuffer());
}

const told = ({ warnings }: Pick<JobBody, 'warnings'>): string[] =>
  warnings.filter(({ code }) => code === 'content_differs').map(({ message }) => message);

describe('a text that is named as a picture', () => {
  it.each(['label:@/etc/passwd.png', 'text:/etc/passwd.jpg', 'caption:@x.gif', 'ephemeral:/etc/hosts.png'])(
    '%s is read as the text that it is',
    async (name) => {
      const job = await convertAs({ content: 'kestrel marble meadow\n', name, type: 'image/png' }, 'pdf');
      expect(told(job)).toHaveLength(1);
      expect(told(job)[0]).toMatch(/^The file was read as txt, based on its content; its name says \w+ and its content type says png\.$/);
      const pdf = join(folder, 'text.pdf');
      await writeFile(pdf, await outputOf(job));
      expect(execFileSync('pdftotext', [pdf, '-']).toString().trim()).toBe('kestrel marble meadow');
    },
  );
});

describe('a web page that is sent as a picture', () => {
  it('is read as the page that it is', async () => {
    const job = await convertAs({ content: PAGE, name: 'a.png', type: 'image/png' }, 'md');
    expect(told(job)).toEqual(['The file was read as html, based on its content; its name says png and its content type says png.']);
    expect(String(await outputOf(job)).trim()).toBe('kestrel marble meadow');
  });

  it('is refused by tools for pictures', async () => {
    const form = new FormData();
    form.set('file', new Blob([PAGE], { type: 'image/png' }), 'a.png');
    const answer = await fetch(`${service.url}/api/v1/tools/grayscale-image`, { method: 'POST', body: form });
    expect(answer.status).toBe(415);
  });
});

describe('a PNG that is named as a JPEG', () => {
  const MESSAGE = 'The file was read as png, based on its content; its name says jpg.';

  it('is told of in a conversion, and not where nothing differs', async () => {
    const content = await png();
    const job = await convertAs({ content, name: 'a.jpg', type: 'image/png' }, 'webp');
    expect(told(job)).toEqual([MESSAGE]);
    expect((await sharp(await outputOf(job)).metadata()).width).toBe(16);
    expect(told(await convertAs({ content, name: 'a.png', type: 'image/png' }, 'webp'))).toEqual([]);
    expect(told(await convertAs({ content, name: 'a', type: '' }, 'webp'))).toEqual([]);
  });

  it('is told of in a batch', async () => {
    const batch = await post('batch', { content: await png(), name: 'a.jpg', type: '' }, { to_format: 'webp' }, 'files[]');
    const [entry] = (batch as { jobs: JobBody[] }).jobs;
    expect(told((await untilEnded(service.url, entry?.job_id ?? '')).data ?? { warnings: [] })).toEqual([MESSAGE]);
  });

  it('is told of by a tool, which takes it for what it is', async () => {
    const job = (await post('tools/grayscale-image', { content: await png(), name: 'a.jpg', type: '' }, {})) as JobBody;
    expect(told(job)).toEqual([MESSAGE]);
    expect(job.output?.filename).toMatch(/\.png$/);
  });

  it('is told of to an assistant', async () => {
    const { structuredContent } = await call(service.url, 'convert_file', {
      file: (await png()).toString('base64'),
      filename: 'a.jpg',
      to_format: 'webp',
    });
    expect(told(structuredContent as unknown as JobBody)).toEqual([MESSAGE]);
  });
});
