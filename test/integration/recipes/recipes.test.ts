/** Recipes over HTTP: steps of several pools as one job, one into many and many into one, and what is refused before anything runs. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytesAt, readRecipe, runRecipe, sendRecipe } from '../../kit/api/recipes.ts';
import { unzip } from '../../kit/judges/documents/text.ts';
import { convert, type Service, startService, untilEnded } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
let service: Pick<Service, 'url'>;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-recipes-'));
  service = await sharedService();
});
afterAll(() => rm(home, { recursive: true, force: true }));

const page = (text: string) => ({ name: `${text}.html`, bytes: `<!doctype html><html><body><h1>${text}</h1></body></html>` });
const BOOK = {
  steps: [
    { name: 'pages', do: 'convert', from: ['files'], options: { to_format: 'pdf' } },
    { name: 'book', do: 'merge-pdf', from: ['pages'] },
    { name: 'cover', do: 'convert', from: ['book'], options: { to_format: 'webp', pages: '1' } },
  ],
  outputs: ['book', 'cover'],
};

async function textOf(pdf: Buffer): Promise<string[]> {
  const path = join(home, `${createHash('sha256').update(pdf).digest('hex')}.pdf`);
  await writeFile(path, pdf);
  return (await run('pdftotext', [path, '-'])).stdout
    .split('\f')
    .slice(0, -1)
    .map((text) => text.trim());
}

describe('a recipe', () => {
  it('makes a book and its cover of several pages, by the engines of several pools, as one job', async () => {
    const { status, data, error } = await runRecipe(service.url, BOOK, [page('Alpha'), page('Beta')]);
    expect(error).toBeUndefined();
    expect(status).toBe(200);
    expect(data?.outputs?.map(({ name, filename }) => [name, filename])).toEqual([
      ['book', 'Alpha-filemill.pdf'],
      ['cover', 'Alpha-filemill.webp'],
    ]);
    const [book, cover] = await Promise.all((data?.outputs ?? []).map(({ url }) => bytesAt(url)));
    expect(await textOf(book ?? Buffer.of())).toEqual(['Alpha', 'Beta']);
    expect((await sharp(cover).metadata()).format).toBe('webp');
    const whole = await unzip(await bytesAt(data?.output?.url ?? ''));
    expect(Object.fromEntries(whole)).toEqual({ 'Alpha-filemill.pdf': book, 'Alpha-filemill.webp': cover });
    expect(data?.outputs?.map(({ sha256 }) => sha256)).toEqual(
      [book, cover].map((bytes) =>
        createHash('sha256')
          .update(bytes ?? '')
          .digest('hex'),
      ),
    );
  });

  it('leaves its slot to others as it was', async () => {
    const own = await startService({ worker: { toolchains: ['image'], slots: { image: 1 }, sharing: { express: false } } });
    try {
      const bytes = await sharp({ create: { width: 40, height: 30, channels: 3, background: 'red' } })
        .png()
        .toBuffer();
      const convertOne = () => convert(own.url, { name: 'red.png', bytes }, 'jpg');
      const before = await convertOne();
      const recipe = await runRecipe(own.url, { steps: [{ name: 'small', do: 'convert', options: { to_format: 'webp' } }] }, [
        { name: 'red.png', bytes },
      ]);
      const after = await convertOne();
      expect([before, recipe, after].map(({ data }) => data?.status)).toEqual(['done', 'done', 'done']);
    } finally {
      await own.stop();
    }
  });

  it('splits a document, does a step with each part, and takes a part by its number', async () => {
    const steps = [
      { name: 'whole', do: 'convert', options: { to_format: 'pdf' } },
      { name: 'book', do: 'merge-pdf' },
      { name: 'parts', do: 'split-pdf', max_files: 5 },
      { name: 'shots', do: 'convert', options: { to_format: 'png' } },
      { name: 'second', do: 'convert', from: ['parts.1'], options: { to_format: 'txt' } },
    ];
    const { data, error } = await runRecipe(service.url, { steps, outputs: ['shots', 'second'] }, [
      page('Alpha'),
      page('Beta'),
      page('Gamma'),
    ]);
    expect(error).toBeUndefined();
    const [shots, second] = data?.outputs ?? [];
    expect([shots?.files, second?.files]).toEqual([3, 1]);
    expect((await bytesAt(second?.url ?? '')).toString().trim()).toBe('Beta');
    const pictures = await unzip(await bytesAt(shots?.url ?? ''));
    expect([...pictures.keys()]).toEqual(['Alpha-001.png', 'Alpha-002.png', 'Alpha-003.png']);
  });

  it('takes files in its order, whatever their formats, and part of an output by range', async () => {
    const png = await sharp({ create: { width: 40, height: 30, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    const steps = [
      { name: 'pages', do: 'convert', options: { to_format: 'pdf' } },
      { name: 'book', do: 'merge-pdf', from: ['pages.1', 'pages.0', 'pages.2'] },
    ];
    const { data, error } = await runRecipe(service.url, { steps }, [page('Alpha'), { name: 'red.png', bytes: png }, page('Gamma')]);
    expect(error).toBeUndefined();
    const url = data?.outputs?.[0]?.url ?? '';
    const book = await bytesAt(url);
    expect(await textOf(book)).toEqual(['', 'Alpha', 'Gamma']);
    const part = await fetch(url, { headers: { range: 'bytes=0-4' } });
    expect([part.status, await part.text()]).toEqual([206, '%PDF-']);
    expect((await fetch(`${data?.links.self}/outputs/other`)).status).toBe(404);
  });

  it('takes a JSON body, whose files are named, and keeps a password from its record and messages', async () => {
    const upload = async ({ name, bytes }: { name: string; bytes: string }) => {
      const form = new FormData();
      form.set('file', new Blob([bytes]), name);
      const answer = (await (await fetch(`${service.url}/api/v1/uploads`, { method: 'POST', body: form })).json()) as {
        data: { upload_id: string };
      };
      return answer.data.upload_id;
    };
    const recipe = {
      steps: [
        { name: 'pdf', do: 'convert', options: { to_format: 'pdf' } },
        { name: 'locked', do: 'protect-pdf', options: { password: 's3cret' } },
      ],
    };
    const body = JSON.stringify({ upload_ids: [await upload(page('Alpha'))], recipe });
    const answer = await readRecipe(
      await fetch(`${service.url}/api/v1/recipes/run`, { method: 'POST', body, headers: { 'content-type': 'application/json' } }),
    );
    const { data } =
      answer.data?.status === 'processing' ? ((await untilEnded(service.url, answer.data.job_id)) as unknown as typeof answer) : answer;
    const path = join(home, 'locked.pdf');
    await writeFile(path, await bytesAt(data?.outputs?.[0]?.url ?? ''));
    const { stdout } = await run('pdftotext', ['-upw', 's3cret', path, '-']);
    expect(stdout.trim()).toBe('Alpha');
    await expect(run('pdftotext', [path, '-'])).rejects.toThrow('Incorrect password');
  });

  it('names the step whose input fails', async () => {
    const steps = [
      // The name of a property that every object has.
      { name: 'constructor', do: 'convert', options: { to_format: 'webp' } },
      { name: 'cut', do: 'crop-image', options: { img_crop_x: 500, img_crop_y: 0, img_crop_w: 10, img_crop_h: 10 } },
    ];
    const png = await sharp({ create: { width: 40, height: 30, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    const { status, error } = await runRecipe(service.url, { steps }, [{ name: 'red.png', bytes: png }]);
    expect([status, error?.code, error?.details['step']]).toEqual([400, 'INVALID_OPTION', 'cut']);
    expect(error?.message).toMatch(/^Step "cut": /);
  });

  it('is the same job for the same key', async () => {
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const recipe = { steps: [{ name: 'text', do: 'convert', options: { to_format: 'txt' } }] };
    const [first, again] = [
      await sendRecipe(service.url, recipe, [page('Alpha')], {}, headers),
      await sendRecipe(service.url, recipe, [page('Alpha')], {}, headers),
    ];
    expect(again.data?.job_id).toBe(first.data?.job_id);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    const other = await sendRecipe(
      service.url,
      { steps: [{ name: 'md', do: 'convert', options: { to_format: 'md' } }] },
      [page('Alpha')],
      {},
      headers,
    );
    expect(other.error?.code).toBe('IDEMPOTENCY_MISMATCH');
  });
});

const convertTo = (name: string, to: string, from?: readonly string[]) => ({
  name,
  do: 'convert',
  ...(from && { from }),
  options: { to_format: to },
});
const pdf = convertTo('pdf', 'pdf');

describe('what no recipe is', () => {
  const splits = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `s${at}`, do: 'split-pdf' }));
  const deep = `{"steps":${'['.repeat(5000)}${']'.repeat(5000)}}`;
  const refused: readonly (readonly [what: string, recipe: unknown, code: string, step: unknown, field: unknown])[] = [
    ['a bomb of 20 splits', { steps: splits(20) }, 'BATCH_TOO_LARGE', 's2', 'from'],
    [
      'a thousand steps',
      { steps: Array.from({ length: 1000 }, (_, at) => convertTo(`c${at}`, 'pdf')) },
      'BAD_REQUEST',
      undefined,
      undefined,
    ],
    ['no step', { steps: [] }, 'BAD_REQUEST', undefined, 'steps'],
    ['a circle', { steps: [convertTo('a', 'pdf', ['b']), convertTo('b', 'pdf', ['a'])] }, 'BAD_REQUEST', 'a', 'from'],
    ['a step that reads itself', { steps: [convertTo('a', 'pdf', ['a'])] }, 'BAD_REQUEST', 'a', 'from'],
    ['a name that is no step', { steps: [convertTo('a', 'pdf', ['other'])] }, 'BAD_REQUEST', 'a', 'from'],
    ['a file beyond those sent', { steps: [convertTo('a', 'pdf', ['files.1'])] }, 'BAD_REQUEST', 'a', 'from'],
    ['a result beyond what a step makes', { steps: [pdf, convertTo('a', 'txt', ['pdf.1'])] }, 'BAD_REQUEST', 'a', 'from'],
    ['two steps of one name', { steps: [pdf, pdf] }, 'BAD_REQUEST', 'pdf', 'name'],
    ['a step that is called files', { steps: [convertTo('files', 'pdf')] }, 'BAD_REQUEST', 'files', 'name'],
    ['an unknown tool', { steps: [{ name: 'a', do: 'make-coffee' }] }, 'BAD_REQUEST', 'a', 'do'],
    ['a tool by the path of another', { steps: [{ name: 'a', do: '../convert' }] }, 'BAD_REQUEST', 'a', 'do'],
    ['a prototype for a tool', { steps: [{ name: 'a', do: '__proto__' }] }, 'BAD_REQUEST', 'a', 'do'],
    ['a page of the web', { steps: [{ name: 'a', do: 'webpage-to-pdf' }] }, 'BAD_REQUEST', 'a', 'do'],
    [
      'an unknown option',
      { steps: [{ ...pdf, options: { to_format: 'pdf', '--output': '/etc/passwd' } }] },
      'BAD_REQUEST',
      'pdf',
      'options.--output',
    ],
    [
      'a file in an option',
      { steps: [{ ...pdf, options: { to_format: 'pdf', url: 'http://127.0.0.1/' } }] },
      'BAD_REQUEST',
      'pdf',
      'options.url',
    ],
    [
      'an option out of bounds',
      { steps: [{ name: 'a', do: 'convert', options: { to_format: 'jpg', img_quality: 101 } }] },
      'INVALID_OPTION',
      'a',
      'options.img_quality',
    ],
    [
      'an option that is an object',
      { steps: [{ name: 'a', do: 'convert', options: { to_format: { $ne: 1 } } }] },
      'BAD_REQUEST',
      'a',
      'options.to_format',
    ],
    ['a target that is none', { steps: [convertTo('a', 'nope')] }, 'INVALID_FORMAT', 'a', 'options.to_format'],
    ['no target', { steps: [{ name: 'a', do: 'convert' }] }, 'INVALID_FORMAT', 'a', 'options.to_format'],
    ['formats that cannot follow', { steps: [pdf, convertTo('a', 'mp3')] }, 'INVALID_FORMAT', 'a', 'options.to_format'],
    [
      'a tool after what it does not accept',
      { steps: [convertTo('a', 'png'), { name: 'b', do: 'split-pdf' }] },
      'INVALID_FORMAT',
      'b',
      'from',
    ],
    ['one file for a tool that joins', { steps: [pdf, { name: 'b', do: 'merge-pdf' }] }, 'BAD_REQUEST', 'b', 'from'],
    ['an output that is no step', { steps: [pdf], outputs: ['other'] }, 'BAD_REQUEST', undefined, 'outputs'],
    ['an unknown field', { steps: [{ ...pdf, run: 'rm -rf /' }] }, 'BAD_REQUEST', 'pdf', 'run'],
    ['a recipe of the operator that there is not', 'invoice', 'BAD_REQUEST', undefined, 'recipe'],
    ['deep JSON', deep, 'BAD_REQUEST', undefined, undefined],
    ['no JSON', '{"steps":', 'BAD_REQUEST', undefined, 'recipe'],
    ['nothing', '', 'BAD_REQUEST', undefined, 'recipe'],
    [
      'a recipe that fills a record',
      {
        steps: Array.from({ length: 20 }, (_, at) => ({
          name: `w${at}`,
          do: 'watermark-image',
          options: { text: 'x'.repeat(200), position: 'center', opacity: '50', size: '50', color: '#ffffff' },
        })),
        outputs: ['w19'],
      },
      'BAD_REQUEST',
      undefined,
      'recipe',
    ],
  ];
  it.each(refused)('refuses %s, and leaves no job', async (_, recipe, code, step, field) => {
    const { status, error } = await sendRecipe(service.url, recipe, [page('Alpha')]);
    expect(error?.code).toBe(code);
    expect([error?.details['step'], ...(field === undefined ? [] : [error?.details['field']])]).toEqual([
      step,
      ...(field === undefined ? [] : [field]),
    ]);
    expect(status).toBe(400);
  });
});
