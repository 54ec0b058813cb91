/** A hostile program that was given one way out: it reaches that port of this machine and nothing else. */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StepLimits } from '../../../src/catalog/engine.ts';
import { type LauncherOptions, launcherAt } from '../../../src/exec/confine/confine.ts';

const MB = 2 ** 20;
const LIMITS: StepLimits = {
  memoryBytes: 256 * MB,
  cpuSeconds: 10,
  fileBytes: 8 * MB,
  folderBytes: 64 * MB,
  processes: 32,
  wallMs: 20_000,
};
/** A number that no account has. */
const SLOT_USER = process.getuid?.() === 0 ? 1_929_999_997 : undefined;
const ABSTRACT = `\0confine-net-${randomUUID()}`;

/** Tries one thing after another; each is told by what came of it: an error's name, or what was read. */
const PROBE = `
import errno, json, select, socket, sys
opened, closed, abstract = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].replace('@', '\\0')
def reach(address, family=socket.AF_INET, kind=socket.SOCK_STREAM, protocol=0):
    s = socket.socket(family, kind, protocol)
    s.setblocking(False)
    code = s.connect_ex(address)
    if code not in (0, errno.EINPROGRESS): raise OSError(code, '')
    select.select([], [s], [], 5)
    code = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code: raise OSError(code, '')
    select.select([s], [], [], 5)
    return s, s.recv(100).decode()
def again(address):
    s, _ = reach(('127.0.0.1', opened))
    s.connect(address)
def fast(send):
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    return send(s)
def listen(bind):
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if bind: s.bind(('127.0.0.1', 0))
    s.listen()
FAST = socket.MSG_FASTOPEN
tries = {
    'the open port': lambda: reach(('127.0.0.1', opened))[1],
    'another port': lambda: reach(('127.0.0.1', closed))[1],
    'that port elsewhere': lambda: reach(('127.0.0.2', opened))[1],
    'that port everywhere': lambda: reach(('0.0.0.0', opened))[1],
    'IPv6': lambda: reach(('::1', closed), socket.AF_INET6)[1],
    'UDP': lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    'raw': lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
    'SCTP': lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132),
    'MPTCP': lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262),
    'netlink': lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    'packets': lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    'an abstract socket': lambda: reach(abstract, socket.AF_UNIX)[1],
    'fast open by sendto': lambda: fast(lambda s: s.sendto(b'x', FAST, ('127.0.0.1', closed))),
    'fast open by sendmsg': lambda: fast(lambda s: s.sendmsg([b'x'], [], FAST, ('127.0.0.1', closed))),
    'a socket connected again': lambda: again(('127.0.0.1', closed)),
    'bind': lambda: listen(True),
    'listen': lambda: listen(False),
}
told = {}
for name, attempt in tries.items():
    try: told[name] = attempt() or 'done'
    except OSError as error: told[name] = errno.errorcode[error.errno]
    if not isinstance(told[name], str): told[name] = 'done'
print(json.dumps(told))
`;

let folder: string;
let greeter: Server;
let canary: Server;
let abstract: Server;
let heard = 0;

beforeAll(async () => {
  execFileSync('scripts/build-launcher');
  folder = mkdtempSync(join(tmpdir(), 'confine-net-'));
  writeFileSync(join(folder, 'probe.py'), PROBE);
  if (SLOT_USER !== undefined) for (const path of [folder, join(folder, 'probe.py')]) chownSync(path, SLOT_USER, SLOT_USER);
  greeter = createServer((client) => client.end('hello')).listen(0, '127.0.0.1');
  canary = createServer((client) => client.destroy()).on('connection', () => heard++);
  canary.listen(0);
  abstract = createServer((client) => client.destroy()).on('connection', () => heard++);
  abstract.listen(ABSTRACT);
  await Promise.all([greeter, canary, abstract].map((server) => once(server, 'listening')));
});
afterAll(() => {
  for (const server of [greeter, canary, abstract]) server.close();
  rmSync(folder, { recursive: true, force: true });
});

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

async function probe(tcpPort: number | undefined, options: LauncherOptions = {}): Promise<Readonly<Record<string, string>>> {
  const launcher = launcherAt(resolve('.cache/bin/launcher'), options);
  const outcome = await launcher.run(
    { folder, reads: [], calls: 'web', uid: SLOT_USER, unixSockets: false, tcpPort, limits: LIMITS },
    {
      program: '/usr/bin/python3',
      args: [join(folder, 'probe.py'), ...[greeter, canary].map((server) => String(portOf(server))), ABSTRACT.replace('\0', '@')],
    },
  );
  expect(outcome).toMatchObject({ ended: 'exit', code: 0, stderr: '' });
  return JSON.parse(outcome.stdout.toString()) as Record<string, string>;
}

describe.each([
  ['this kernel', {}],
  ['a kernel whose Landlock knows no TCP', { landlockAbi: 3 }],
])('on %s', (_, options) => {
  it('a program that was given one port reaches it, and nothing else', async () => {
    const { 'the open port': open, ...others } = await probe(portOf(greeter), options);
    expect(open).toBe('hello');
    expect(others).toEqual(Object.fromEntries(Object.keys(others).map((name) => [name, 'EPERM'])));
    expect(heard).toBe(0);
  });

  it('a program that was given none makes no socket at all', async () => {
    const told = await probe(undefined, options);
    expect(told).toEqual(Object.fromEntries(Object.keys(told).map((name) => [name, 'EPERM'])));
    expect(heard).toBe(0);
  });
});

it('the canary does hear a program that is not confined', async () => {
  const client = (await import('node:net')).connect(portOf(canary), '127.0.0.1');
  await once(client, 'close');
  expect(heard).toBe(1);
});
