/** `filemill nats-users` writes what a NATS server, Secrets and environments need: a real server takes it, and each user may do just its own. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectNats, type Nats } from '../../../src/nats/connection.ts';
import { inboxOf } from '../../../src/nats/permissions.ts';
import { declarePool, ensureRegistry, readPools } from '../../../src/pools/nats/declarations.ts';
import { ensurePool } from '../../../src/queue/nats/pool.ts';
import { openNatsQueue } from '../../../src/queue/nats/queue.ts';
import { eventually } from '../../kit/api/wire.ts';
import { freePorts } from '../../kit/exec/ports.ts';
import { checkout } from '../../kit/roles/service.ts';

const run = promisify(execFile);
const command = (...args: string[]) => run(join(checkout, 'scripts/filemill'), ['nats-users', ...args], { timeout: 60_000 });
let parent: string;
let folder: string;

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'filemill-users-'));
  folder = join(parent, 'users');
});
afterAll(() => rm(parent, { recursive: true, force: true }));

const environmentOf = async (user: string) =>
  Object.fromEntries(
    (await readFile(join(folder, `${user}.env`), 'utf8'))
      .trim()
      .split('\n')
      .map((line) => line.split('=') as [string, string]),
  );

describe('filemill nats-users', () => {
  it('writes users for pools, which are for their owner alone, and says what to do with them', async () => {
    const { stdout } = await command(folder, '--pool', 'image', '--pool', 'pdf');
    for (const user of ['api', 'controller', 'worker-image', 'worker-pdf']) {
      expect((await stat(join(folder, `${user}.env`))).mode & 0o777).toBe(0o600);
      expect((await environmentOf(user))['NATS_USER']).toBe(user);
    }
    expect((await stat(join(folder, 'nats-users.conf'))).mode & 0o777).toBe(0o600);
    expect(stdout).toContain(`kubectl create secret generic filemill-nats-image --from-env-file=${folder}/worker-image.env`);
  });

  it('keeps the passwords that there are, and makes those that are missing', async () => {
    const before = await environmentOf('worker-image');
    const gone = await environmentOf('worker-pdf');
    await unlink(join(folder, 'worker-pdf.env'));
    await command(folder, '--pool', 'image', '--pool', 'pdf', '--pool', 'media-gpu');
    expect(await environmentOf('worker-image')).toEqual(before);
    expect((await environmentOf('worker-pdf'))['NATS_PASSWORD']).not.toBe(gone['NATS_PASSWORD']);
    expect((await environmentOf('worker-media-gpu'))['NATS_PASSWORD']).toMatch(/^[A-Za-z0-9_-]{32}$/);
  });

  it.each([
    [['--pool', 'Not a pool'], 1, '"Not a pool" is not a pool name'],
    [['more'], 2, 'usage: "filemill nats-users <folder>"'],
  ])('refuses %j', async (args, code, why) => {
    await expect(command(folder, ...args)).rejects.toMatchObject({ code, stderr: expect.stringContaining(why) });
  });

  it('makes a server let each user do its own work, and no other user in', async () => {
    const [port] = await freePorts(1);
    const config = join(folder, 'server.conf');
    await writeFile(
      config,
      `listen: "127.0.0.1:${port}"\njetstream { store_dir: "${join(parent, 'store')}" }\ninclude "nats-users.conf"\n`,
    );
    const server = spawn(join(checkout, '.cache/bin/nats-server'), ['-c', config], { stdio: 'ignore' });
    const exited = once(server, 'exit');
    const servers = [`127.0.0.1:${port}`];
    const open: Nats[] = [];
    const connect = async (user: string, inbox: string) => {
      const { NATS_PASSWORD: password = '' } = await environmentOf(user);
      const nats = await connectNats({ servers, name: 'test', user, password, inbox });
      open.push(nats);
      return nats;
    };
    try {
      const api = await eventually(() => connect('api', inboxOf('api')).catch(() => undefined), 'the server lets the API in', 20_000);
      await eventually(
        () =>
          ensureRegistry(api, 1).then(
            () => true,
            () => false,
          ),
        'JetStream is there',
        20_000,
      );
      const controller = await connect('controller', inboxOf('controller'));
      for (const name of ['image', 'pdf']) {
        await ensurePool(controller, name, { capacity: 10, replicas: 1 });
        await declarePool(controller, { version: 1, name, toolchain: name });
      }
      const worker = await connect('worker-image', inboxOf('worker', 'image'));
      expect((await readPools(api)).map(({ name }) => name)).toEqual(['image', 'pdf']);
      const queue = openNatsQueue(worker);
      expect(await queue.pull('image', ['interactive'], 200, AbortSignal.timeout(10_000))).toBeUndefined();
      // It learns from the replica that published them that a client has sent more since.
      const orders = openNatsQueue(api);
      const [first, second] = ['1', '2'].map((digit) => ({
        version: 1,
        jobId: digit.repeat(32),
        pool: 'image',
        lane: 'interactive' as const,
      }));
      if (first !== undefined) await orders.publish(first, { client: 'one' });
      const held = await queue.pull('image', ['interactive'], 5_000);
      expect(await held?.isOneOfSeveral()).toBe(false);
      if (second !== undefined) await orders.publish(second, { client: 'one' });
      expect(await held?.isOneOfSeveral()).toBe(true);
      await orders.close();
      await queue.close();
      await expect(worker.core.request('$JS.API.STREAM.MSG.GET.convert-pdf', '{"seq":1}', { timeout: 500 })).rejects.toThrow();
      await expect(connectNats({ servers, name: 'test', user: 'api', password: 'guessed' })).rejects.toThrow();

      // Both users of each role are admitted until the old ones are retired: no role is shut out in between.
      const old = await environmentOf('api');
      const reaches = async ({ NATS_USER: user, NATS_PASSWORD: password }: Record<string, string>): Promise<string> => {
        const nats = await connectNats({ servers, name: 'test', user, password, inbox: inboxOf('api') }).catch(() => undefined);
        const pools = nats === undefined ? [] : await readPools(nats);
        await nats?.close();
        return pools.map(({ name }) => name).join(' ');
      };
      const pools = ['--pool', 'image', '--pool', 'pdf'];
      await command(folder, ...pools, '--replace');
      const fresh = await environmentOf('api');
      expect(fresh['NATS_USER']).toMatch(/^api-[0-9a-f]{8}$/);
      await expect(command(folder, ...pools, '--replace')).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('--retire') });
      await command(folder, ...pools, '--pool', 'media');
      server.kill('SIGHUP');
      await eventually(async () => (await reaches(fresh)) === 'image pdf', 'the new user is let in', 20_000);
      expect(await reaches(old)).toBe('image pdf');
      await command(folder, ...pools, '--retire');
      server.kill('SIGHUP');
      await eventually(async () => (await reaches(old)) === '', 'the old user is shut out', 20_000);
      expect(await reaches(fresh)).toBe('image pdf');
      expect(await environmentOf('api')).toEqual(fresh);
    } finally {
      await Promise.all(open.map((nats) => nats.close()));
      server.kill('SIGTERM');
      await exited;
    }
  });
}, 120_000);
