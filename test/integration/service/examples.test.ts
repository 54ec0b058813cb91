/** Runs every command of README.md and docs/api.md as it stands there, with the files that it names, and looks at what it brings. */
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { picturedPage } from '../../kit/fixtures/documents/document-cases.ts';
import { fixtures as documents } from '../../kit/fixtures/documents/documents.ts';
import { fixtures as media } from '../../kit/fixtures/media/media.ts';
import { fixtures as images } from '../../kit/fixtures/pictures/images.ts';
import { judge as judgeDocument } from '../../kit/judges/documents/documents.ts';
import { judge as judgeImage } from '../../kit/judges/pictures/images.ts';
import { checkout, type JobBody, type Service, type Settings, startService, untilEnded } from '../../kit/roles/service.ts';

const run = promisify(execFile);
const SEED = 'kestrel';
/** What the pages call the reader's own files. */
const FILES = {
  'photo.png': images['png'],
  'report.docx': documents['docx'],
  'clip.mp4': media['mp4'],
  'paper.pdf': documents['pdf'],
  'scan.png': picturedPage,
};

/** A reader of one page, who has the files and a service of these settings. @param ids what the page calls `$JOB` and the like */
function aReader(settings: Settings, ids: Readonly<Record<string, string>> = {}) {
  let service: Service;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filemill-examples-'));
    service = await startService(settings);
    for (const [name, build] of Object.entries(FILES))
      await copyFile((await build?.(SEED, await mkdtemp(join(folder, 'made-')))) ?? '', join(folder, name));
  });
  afterAll(async () => {
    await service?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    path: (name: string) => join(folder, name),
    files: () => readdir(folder),
    ended: async (id: string) => untilEnded(service.url, id),
    /** @returns what the command prints */
    async runs(command: string): Promise<string> {
      const env = { ...process.env, ...ids };
      return (await run('sh', ['-c', command.replaceAll('http://localhost:8080', service.url)], { cwd: folder, env })).stdout;
    },
  };
}

async function commandsOf(page: string): Promise<readonly string[]> {
  const text = await readFile(join(checkout, page), 'utf8');
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) => block.trim().split('\n'));
}

/** Those that start it run on a bare machine, in `make e2e`. */
const isStart = (command: string): boolean => /^(?:git clone|cd filemill) .*$/.test(command);
const ofReadme = (await commandsOf('README.md')).filter((command) => !isStart(command));

describe('the commands of the README', () => {
  // As for a reader who pastes them one after the other, on the machine that serves.
  const reader = aReader({ limits: { loopback: false } });
  const job = async (pattern: RegExp): Promise<JobBody> => {
    const command = ofReadme.find((line) => pattern.test(line));
    expect(command, `a command like ${pattern}`).toBeDefined();
    const { data } = JSON.parse(await reader.runs(command ?? '')) as { data: JobBody };
    if (data.status !== 'processing') return data;
    const ended = (await reader.ended(data.job_id)).data;
    return ended ?? data;
  };
  const fetched = async ({ output }: JobBody): Promise<string> => {
    const path = reader.path(output?.filename ?? '');
    await run('curl', ['-sSf', '-o', path, output?.url ?? '']);
    return path;
  };

  it('are all tried here', () => expect(ofReadme).toHaveLength(8));

  it('convert and download in one line', async () => {
    await reader.runs(ofReadme.find((line) => line.includes('download=1')) ?? '');
    expect(await reader.files()).toContain('photo.jpg');
    await judgeImage(reader.path('photo.jpg'), 'jpg', SEED);
  });

  it('convert a document', async () => judgeDocument(await fetched(await job(/report\.docx/)), 'pdf', SEED));
  it('convert without waiting', async () => judgeImage(await fetched(await job(/respond-async/)), 'gif', SEED));
  it('make a thumbnail', async () => judgeImage(await fetched(await job(/img_resize_w/)), 'webp', SEED));
  it('make a picture of one page', async () =>
    expect((await job(/paper\.pdf/)).output).toMatchObject({ files: 1, content_type: 'image/png' }));
  it('convert several at once', async () => {
    const { data } = JSON.parse(await reader.runs(ofReadme.find((line) => line.includes('/batch')) ?? '')) as { data: { counts: object } };
    expect(data.counts).toMatchObject({ total: 2 });
  });
  it('call a tool', async () => expect((await job(/resize-image/)).output).toMatchObject({ content_type: 'image/png', files: 1 }));
  it('read a scan', async () => judgeDocument(await fetched(await job(/scan\.png/)), 'txt', SEED));
});

const ofApi = await commandsOf('docs/api.md');
/** What the page calls `$JOB`, `$BATCH` and `$UPLOAD`. */
const ids: Record<string, string> = {};

interface Body {
  readonly data: {
    readonly job_id: string;
    readonly batch_id: string;
    readonly upload_id: string;
    readonly status: string;
    readonly text: string;
    readonly [name: string]: unknown;
  };
  readonly error?: unknown;
}
const read = (said: string): Body => JSON.parse(said) as Body;
const done = (said: string) => expect(read(said).data).toMatchObject({ status: 'done', output: { files: 1 } });
const nothing = (said: string) => expect(said).toBe('');
describe('the examples of docs/api.md', () => {
  const reader = aReader({}, ids);
  let first = '';

  /** In the order of the page: a part of each command, and what is true of what it says. */
  const expected: readonly (readonly [string, (said: string) => unknown])[] = [
    ['download=1', async () => expect(await reader.files()).toContain('photo-filemill.jpg')],
    ['respond-async', (said) => Object.assign(ids, { JOB: read(said).data.job_id })],
    [
      'jobs/$JOB',
      async (said) => {
        expect(read(said).data.job_id).toBe(ids['JOB']);
        await reader.ended(ids['JOB'] ?? '');
      },
    ],
    ['/events', (said) => expect(said).toMatch(/^event: done$/m)],
    ['-OJ', async () => expect(await reader.files()).toContain('clip-filemill.gif')],
    ['-r 0-5', (said) => expect(said).toMatch(/^GIF8/)],
    ['-sSfI', (said) => expect(said).toMatch(/content-type: image\/gif/i)],
    ['name=source', async () => expect(await reader.files()).toContain('clip.gif')],
    ['-X DELETE', nothing],
    ['pages=1', done],
    ['img_quality=101', (said) => expect(read(said).error).toMatchObject({ code: 'INVALID_OPTION', details: { option: 'img_quality' } })],
    ['handling=strict', (said) => expect(read(said).error).toMatchObject({ code: 'INVALID_OPTION', details: { option: 'img_qualty' } })],
    [
      'Idempotency-Key',
      (said) => {
        first = read(said).data.job_id;
        done(said);
      },
    ],
    ['Idempotency-Key', (said) => expect(read(said).data.job_id).toBe(first)],
    ['/batch', (said) => Object.assign(ids, { BATCH: read(said).data.batch_id })],
    ['batches/$BATCH', (said) => expect(read(said).data).toMatchObject({ counts: { total: 2 } })],
    ['batches/$BATCH/output', async () => expect(await reader.files()).toContain(`${ids['BATCH']}-filemill.zip`)],
    ['-X DELETE', nothing],
    ['webp,avif', (said) => expect(read(said).data).toMatchObject({ counts: { total: 2 } })],
    ['jobs?ids=', (said) => expect(JSON.parse(said)).toMatchObject({ data: expect.anything() })],
    [
      '/tools',
      (said) => expect(read(said).data['tools']).toContainEqual(expect.objectContaining({ slug: 'resize-image', available: true })),
    ],
    ['resize-image', done],
    ['merge-pdf', done],
    ['image-to-text', (said) => expect(read(said).data.text.trim()).not.toBe('')],
    ['/uploads', (said) => Object.assign(ids, { UPLOAD: read(said).data.upload_id })],
    ['upload_id=$UPLOAD', done],
    ['-X DELETE', nothing],
    ['Upload-Length', (said) => Object.assign(ids, { UPLOAD: read(said).data.upload_id })],
    ['-X PATCH', nothing],
    [
      '-sSfI',
      (said) => {
        const [offset, length] = ['offset', 'length'].map((name) => new RegExp(`^upload-${name}: (\\d+)`, 'im').exec(said)?.[1]);
        expect(offset).toBeDefined();
        expect(offset).toBe(length);
      },
    ],
    ['from=docx', (said) => expect(read(said).data['sources']).toMatchObject([{ format: 'docx' }])],
    ['--etag-save', async () => expect(await reader.files()).toContain('formats.json')],
    ['--etag-compare', (said) => expect(said).toBe('304')],
    ['/limits', (said) => expect(read(said).data['tiers']).toMatchObject({ daily: { limit: 1000 } })],
    ['/health', (said) => expect(read(said).data.status).toBe('ok')],
    ['/openapi.json', (said) => expect(JSON.parse(said)).toMatchObject({ openapi: '3.1.1' })],
  ];

  it('are all tried here', () => expect(ofApi).toHaveLength(expected.length));

  it.each(expected.map(([part, holds], at) => ({ part, holds, command: ofApi[at] ?? '' })))(
    '$command',
    async ({ part, holds, command }) => {
      expect(command).toContain(part);
      await holds(await reader.runs(command));
    },
  );
});
