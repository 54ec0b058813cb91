/** The page in Chromium while the connection is cut, the server is killed and starts again, and beside another tab. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../kit/exec/ports.ts';
import { picture } from '../../kit/fixtures/pictures/photos.ts';
import { endProcess, startProcess } from '../../kit/roles/service.ts';
import { filesOf, nothingOdd, pageGround, result, saved, start, untilStates, visit } from './browser.ts';

const run = promisify(execFile);
const MB = 1_000_000;
const ground = pageGround('interrupted');

/** Passes connections on to a port, counts what goes each way, and can be cut. */
async function cutWire(port: number) {
  const open = new Set<Socket>();
  const passed = { up: 0, down: 0 };
  const most = { up: Number.POSITIVE_INFINITY, down: Number.POSITIVE_INFINITY };
  let isCut = false;
  let onMost = () => {};
  const wire = createServer((client) => {
    if (isCut) return void client.destroy();
    const server = connect(port, '127.0.0.1');
    for (const socket of [client, server]) {
      open.add(socket);
      socket
        .on('error', () => {})
        .on('close', () => {
          open.delete(socket);
          client.destroy();
          server.destroy();
        });
    }
    const count = (way: 'up' | 'down') => (bytes: Buffer) => {
      passed[way] += bytes.length;
      if (passed[way] >= most[way]) onMost();
    };
    client.on('data', count('up'));
    server.on('data', count('down'));
    client.pipe(server).pipe(client);
  }).listen(0, '127.0.0.1');
  await once(wire, 'listening');
  return {
    url: `http://127.0.0.1:${(wire.address() as AddressInfo).port}`,
    /** Bytes from clients, and to them. */
    passed,
    /** Cuts all connections once so many more bytes went this way, and refuses new ones. */
    cutAfter: (bytes: number, way: 'up' | 'down') =>
      new Promise<void>((resolve) => {
        most[way] = passed[way] + bytes;
        onMost = () => {
          most[way] = Number.POSITIVE_INFINITY;
          isCut = true;
          for (const socket of open) socket.destroy();
          resolve();
        };
      }),
    mend() {
      isCut = false;
    },
    close() {
      for (const socket of open) socket.destroy();
      wire.close();
    },
  };
}

describe('an upload of 150 MB', () => {
  it('goes on where it was, after the connection was cut and the server was killed', async () => {
    const film = join(ground.folder, 'film.avi');
    // 330 frames of 460 kB.
    await run('/usr/bin/ffmpeg', [
      ...['-v', 'error', '-f', 'lavfi', '-i', 'testsrc=size=640x480:rate=30:duration=11', '-pix_fmt', 'yuv420p', '-c:v', 'rawvideo'],
      film,
    ]);
    const { size } = await stat(film);
    expect(size).toBeGreaterThan(150 * MB);
    const data = await mkdtemp(join(ground.folder, 'data-'));
    await chmod(data, 0o755);
    const environment = { PORT: String(await freePort()) };
    let service = await startProcess(data, {}, environment);
    const wire = await cutWire(Number(environment.PORT));
    try {
      const visited = await visit(ground.browser, wire.url);
      const { page } = visited;
      await filesOf(page).setInputFiles(film);
      const cut = wire.cutAfter(60 * MB, 'up');
      await start(page);
      await cut;
      await endProcess(service, 'SIGKILL');
      await page.getByText('The connection is lost').waitFor();
      service = await startProcess(data, {}, environment);
      wire.mend();
      await untilStates(page, ['done']);
      // What had arrived was not sent again, but for what was on its way.
      expect(wire.passed.up).toBeGreaterThan(size);
      expect(wire.passed.up).toBeLessThan(size + 40 * MB);
      const path = join(ground.folder, 'result');
      await writeFile(path, await result(page));
      const { stdout } = await run('/usr/bin/ffprobe', ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', path]);
      expect(Number(stdout)).toBeCloseTo(11, 0);
      expect(visited.strangers).toEqual([]);
      await visited.close();
    } finally {
      wire.close();
      await endProcess(service);
      await rm(data, { recursive: true, force: true });
    }
  });
});

describe('a ZIP of two results of 16 MB', () => {
  it('goes on at the byte where the connection was cut', async () => {
    const tone = join(ground.folder, 'tone.flac');
    await run('/usr/bin/ffmpeg', [...['-v', 'error', '-f', 'lavfi', '-i', 'sine=duration=90:sample_rate=44100', '-ac', '2'], tone]);
    const buffer = await readFile(tone);
    const wire = await cutWire(Number(new URL(ground.url).port));
    try {
      const visited = await visit(ground.browser, wire.url);
      const { page } = visited;
      await filesOf(page).setInputFiles(['one.flac', 'two.flac'].map((name) => ({ name, mimeType: 'audio/flac', buffer })));
      await page.getByRole('button', { name: 'WAV', exact: true }).click();
      await start(page);
      await untilStates(page, ['done', 'done']);
      const before = wire.passed.down;
      const cut = wire.cutAfter(20 * MB, 'down');
      const zip = saved(page, () => page.getByRole('button', { name: 'Download all 2 as ZIP' }).click());
      await cut;
      await page.getByText('The connection is lost').waitFor();
      wire.mend();
      const path = join(ground.folder, 'both.zip');
      await writeFile(path, await zip);
      const { stdout } = await run('unzip', ['-t', path]);
      expect(stdout.match(/(one|two)\.wav +OK/g)).toHaveLength(2);
      // What had arrived was not fetched again, but for what was on its way.
      expect(wire.passed.down - before).toBeLessThan((await stat(path)).size + 4 * MB);
      expect(visited.strangers).toEqual([]);
      await visited.close();
    } finally {
      wire.close();
    }
  });
});

describe('two tabs', () => {
  it('convert beside each other, and both list the jobs of both, until one deletes them', async () => {
    const visited = await visit(ground.browser, ground.url);
    const second = await visited.page.context().newPage();
    await second.goto(ground.url);
    await second.locator('h1').first().waitFor();
    const pages = [visited.page, second];
    for (const [at, page] of pages.entries()) {
      await filesOf(page).setInputFiles(await picture(ground.folder, `tab${at}.png`, ['-resize', '64x64!']));
      await start(page);
    }
    for (const page of pages) {
      await untilStates(page, ['done', 'done']);
      expect((await page.locator('.task .name').allTextContents()).toSorted()).toEqual(['tab0.png', 'tab1.png']);
    }
    await second.getByRole('button', { name: 'Delete tab0.png from the server' }).click();
    for (const page of pages) await untilStates(page, ['done']);
    nothingOdd(visited);
    await visited.close();
  });
});

describe('a reload', () => {
  it('loses no job that runs, and none that is done: both are listed on both pages, with all that can be done', async () => {
    const clip = join(ground.folder, 'long.mp4');
    await run('/usr/bin/ffmpeg', [...['-v', 'error', '-f', 'lavfi', '-i', 'testsrc=d=20:s=640x480'], ...['-c:v', 'mpeg4', clip]]);
    const visited = await visit(ground.browser, ground.url);
    const { page } = visited;
    await filesOf(page).setInputFiles([clip, await picture(ground.folder, 'quick.png', ['-resize', '64x64!'])]);
    await page.getByRole('combobox', { name: /long/ }).selectOption('webm');
    await start(page);
    await untilStates(page, ['working', 'done']);
    await page.reload();
    await page.getByRole('heading', { name: '1 of 2 done' }).waitFor();
    // How far it is comes from the service.
    await page.getByText(/Converting, \d/).waitFor();
    await page.getByRole('link', { name: /^Jobs/ }).click();
    await untilStates(page, ['working', 'done']);
    await untilStates(page, ['done', 'done']);
    await page.getByRole('button', { name: 'Preview' }).first().click();
    await page.locator('.preview video').waitFor();
    const zip = join(ground.folder, 'reloaded.zip');
    await writeFile(zip, await saved(page, () => page.getByRole('button', { name: 'Download all 2 as ZIP' }).click()));
    expect((await run('unzip', ['-t', zip])).stdout).toMatch(/long\.webm +OK[\s\S]*quick\.jpg +OK/);
    // Its file is chosen once more; what it became is chosen already.
    const chooser = page.waitForEvent('filechooser');
    await page.getByText('Other settings').last().click();
    await (await chooser).setFiles(await picture(ground.folder, 'quick.png'));
    await page.getByRole('button', { name: 'Convert 1 file' }).waitFor();
    await untilStates(page, ['ready', 'done', 'done']);
    const jobs = (await page.evaluate("JSON.parse(localStorage.getItem('filemill.jobs')).map(({ id }) => id)")) as string[];
    await page.getByRole('button', { name: 'Remove quick.png' }).click();
    await page.getByRole('button', { name: 'Delete all' }).click();
    await page.getByRole('button', { name: 'Delete 2 results for good' }).click();
    await untilStates(page, []);
    for (const id of jobs) await expect.poll(async () => (await fetch(`${ground.url}/api/v1/jobs/${id}`)).status).toBe(410);
    nothingOdd(visited);
    await visited.close();
  });

  it('leaves out what was deleted elsewhere, and asks first while something uploads', async () => {
    const visited = await visit(ground.browser, ground.url);
    const { page } = visited;
    await filesOf(page).setInputFiles(await Promise.all(['kept.png', 'gone.png'].map((name) => picture(ground.folder, name))));
    await start(page);
    await untilStates(page, ['done', 'done']);
    const link = page.getByRole('link', { name: 'Link to this job' }).last();
    await fetch(`${ground.url}/api/v1${new URL(`${await link.getAttribute('href')}`, ground.url).pathname}`, { method: 'DELETE' });
    await page.reload();
    await untilStates(page, ['done']);
    await page.route('**/api/v1/uploads', (route) => route.abort('connectionfailed'));
    await filesOf(page).setInputFiles(join(ground.folder, 'kept.png'));
    await start(page);
    await page.locator('.task').getByText('Waits for the connection').waitFor();
    const asked = page.waitForEvent('dialog');
    const leaving = page.reload({ timeout: 3000 }).catch(() => {});
    const dialog = await asked;
    expect(dialog.type()).toBe('beforeunload');
    await dialog.dismiss();
    await leaving;
    await untilStates(page, ['uploading', 'done']);
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.unroute('**/api/v1/uploads');
    await page.reload();
    await untilStates(page, ['done']);
    await visited.close();
  });
});
