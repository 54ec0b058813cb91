/** What README.md promises a newcomer: on a bare Debian 12, with the npm that it brings, one command installs what is missing and serves. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { contentOf } from '../kit/catalog/content.ts';
import { freePort } from '../kit/exec/ports.ts';
import { fixtures as documents } from '../kit/fixtures/documents/documents.ts';
import { fixtures as media } from '../kit/fixtures/media/media.ts';
import { photo } from '../kit/fixtures/pictures/photos.ts';
import { judge as judgeRecording } from '../kit/judges/media.ts';
import { expectQuarters } from '../kit/judges/pictures/quarters.ts';
import { endOf, type Layer, ROOT, type Running, Trees, type User } from './bare/tree.ts';
import { convert } from './client.ts';
import { program } from './cluster.ts';
import { blobOf } from './files.ts';
import { eventually, must, step } from './steps.ts';

const DEVELOPER: User = { uid: 1_000, home: '/home/developer' };
/** Small, and nothing else needs it. */
const TAKEN_AWAY = 'qpdf';
const SEED = 'bare';

export async function bare(folder: string): Promise<void> {
  const files = await makeFiles(folder);
  let trees: Trees | undefined;
  try {
    await step('a bare Debian 12 with its own npm', async () => {
      trees = await Trees.open();
      return undefined;
    });
    if (trees === undefined) return;
    const asRoot = await trees.layer('root', ROOT);
    await served('make run, as root', asRoot, ROOT, 'make run', files);
    // Over what root's run has installed: this one is about rights.
    const asUser = await trees.layer('user', DEVELOPER);
    await step(`a user with sudo, and a machine without ${TAKEN_AWAY}`, async () => {
      const { uid, home } = DEVELOPER;
      const commands = [
        `useradd --uid ${uid} --home-dir ${home} --shell /bin/bash developer`,
        "echo 'developer ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/developer",
        `apt-get remove -y ${TAKEN_AWAY}`,
      ];
      const { well, said } = await asUser.start(ROOT, `cd / && ${commands.join(' && ')}`).ended;
      must(well, endOf(said));
      return undefined;
    });
    // On a terminal, as a person has: without one nothing is asked, and nothing is installed.
    await served('make run, as a user with sudo', asUser, DEVELOPER, "script -qec 'make run' /dev/null", files);
  } finally {
    trees?.removeNow();
  }
}

interface Files {
  readonly folder: string;
  readonly photo: string;
  readonly docx: string;
  readonly video: string;
  readonly page: string;
}
async function makeFiles(folder: string): Promise<Files> {
  const made = async (fixture: ((seed: string, folder: string) => Promise<string>) | undefined): Promise<string> => {
    if (fixture === undefined) throw new Error('a fixture is missing');
    return await fixture(SEED, folder);
  };
  return {
    folder,
    // As a camera stores it that was held upright.
    photo: await photo(folder, 6),
    docx: await made(documents['docx']),
    video: await made(media['mp4']),
    page: await made(documents['html']),
  };
}

async function served(what: string, layer: Layer, user: User, command: string, files: Files): Promise<void> {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  let running: Running | undefined;
  try {
    await step(what, async () => {
      running = layer.start(user, command, { ASSUME_YES: '1', PORT: `${port}` });
      await serving(running, port);
      return undefined;
    });
    await step('its health: every engine is available', async () => await engines(base));
    await step('a photo that EXIF turns, a DOCX, a video, a page', async () => await convertAll(base, files));
  } finally {
    running?.kill();
    await running?.ended;
  }
}

const INSTALLED_MS = 900_000;
async function serving({ child, said, ended }: Running, port: number): Promise<void> {
  const isServing = () => said().includes(`serves on http://localhost:${port}`);
  await eventually(
    'it serves',
    async () => isServing() || child.exitCode !== null || child.signalCode !== null,
    Boolean,
    INSTALLED_MS,
  ).catch((error: Error) => {
    throw new Error(`${error.message}\n${endOf(said())}`);
  });
  if (!isServing()) throw new Error(`it ended:\n${endOf((await ended).said)}`);
}

async function engines(base: string): Promise<string> {
  const answer = await fetch(`${base}/api/v1/health`, { signal: AbortSignal.timeout(20_000) });
  const { data } = (await answer.json()) as { data: { status: string; engines: Record<string, { available: boolean }> } };
  const missing = Object.entries(data.engines).filter(([, { available }]) => !available);
  must(data.status === 'ok' && missing.length === 0, `its health is ${data.status}, without ${missing.map(([name]) => name).join(', ')}`);
  return `${Object.keys(data.engines).length} engines`;
}

async function convertAll(base: string, files: Files): Promise<string> {
  const result = async (source: string, name: string, format: string): Promise<string> => {
    const { bytes } = await convert(base, await blobOf(source, name), format);
    const path = join(files.folder, `${name}.${format}`);
    await writeFile(path, bytes);
    return path;
  };
  await expectQuarters(await result(files.photo, 'photo.jpg', 'webp'), 'webp');
  await expectWords(await result(files.docx, 'letter.docx', 'pdf'));
  await judgeRecording(await result(files.video, 'clip.mp4', 'webm'), 'webm', SEED);
  await expectWords(await result(files.page, 'page.html', 'pdf'));
  return 'WebP, PDF, WebM, PDF';
}

async function expectWords(pdf: string): Promise<void> {
  const text = (await program('pdftotext', [pdf, '-'])).toLowerCase();
  const { words, numbers } = contentOf(SEED);
  const missing = [...words, ...numbers.map(String)].filter((word) => !text.includes(word));
  must(missing.length === 0, `${pdf} does not say ${missing.join(', ')}`);
}
