/**
 * An engine that cannot load or run: it is not offered, says why, and never takes a good file for a damaged one.
 *
 * Slow: a withdrawn engine is tried again after half a minute, and each start tries all of them.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../kit/api/wire.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { type Answer, checkout, convert, endProcess, type ServiceProcess, settled, startProcess } from '../../kit/roles/service.ts';

interface EngineSeen {
  readonly name: string;
  readonly available: boolean;
  readonly reason?: string;
}

const FALSE = '/bin/false';
/** Longer than the first pause before a withdrawn engine is tried again, and than its trial on a busy machine, ms. */
const RECOVERY_MS = 90_000;

let folder: string;
let service: ServiceProcess;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-broken-'));
  execFileSync('chmod', ['755', folder]);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** In a separate mount namespace, so that what it no longer finds is there for all others. @param first shell commands before its start */
async function start(name: string, toolchains: readonly string[], first = 'true'): Promise<ServiceProcess> {
  const home = join(folder, name);
  await mkdir(home);
  const command = [
    'unshare',
    '--mount',
    '--propagation',
    'private',
    'sh',
    '-c',
    `${first} && exec ${join(checkout, 'scripts/filemill')} local`,
  ];
  return await startProcess(home, { worker: { trials: true, toolchains, slots: { image: 2, pdf: 1 } } }, {}, command);
}

const inItsNamespace = (...command: string[]) => execFileSync('nsenter', ['--target', String(service.child.pid), '--mount', ...command]);
const hide = (path: string, by: string): void => void inItsNamespace('mount', '--bind', by, path);
const show = (path: string): void => void inItsNamespace('umount', path);

async function json<T>(path: string): Promise<T> {
  return ((await (await fetch(`${service.url}${path}`)).json()) as { data: T }).data;
}
async function engineSeen(role: string, name: string): Promise<EngineSeen | undefined> {
  const { engines } = await json<{ engines: Record<string, { all: EngineSeen[] }> }>('/api/v1/health');
  return engines[role]?.all.find((each) => each.name === name);
}
const isAvailable = async (role: string, name: string) => (await engineSeen(role, name))?.available;
const targetsOf = async (source: string): Promise<readonly string[]> =>
  (await json<{ sources: { targets: { format: string }[] }[] }>(`/api/v1/formats?from=${source}`)).sources.flatMap(({ targets }) =>
    targets.map(({ format }) => format),
  );
const toTheEnd = async (file: { name: string; bytes: Uint8Array }, to: string): Promise<Answer> =>
  settled(service.url, await convert(service.url, file, to));
const said = (...words: string[]): boolean => service.lines.some((line) => words.every((word) => line.includes(word)));
const picture = async () => ({
  name: 'good.png',
  bytes: await sharp({ create: { width: 40, height: 30, channels: 3, background: '#c33' } })
    .png()
    .toBuffer(),
});
const drawing = {
  name: 'good.svg',
  bytes: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0 0h9v9z"/></svg>'),
};

describe('where libvips cannot be loaded', () => {
  const libraries = join(checkout, 'node_modules/@img/sharp-libvips-linux-x64/lib');
  const library = join(libraries, readdirSync(libraries).find((name) => name.startsWith('libvips-cpp.so')) ?? '');
  beforeAll(async () => {
    service = await start('libvips', ['image'], `mount --bind /dev/null ${library}`);
  }, 60_000);
  afterAll(() => endProcess(service));

  it('a good picture is never called damaged, from the first moment on', { timeout: 120_000 }, async () => {
    const file = await picture();
    const ends: Answer[] = [];
    const isWithdrawn = async () => {
      ends.push(await toTheEnd(file, 'jpg'));
      // Trials wait while there is work.
      if (ends.length > 20) await setTimeout(500);
      return !(await isAvailable('image', 'libvips (sharp)'));
    };
    await eventually(isWithdrawn, 'its trial', 110_000);
    // Another engine takes over.
    ends.push(await toTheEnd(file, 'jpg'));
    expect(ends.map(({ data, error }) => data?.status ?? error?.details['reason']).filter((end) => end !== 'done')).toEqual([]);
  });

  it('health, log and metric say what is missing, and why', { timeout: 150_000 }, async () => {
    const reason = 'a library or module that it needs cannot be loaded';
    expect(await engineSeen('image', 'libvips (sharp)')).toMatchObject({ available: false, reason });
    await eventually(() => said('libvips (sharp) is missing', reason), 'every engine to be tried', 120_000);
    expect(said('an engine failed its trial', '"engine":"sharp"', '"defect":"cannot_load"', 'file too short')).toBe(true);
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(metrics).toContain('filemill_engine_withdrawn{engine="sharp",reason="cannot_load"} 1');
  });

  it('what only it can do is not offered, and what others can do is', async () => {
    const targets = await targetsOf('png');
    expect(targets).toContain('jpg');
    expect(targets).not.toContain('avif');
    const { engines } = await json<{ engines: Record<string, unknown> }>('/api/v1/formats');
    expect(Object.keys(engines)).not.toContain('sharp');
    expect((await toTheEnd(await picture(), 'avif')).status).toBe(400);
  });

  it('it comes back once it can be loaded', { timeout: 90_000 }, async () => {
    show(library);
    await eventually(() => isAvailable('image', 'libvips (sharp)'), 'it is offered again', RECOVERY_MS);
    const file = await picture();
    const isFirst = async () => (await toTheEnd(file, 'jpg')).data?.engine?.name === 'libvips (sharp)';
    await eventually(isFirst, 'it is preferred again', RECOVERY_MS);
    expect(await targetsOf('png')).toContain('avif');
  });
});

describe('a program that breaks while the service runs', () => {
  beforeAll(async () => {
    service = await start('later', ['image', 'pdf']);
    await eventually(() => said('every converter has been tried') || said('is missing'), 'all have been tried', 180_000);
  }, 240_000);
  afterAll(() => endProcess(service));

  const cases = [
    {
      what: 'fails at once',
      path: '/usr/bin/rsvg-convert',
      by: FALSE,
      role: 'image',
      name: 'librsvg',
      file: () => drawing,
      to: 'png',
      why: 'cannot convert',
    },
    {
      what: 'cannot load a library',
      path: execFileSync('sh', ['-c', 'readlink -f "$(ldd /usr/bin/pdftotext | sed -n "s/.*=> \\(.*libpoppler[^ ]*\\) .*/\\1/p")"'])
        .toString()
        .trim(),
      by: '/dev/null',
      role: 'pdf',
      name: 'Poppler',
      file: () => ({ name: 'good.pdf', bytes: pdf([['words']]) }),
      to: 'svg',
      why: 'cannot be loaded',
    },
  ];
  for (const { what, path, by, role, name, file, to, why } of cases)
    it(`which ${what} is not the file’s fault, is withdrawn, and comes back`, { timeout: 200_000 }, async () => {
      expect((await toTheEnd(file(), to)).data?.status).toBe('done');
      hide(path, by);
      const { error } = await toTheEnd(file(), to);
      expect([error?.details['reason'], error?.details.retryable]).toEqual(['engine_missing', true]);
      // Others that use the same program follow at once.
      await eventually(async () => !(await isAvailable(role, name)), 'it is not offered', 15_000);
      expect((await engineSeen(role, name))?.reason).toContain(why);
      expect(await targetsOf(file().name.split('.')[1] ?? '')).not.toContain(to);
      show(path);
      const converts = async () => (await targetsOf(file().name.split('.')[1] ?? '')).includes(to);
      await eventually(converts, 'it is offered again', RECOVERY_MS);
      expect((await toTheEnd(file(), to)).data?.status).toBe('done');
    });

  it('a damaged file is still called damaged', async () => {
    const { bytes } = await picture();
    const { error } = await toTheEnd({ name: 'bad.png', bytes: bytes.subarray(0, bytes.length - 40) }, 'jpg');
    expect(error?.details['reason']).toBe('corrupt_input');
  });
});
