/** `filemill convert --server`: the same command over REST, through refusals and lost connections, and nothing left on the server. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startGuard } from '../../kit/api/guard.ts';
import { eventually } from '../../kit/api/wire.ts';
import { type Service, startService } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';
import { type CommandFolder, commandFolder } from './command.ts';

let service: Pick<Service, 'url'>;
let command: CommandFolder;
let photo: Buffer;
const at = (name: string) => join(command.folder, name);

beforeAll(async () => {
  service = await sharedService();
  photo = await sharp({ create: { width: 96, height: 64, channels: 3, background: { r: 200, g: 30, b: 30 } } })
    .jpeg()
    .toBuffer();
});
beforeEach(async () => {
  command = await commandFolder();
});
afterEach(async () => {
  expect(await command.leftovers()).toEqual([]);
  await command.remove();
});

interface Way {
  readonly url: string;
  /** Requests by method and path, as they came. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

/** A way to the service that is cut once, as soon as `cutAfter` bytes have come from the client. */
async function wayThatIsCut(to: string, cutAfter = Number.POSITIVE_INFINITY): Promise<Way> {
  const { port, hostname } = new URL(to);
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let [sent, isCut] = [0, false];
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => into.destroy());
    }
    near.on('data', (bytes: Buffer) => {
      sent += bytes.length;
      requests.push(...(bytes.toString('latin1').match(/^(?:GET|POST|PATCH|HEAD|DELETE) \S+/gm) ?? []));
      if (sent > cutAfter && !isCut) {
        isCut = true;
        for (const socket of sockets) socket.resetAndDestroy();
      } else far.write(bytes);
    });
    far.on('data', (bytes) => near.write(bytes));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    requests,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

describe('filemill convert --server', () => {
  it('converts as this machine does, and tells the same errors', async () => {
    await writeFile(at('photo one.jpg'), photo);
    await writeFile(at('bad.jpg'), Buffer.concat([photo.subarray(0, 20), Buffer.alloc(400, 7)]));
    const way = await wayThatIsCut(service.url);
    const args = [
      'convert',
      'photo one.jpg',
      'bad.jpg',
      '--to',
      'png',
      '--out',
      'out/',
      '--img-resize-w',
      '48',
      '--json',
      '--server',
      way.url,
    ];
    const { code, stdout } = await command.run(args);
    const lines = Object.fromEntries(
      stdout
        .toString()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { input: string })
        .map((line) => [line.input, line]),
    );
    expect(code).toBe(1);
    expect(lines).toMatchObject({
      'photo one.jpg': { output: 'out/photo one.png' },
      'bad.jpg': { error: { code: 'CONVERSION_FAILED', details: { reason: 'corrupt_input' } } },
    });
    expect((await sharp(at('out/photo one.png')).metadata()).width).toBe(48);
    // Both jobs and both uploads were deleted.
    expect(way.requests.filter((request) => request.startsWith('DELETE /api/v1/jobs/'))).toHaveLength(2);
    expect(way.requests.filter((request) => request.startsWith('DELETE /api/v1/uploads/'))).toHaveLength(2);
    await way.close();
  });

  it('resumes an upload whose connection was cut', async () => {
    const side = 2_000;
    const raw = { width: side, height: side, channels: 3 as const };
    // 12 MB, of which the first piece is 8 MiB.
    const large = await sharp(Buffer.alloc(side * side * 3, 90), { raw })
      .tiff({ compression: 'none' })
      .toBuffer();
    await writeFile(at('large.tiff'), large);
    const way = await wayThatIsCut(service.url, 10_000_000);
    const { code, stderr } = await command.run(['convert', 'large.tiff', 'large.png'], undefined, { FILEMILL_SERVER: way.url });
    expect([code, stderr]).toEqual([0, expect.stringContaining('the connection was lost')]);
    expect((await sharp(at('large.png')).metadata()).width).toBe(side);
    // It was created once, and asked how much had arrived.
    expect(way.requests.filter((request) => request === 'POST /api/v1/uploads')).toHaveLength(1);
    expect(way.requests.some((request) => request.startsWith('HEAD /api/v1/uploads/'))).toBe(true);
    await way.close();
  });

  it('waits as a 429 tells it', async () => {
    const limited = await startService({ limits: { cooldownMs: 1_500 } });
    await writeFile(at('a.jpg'), photo);
    await writeFile(at('b.jpg'), photo);
    await writeFile(at('c.jpg'), photo);
    const { code, stderr } = await command.run(['convert', 'a.jpg', 'b.jpg', 'c.jpg', '--to', 'png', '--server', limited.url]);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/waits \d+ s/)]);
    await limited.stop();
  });

  it('says that a server cannot be reached', async () => {
    await writeFile(at('a.jpg'), photo);
    const { code, stderr } = await command.run(['convert', 'a.jpg', 'a.png', '--server', 'http://127.0.0.1:9']);
    expect([code, stderr]).toEqual([3, expect.stringContaining('the server at http://127.0.0.1:9 cannot be reached'.slice(4))]);
  });

  const BASIC = `Basic ${Buffer.from('me:pass wörd').toString('base64')}`;
  it.each<
    [string, { args?: string[]; env?: Record<string, string>; address?: string; file?: string }, (headers: IncomingHttpHeaders) => boolean]
  >([
    ['the address', { address: 'me:pass%20w%C3%B6rd@' }, ({ authorization }) => authorization === BASIC],
    ['FILEMILL_TOKEN', { env: { FILEMILL_TOKEN: 'tok-en-1' } }, ({ authorization }) => authorization === 'Bearer tok-en-1'],
    [
      'a file with a token, before the environment',
      { args: ['--token-file', 'secret'], file: 'tok-en-2\n', env: { FILEMILL_TOKEN: 'tok-en-1' } },
      ({ authorization }) => authorization === 'Bearer tok-en-2',
    ],
    [
      'headers, some from a file',
      { args: ['--header', 'X-One: 1', '--header', '@secret'], file: 'X-Two: tok-en-3\n\nAuthorization: Key tok-en-4\n' },
      (headers) => headers['x-one'] === '1' && headers['x-two'] === 'tok-en-3' && headers.authorization === 'Key tok-en-4',
    ],
  ])(
    'passes a proxy with credentials from %s, which it never shows',
    async (_, { args = [], env = {}, address = '', file = '' }, accepts) => {
      await writeFile(at('a.jpg'), photo);
      await writeFile(at('secret'), file);
      const guard = await startGuard(service.url, accepts);
      const server = guard.url.replace('://', `://${address}`);
      const { code, stdout, stderr } = await command.run(['convert', 'a.jpg', 'a.png', '--server', server, ...args], undefined, env);
      expect([code, guard.refused]).toEqual([0, []]);
      expect((await sharp(at('a.png')).metadata()).format).toBe('png');
      expect(stdout + stderr).not.toMatch(/tok-en|pass/);
      await guard.close();
    },
  );

  it.each([
    ['a wish for credentials', { status: 401 }, 'wants credentials (HTTP 401): set FILEMILL_TOKEN'],
    ['wrong credentials', { status: 401 }, 'does not accept these credentials (HTTP 401)'],
    ['one that may not', { status: 403 }, 'refuses this request (HTTP 403): these credentials do not suffice'],
    [
      'a page to log in',
      { status: 302, headers: { location: 'https://sso.example.org/in?next=secret' } },
      'points to https://sso.example.org/in:',
    ],
    ['another program', { status: 200, body: '<html>\x1b[2J</html>' }, 'is no filemill server, or none is behind it (HTTP 200, text/html)'],
  ])('says in a separate sentence that what answers has %s', async (_, refusal, says) => {
    await writeFile(at('a.jpg'), photo);
    const guard = await startGuard(service.url, () => false, refusal);
    const address = guard.url.replace('://', says.startsWith('wants') ? '://' : '://me:s3cret@');
    const asked = refusal.status === 302 ? ['formats'] : ['convert', 'a.jpg', 'a.png'];
    const { code, stdout, stderr } = await command.run([...asked, '--server', address]);
    expect([code, stderr]).toEqual([3, expect.stringContaining(says)]);
    expect(stdout + stderr).not.toMatch(/s3cret|next=|\x1b/);
    await guard.close();
  });

  it('deletes its job on the server when it is interrupted', async () => {
    const frames = await sharp({
      create: { width: 1200, height: 1200, channels: 3, background: '#123', noise: { type: 'gaussian', mean: 128, sigma: 50 } },
    })
      .png({ compressionLevel: 0 })
      .toBuffer();
    await writeFile(at('slow.png'), frames);
    const way = await wayThatIsCut(service.url);
    const { child, ended } = command.start(['convert', 'slow.png', 'slow.avif', '--img-quality', '100', '--server', way.url]);
    await eventually(() => way.requests.some((request) => request.endsWith('/events')), 'a job that is followed', 60_000);
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
    const job =
      way.requests
        .find((request) => request.endsWith('/events'))
        ?.split('/')
        .at(-2) ?? '';
    expect((await fetch(`${service.url}/api/v1/jobs/${job}`)).status).toBe(410);
    await way.close();
  });

  it('calls tools, with one file or several', async () => {
    await writeFile(at('p.jpg'), photo);
    expect((await command.run(['tool', 'resize-image', 'p.jpg', '--img-resize-w', '32', '--server', service.url])).code).toBe(0);
    expect((await sharp(at('p-filemill.jpg')).metadata()).width).toBe(32);
    const formats = await command.run(['formats', 'jpg', '--json', '--server', service.url]);
    expect(JSON.parse(formats.stdout.toString())).toMatchObject({ format: 'jpg', targets: expect.arrayContaining(['png']) });
  });
});
