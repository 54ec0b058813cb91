/** Runs every command of docs/api.md as it stands there, one after the other, and looks at what it brings. */
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { picturedPage } from '../kit/fixtures/document-cases.ts';
import { fixtures as documents } from '../kit/fixtures/documents.ts';
import { fixtures as images } from '../kit/fixtures/images.ts';
import { fixtures as media } from '../kit/fixtures/media.ts';
import { checkout, type Service, startService, untilEnded } from '../kit/service.ts';

const run = promisify(execFile);
const SEED = 'kestrel';
const page = await readFile(join(checkout, 'docs/api.md'), 'utf8');
const commands = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) => block.trim().split('\n'));

let service: Service;
let folder: string;
/** What the page calls `$JOB`, `$BATCH` and `$UPLOAD`. */
const ids: Record<string, string> = {};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-api-'));
  service = await startService();
  const files = {
    'photo.png': images['png'],
    'clip.mp4': media['mp4'],
    'paper.pdf': documents['pdf'],
    'scan.png': picturedPage,
  };
  for (const [name, build] of Object.entries(files))
    await copyFile((await build?.(SEED, await mkdtemp(join(folder, 'made-')))) ?? '', join(folder, name));
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

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
const files = () => readdir(folder);
let first = '';

/** In the order of the page: a part of each command, and what is true of what it says. */
const expected: readonly (readonly [string, (said: string) => unknown])[] = [
  ['download=1', async () => expect(await files()).toContain('photo-filemill.jpg')],
  ['respond-async', (said) => Object.assign(ids, { JOB: read(said).data.job_id })],
  [
    'jobs/$JOB',
    async (said) => {
      expect(read(said).data.job_id).toBe(ids['JOB']);
      await untilEnded(service.url, ids['JOB'] ?? '');
    },
  ],
  ['/events', (said) => expect(said).toMatch(/^event: done$/m)],
  ['-OJ', async () => expect(await files()).toContain('clip-filemill.gif')],
  ['-r 0-5', (said) => expect(said).toMatch(/^GIF8/)],
  ['-sSfI', (said) => expect(said).toMatch(/content-type: image\/gif/i)],
  ['-X DELETE', nothing],
  ['pages=1', done],
  ['img_quality=101', (said) => expect(read(said).error).toMatchObject({ code: 'INVALID_OPTION', details: { option: 'img_quality' } })],
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
  ['batches/$BATCH/output', async () => expect(await files()).toContain(`${ids['BATCH']}-filemill.zip`)],
  ['-X DELETE', nothing],
  ['/tools', (said) => expect(read(said).data['tools']).toContainEqual(expect.objectContaining({ slug: 'resize-image', available: true }))],
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
  ['--etag-save', async () => expect(await files()).toContain('formats.json')],
  ['--etag-compare', (said) => expect(said).toBe('304')],
  ['/limits', (said) => expect(read(said).data['tiers']).toMatchObject({ daily: { limit: 1000 } })],
  ['/health', (said) => expect(read(said).data.status).toMatch(/^(ok|degraded)$/)],
  ['/openapi.json', (said) => expect(JSON.parse(said)).toMatchObject({ openapi: '3.1.1' })],
];

describe('the examples of docs/api.md', () => {
  it('are all tried here', () => expect(commands).toHaveLength(expected.length));

  it.each(expected.map(([part, holds], at) => ({ part, holds, command: commands[at] ?? '' })))(
    '$command',
    async ({ part, holds, command }) => {
      expect(command).toContain(part);
      const env = { ...process.env, ...ids };
      const { stdout } = await run('sh', ['-c', command.replaceAll('http://localhost:8080', service.url)], { cwd: folder, env });
      await holds(stdout);
    },
  );
});
