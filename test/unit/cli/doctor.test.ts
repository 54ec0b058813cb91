/** What `filemill doctor` says of what it saw: each trouble has a sentence and a next step, and a machine without any has neither. */
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type DiskFacts, judgeDisk } from '../../../src/cli/doctor/disk.ts';
import { reportOf } from '../../../src/cli/doctor/doctor.ts';
import { judgeEngines, judgeUpdates, packagesIn } from '../../../src/cli/doctor/engines.ts';
import { tallyOf } from '../../../src/cli/doctor/examination.ts';
import type { Finding } from '../../../src/cli/doctor/finding.ts';
import { judgeFonts, WANTED_FONTS } from '../../../src/cli/doctor/fonts.ts';
import { judgeKernel, type KernelFacts } from '../../../src/cli/doctor/kernel.ts';
import { judgeClock, judgeMachine } from '../../../src/cli/doctor/machine.ts';
import { judgeModels } from '../../../src/cli/doctor/models.ts';
import { hostToAsk, judgePort, judgeProxies, type PortFacts } from '../../../src/cli/doctor/port.ts';
import { judgePublic, type PublicFacts } from '../../../src/cli/doctor/public-url.ts';
import { loadConfig } from '../../../src/config.ts';

const PROGRAM = { version: '0.1.0', commit: 'a'.repeat(40) };
const kernel = (change: Partial<KernelFacts> = {}): KernelFacts => ({
  release: '6.18.0',
  support: { arch: 'x64', landlockAbi: 6, seccomp: true, lacks: [] },
  noCgroups: undefined,
  isRoot: true,
  userNamespaces: 1_000,
  namespacesRestricted: false,
  ...change,
});
const support = (landlockAbi: number, seccomp = true) => ({
  arch: 'x64',
  landlockAbi,
  seccomp,
  lacks: ['TCP is refused by system call only'],
});
const disk = (change: Partial<DiskFacts> = {}): DiskFacts => ({
  path: '/var/lib/filemill',
  setting: 'DATA_DIR',
  freeBytes: 50e9,
  freeFiles: 1e6,
  kind: 'disk',
  isWritable: true,
  leastBytes: 1e9,
  ...change,
});
const reached = (change: Partial<PublicFacts> = {}): PublicFacts => ({
  url: 'https://files.example.org',
  status: 200,
  health: { version: '0.1.0' },
  certificateDays: 60,
  client: '203.0.113.7',
  body: { status: 404, isOurs: true },
  ...change,
});
const service = (change = {}): PortFacts => ({
  answers: 'filemill',
  health: { status: 'ok', version: '0.1.0', commit: 'a'.repeat(40), missing: [], ...change },
});
const { api, fetch } = loadConfig({});
const WHOLE = [{ id: 'u2netp', small: true, state: 'whole' }] as const;

const FINE: readonly (readonly [string, readonly Finding[]])[] = [
  ['kernel', judgeKernel(kernel())],
  ['engines', judgeEngines({ installed: [{ name: 'FFmpeg', version: '7.1', toolchains: ['media'] }], missing: [], fault: undefined })],
  ['updates', [judgeUpdates({ pending: [], listsAgeMs: 3_600_000 })]],
  ['fonts', [judgeFonts(WANTED_FONTS.map(([family]) => family))]],
  ['models', [judgeModels([...WHOLE, { id: 'whisper-base', small: false, state: 'missing' }])]],
  ['machine', judgeMachine({ cores: 2, memoryBytes: 8 * 2 ** 30, memoryLimitBytes: undefined, openFiles: 65_536 })],
  ['disk', [judgeDisk('disk', disk())]],
  ['a free port', judgePort(8080, { answers: 'nothing' }, PROGRAM)],
  ['a port that filemill serves', judgePort(8080, service(), PROGRAM)],
  ['proxies', judgeProxies({ api: { ...api, publicUrl: 'https://a.example', trustProxy: ['127.0.0.1'] as never }, fetch }, {})],
  ['PUBLIC_URL', judgePublic(reached(), PROGRAM)],
  ['clock', [judgeClock({ isSynchronised: true, aheadMs: -400 })]],
];

it.each(FINE)('%s without trouble is fine, and has nothing to do', (_, findings) => {
  expect(findings.map(({ state }) => state)).toEqual(findings.map(() => 'ok'));
  expect(findings.filter(({ todo }) => todo !== undefined)).toEqual([]);
  expect(findings.length).toBeGreaterThan(0);
});

const TROUBLES: readonly (readonly [string, readonly Finding[], string, Finding['state'], RegExp, RegExp])[] = [
  [
    'no launcher',
    judgeKernel(kernel({ support: new Error('the launcher x cannot be started (ENOENT)') })),
    'launcher',
    'problem',
    /ENOENT/,
    /make start/,
  ],
  ['no Landlock', judgeKernel(kernel({ support: support(0) })), 'landlock', 'problem', /has no Landlock/, /5\.13/],
  ['an old Landlock', judgeKernel(kernel({ support: support(3) })), 'landlock', 'warning', /TCP is refused/, /6\.12/],
  ['no seccomp', judgeKernel(kernel({ support: support(6, false) })), 'seccomp', 'problem', /any system call/, /CONFIG_SECCOMP_FILTER/],
  ['no cgroups', judgeKernel(kernel({ noCgroups: 'EROFS' })), 'cgroups', 'warning', /EROFS/, /Delegate=yes/],
  ['one user', judgeKernel(kernel({ isRoot: false })), 'users', 'warning', /user of the service/, /start as root/],
  ['no program runs', judgeEngines({ installed: [], missing: [], fault: 'no room' }), 'confinement', 'problem', /no room/, /fix what/],
  [
    'a converter that is missing',
    judgeEngines({
      installed: [{ name: 'FFmpeg', version: '7.1', toolchains: ['media'] }],
      missing: [{ name: 'qpdf', programs: ['qpdf'], toolchains: ['pdf'] }],
      fault: undefined,
    }),
    'engines',
    'warning',
    /1 of 2 converters are missing.*qpdf/,
    /TOOLCHAINS=pdf make start/,
  ],
  ['pending updates', [judgeUpdates({ pending: ['libheif1'], listsAgeMs: 0 })], 'updates', 'warning', /libheif1/, /apt-get upgrade/],
  ['old lists', [judgeUpdates({ pending: [], listsAgeMs: 30 * 86_400_000 })], 'updates', 'warning', /30 days old/, /apt-get update/],
  ['no apt', [judgeUpdates({ pending: undefined, listsAgeMs: undefined })], 'updates', 'unknown', /lists of their packages/, /newer one/],
  ['no fontconfig', [judgeFonts(undefined)], 'fonts', 'unknown', /fc-list/, /fontconfig/],
  [
    'a font that is missing',
    [judgeFonts(['Carlito'])],
    'fonts',
    'warning',
    /Liberation Sans is missing, for Arial/,
    /apt-get install fonts-liberation /,
  ],
  [
    'a changed model',
    [judgeModels([{ id: 'u2netp', small: true, state: 'changed' }])],
    'models',
    'problem',
    /u2netp/,
    /models pull u2netp/,
  ],
  [
    'a small model that is missing',
    [judgeModels([{ id: 'u2netp', small: true, state: 'missing' }])],
    'models',
    'warning',
    /u2netp/,
    /models pull/,
  ],
  [
    'little memory',
    judgeMachine({ cores: 1, memoryBytes: 2 ** 33, memoryLimitBytes: 2 ** 29, openFiles: undefined }),
    'memory',
    'warning',
    /512/,
    /worker\.slots/,
  ],
  [
    'few open files',
    judgeMachine({ cores: 1, memoryBytes: 2 ** 33, memoryLimitBytes: undefined, openFiles: 1_024 }),
    'open-files',
    'warning',
    /1024/,
    /LimitNOFILE/,
  ],
  ['a folder of another user', [judgeDisk('disk', disk({ isWritable: false }))], 'disk', 'problem', /cannot be written/, /owner/],
  ['a full disk', [judgeDisk('disk', disk({ freeBytes: 5e8 }))], 'disk', 'problem', /503/, /make room/],
  ['a disk that will be full', [judgeDisk('disk', disk({ freeBytes: 1.5e9 }))], 'disk', 'warning', /is refused below/, /make room/],
  ['no inodes', [judgeDisk('disk', disk({ freeFiles: 5 }))], 'disk', 'problem', /5 more files/, /make room/],
  ['data in memory', [judgeDisk('disk', disk({ kind: 'memory' }))], 'disk', 'warning', /after a restart/, /DATA_DIR/],
  ['data on the network', [judgeDisk('disk', disk({ kind: 'network' }))], 'disk', 'warning', /SQLite/, /DATA_DIR/],
  ['a port that is taken', judgePort(8080, { answers: 'other' }, PROGRAM), 'port', 'problem', /another program/, /PORT/],
  ['a port that is silent', judgePort(8080, { answers: 'silence' }, PROGRAM), 'port', 'unknown', /no answer/, /ss -ltnp/],
  ['an older service', judgePort(8080, service({ version: '0.0.9' }), PROGRAM), 'port', 'warning', /0\.0\.9/, /restart/],
  [
    'a service of another commit',
    judgePort(8080, service({ commit: 'b'.repeat(40) }), PROGRAM),
    'port',
    'warning',
    /another one/,
    /restart/,
  ],
  [
    'a service without an engine',
    judgePort(8080, service({ status: 'degraded', missing: [{ engine: 'qpdf', reason: 'it crashes' }] }), PROGRAM),
    'service',
    'warning',
    /qpdf: it crashes/,
    /log/,
  ],
  [
    'a proxy to the Internet',
    judgeProxies({ api, fetch }, { HTTPS_PROXY: 'http://p' }),
    'proxy',
    'warning',
    /HTTPS_PROXY is set/,
    /fetch\.rest/,
  ],
  [
    'a proxy that is not believed',
    judgeProxies({ api: { ...api, publicUrl: 'https://a.example' }, fetch }, {}),
    'trust-proxy',
    'warning',
    /share the limits of one/,
    /TRUST_PROXY/,
  ],
  ['no PUBLIC_URL', judgePublic(undefined, PROGRAM), 'public-url', 'unknown', /not set/, /URL that clients use/],
  [
    'PUBLIC_URL that does not resolve',
    judgePublic({ url: 'https://a.example', failed: 'ENOTFOUND' }, PROGRAM),
    'public-url',
    'problem',
    /ENOTFOUND/,
    /DNS/,
  ],
  [
    'PUBLIC_URL of another program',
    judgePublic({ url: 'https://a.example', status: 502 }, PROGRAM),
    'public-url',
    'problem',
    /answers 502/,
    /proxy/,
  ],
  [
    'PUBLIC_URL of another version',
    judgePublic(reached({ health: { version: '0.0.9' } }), PROGRAM),
    'public-url',
    'warning',
    /0\.0\.9/,
    /restart/,
  ],
  ['a certificate that expires', judgePublic(reached({ certificateDays: 3 }), PROGRAM), 'certificate', 'warning', /3 days/, /renewed/],
  [
    'clients that all are the proxy',
    judgePublic(reached({ client: '127.0.0.1' }), PROGRAM),
    'client',
    'problem',
    /127\.0\.0\.1, the proxy/,
    /TRUST_PROXY/,
  ],
  [
    'a proxy that refuses large bodies',
    judgePublic(reached({ body: { status: 413, isOurs: false } }), PROGRAM),
    'body',
    'problem',
    /413/,
    /client_max_body_size/,
  ],
  ['a clock that is wrong', [judgeClock({ isSynchronised: true, aheadMs: 600_000 })], 'clock', 'problem', /600 s ahead/, /chrony/],
  [
    'a clock that nothing keeps',
    [judgeClock({ isSynchronised: false, aheadMs: undefined })],
    'clock',
    'warning',
    /not synchronised/,
    /chrony/,
  ],
  [
    'a clock that is not seen',
    [judgeClock({ isSynchronised: undefined, aheadMs: undefined })],
    'clock',
    'unknown',
    /cannot be seen/,
    /host/,
  ],
];

it.each(TROUBLES)('%s is told, with what to do', (_, findings, check, state, says, todo) => {
  const finding = findings.find((each) => each.check === check);
  expect(finding).toMatchObject({ state, says: expect.stringMatching(says), todo: expect.stringMatching(todo) });
});

describe('fonts', () => {
  // Without those of one release of Debian alone.
  const PACKAGED = globSync('images/{office,web}/packages.txt').flatMap(
    (path) => readFileSync(path, 'utf8').match(/^fonts-[^\s@]+$/gm) ?? [],
  );
  it('that are wanted are those of the images', () =>
    expect([...new Set(WANTED_FONTS.map(([, packaged]) => packaged))].sort()).toEqual([...new Set(PACKAGED)].sort()));
});

describe('pending updates', () => {
  it('are read from what the script says', () =>
    expect(
      packagesIn(
        '  security updates are pending for 3 packages that converters use; as root: apt-get update\n    libheif1 libtiff6\n    poppler-utils\n',
      ),
    ).toEqual(['libheif1', 'libtiff6', 'poppler-utils']));
  it('are none where it says nothing', () => expect(packagesIn('')).toEqual([]));
});

describe('a report', () => {
  const findings: readonly Finding[] = [
    { check: 'landlock', state: 'ok', says: 'all is well' },
    { check: 'disk', state: 'problem', says: 'it is full\u001b[31m', todo: 'make room' },
  ];
  const lines = reportOf({ ...PROGRAM, findings }).split('\n');
  it('has a line for each finding, and one for what to do', () =>
    expect(lines.slice(2, 5)).toEqual([
      'ok       landlock  all is well',
      'problem  disk      it is full\\x1b[31m',
      '                   → make room',
    ]));
  it('ends with a sum', () => expect(lines.at(-1)).toBe('1 problems, 0 warnings, 0 unknown, 1 fine'));
  it('counts each state', () => expect(tallyOf(findings)).toEqual({ ok: 1, unknown: 0, warning: 0, problem: 1 }));
});

it.each([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
  ['10.0.0.5', '10.0.0.5'],
])('a service that listens on %s is asked on %s', (host, asked) => expect(hostToAsk(host)).toBe(asked));
