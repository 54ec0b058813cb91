/** Runs the README's commands as they stand there, against a service, with the files that they name. */
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
import { judge as judgeDocument } from '../kit/judges/documents.ts';
import { judge as judgeImage } from '../kit/judges/images.ts';
import { checkout, type JobBody, type Service, startService, untilEnded } from '../kit/service.ts';

const run = promisify(execFile);
const SEED = 'kestrel';
const readme = await readFile(join(checkout, 'README.md'), 'utf8');
const commands = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) => block.trim().split('\n'));

describe('the commands of the README', () => {
  let service: Service;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filemill-readme-'));
    // With limits, as whoever pastes them one after the other meets them.
    service = await startService({ limits: {} });
    const files = {
      'photo.png': images['png'],
      'report.docx': documents['docx'],
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

  const say = async (command: string): Promise<string> =>
    (await run('sh', ['-c', command.replaceAll('http://localhost:8080', service.url)], { cwd: folder })).stdout;
  const job = async (pattern: RegExp): Promise<JobBody> => {
    const command = commands.find((line) => pattern.test(line));
    expect(command, `a command like ${pattern}`).toBeDefined();
    const { data } = JSON.parse(await say(command ?? '')) as { data: JobBody };
    if (data.status !== 'processing') return data;
    const ended = (await untilEnded(service.url, data.job_id)).data;
    return ended ?? data;
  };
  const fetched = async ({ output }: JobBody): Promise<string> => {
    const path = join(folder, output?.filename ?? '');
    await run('curl', ['-sSf', '-o', path, output?.url ?? '']);
    return path;
  };

  it('are all tried here', () => expect(commands).toHaveLength(8));

  it('convert and download in one line', async () => {
    await say(commands.find((line) => line.includes('download=1')) ?? '');
    expect(await readdir(folder)).toContain('photo-filemill.jpg');
    await judgeImage(join(folder, 'photo-filemill.jpg'), 'jpg', SEED);
  });

  it('convert a document', async () => judgeDocument(await fetched(await job(/report\.docx/)), 'pdf', SEED));
  it('convert without waiting', async () => judgeImage(await fetched(await job(/respond-async/)), 'gif', SEED));
  it('make a thumbnail', async () => judgeImage(await fetched(await job(/img_resize_w/)), 'webp', SEED));
  it('make a picture of one page', async () =>
    expect((await job(/paper\.pdf/)).output).toMatchObject({ files: 1, content_type: 'image/png' }));
  it('convert several at once', async () => {
    const { data } = JSON.parse(await say(commands.find((line) => line.includes('/batch')) ?? '')) as { data: { counts: object } };
    expect(data.counts).toMatchObject({ total: 2 });
  });
  it('call a tool', async () => expect((await job(/resize-image/)).output).toMatchObject({ content_type: 'image/png', files: 1 }));
  it('read a scan', async () => judgeDocument(await fetched(await job(/scan\.png/)), 'txt', SEED));
});
