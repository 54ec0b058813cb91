import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import { baseUrl, withoutPrefix } from '../../../src/api/http/base-url.ts';
import { failureOf } from '../../../src/api/http/problem.ts';
import { storePage } from '../../../src/api/intake/page.ts';
import { failureOfJob, humanSize, nameToSave, viewOf } from '../../../src/api/jobs/view.ts';
import { byteRange, contentDisposition } from '../../../src/api/outputs/route.ts';
import { outputSettings } from '../../../src/api/outputs/settings.ts';
import { apiSettings } from '../../../src/api/settings.ts';
import { baseName, cleanName, resultName } from '../../../src/catalog/names.ts';
import { type JobRecord, RECORD_VERSION } from '../../../src/jobs/record.ts';
import { StoreFull } from '../../../src/objects/store.ts';

describe('a range', () => {
  const cases: Readonly<Record<string, readonly [header: string | undefined, size: number, range: ReturnType<typeof byteRange>]>> = {
    'that is not there is the whole': [undefined, 100, undefined],
    'from and to': ['bytes=10-19', 100, { start: 10, end: 19 }],
    'of one byte': ['bytes=0-0', 100, { start: 0, end: 0 }],
    'from one byte on': ['bytes=99-', 100, { start: 99, end: 99 }],
    'past the end is cut there': ['bytes=90-200', 100, { start: 90, end: 99 }],
    'of the last bytes': ['bytes=-10', 100, { start: 90, end: 99 }],
    'of more last bytes than there are': ['bytes=-500', 100, { start: 0, end: 99 }],
    'of no last bytes': ['bytes=-0', 100, 'unsatisfiable'],
    'behind the end': ['bytes=100-', 100, 'unsatisfiable'],
    'of an empty file': ['bytes=0-', 0, 'unsatisfiable'],
    'of the last bytes of an empty file': ['bytes=-5', 0, 'unsatisfiable'],
    'that runs backwards means nothing': ['bytes=9-5', 100, undefined],
    'of several parts is the whole': ['bytes=0-1,5-6', 100, undefined],
    'of another unit is the whole': ['lines=0-1', 100, undefined],
    'of a unit in capitals is one': ['Bytes=0-1', 100, { start: 0, end: 1 }],
    'without numbers means nothing': ['bytes=-', 100, undefined],
    'with signs means nothing': ['bytes=+1-2', 100, undefined],
    'with numbers beyond all files means nothing': [`bytes=0-${'9'.repeat(400)}`, 100, undefined],
  };
  for (const [sentence, [header, size, range]] of Object.entries(cases)) it(sentence, () => expect(byteRange(header, size)).toEqual(range));

  it('never leaves the file', () => {
    for (const size of [0, 1, 7])
      for (const from of ['', '0', '3', '6', '7', '8'])
        for (const to of ['', '0', '3', '6', '7', '99']) {
          const range = byteRange(`bytes=${from}-${to}`, size);
          if (range === undefined || range === 'unsatisfiable') continue;
          expect(range.start).toBeGreaterThanOrEqual(0);
          expect(range.end).toBeGreaterThanOrEqual(range.start);
          expect(range.end).toBeLessThan(size);
        }
  });
});

describe('the base URL', () => {
  const open = { publicUrl: undefined, allowedHosts: ['mill.example'], trustProxy: ['10.0.0.0/8'] };
  const asked = (host: string | undefined, headers: Readonly<Record<string, string>> = {}, remoteAddress = '10.0.0.1') => ({
    headers: { ...(host === undefined ? {} : { host }), ...headers },
    socket: { remoteAddress, localPort: 8080 },
  });
  const cases: Readonly<Record<string, readonly [host: string | undefined, url: string]>> = {
    'is localhost without a Host': [undefined, 'http://localhost:8080'],
    'follows an address with a port': ['192.0.2.7:9000', 'http://192.0.2.7:9000'],
    'follows an IPv6 address': ['[2001:db8::1]:9000', 'http://[2001:db8::1]:9000'],
    'writes an odd address plainly': ['0x7f.1:9000', 'http://127.0.0.1:9000'],
    'leaves the usual port out': ['localhost:80', 'http://localhost'],
    'knows an allowed host in any case': ['MILL.example:9000', 'http://mill.example:9000'],
    'does not follow others': ['evil.example', 'http://localhost:8080'],
    'does not follow a name that ends like an allowed one': ['evil-mill.example', 'http://localhost:8080'],
    'does not follow a host with a path': ['localhost/evil', 'http://localhost:8080'],
    'does not follow a host with a query': ['localhost?x', 'http://localhost:8080'],
    'does not follow a host with a user': ['localhost@evil.example', 'http://localhost:8080'],
    'does not follow a port that is none': ['localhost:99999', 'http://localhost:8080'],
    'does not follow an empty Host': ['', 'http://localhost:8080'],
    'knows a name below localhost': ['mill.localhost:9000', 'http://mill.localhost:9000'],
    'knows the name of this machine': [`${hostname()}:9000`, `http://${hostname().toLowerCase()}:9000`],
    'knows its name by multicast DNS': [
      `${hostname().split('.')[0]}.local:9000`,
      `http://${hostname().split('.')[0]?.toLowerCase()}.local:9000`,
    ],
    'does not follow a name below that of this machine': [`${hostname()}.evil.example`, 'http://localhost:8080'],
  };
  for (const [sentence, [host, url]] of Object.entries(cases)) it(sentence, () => expect(baseUrl(open, asked(host), 9999)).toBe(url));

  it('is the public URL whatever the Host, with its path and without its last slash', () => {
    const named = { ...open, publicUrl: 'https://files.example/mill/' };
    expect(baseUrl(named, asked('localhost', { 'x-forwarded-host': 'mill.example' }), 8080)).toBe('https://files.example/mill');
  });

  const proxied: Readonly<Record<string, readonly [headers: Readonly<Record<string, string>>, url: string]>> = {
    'has the scheme that the proxy saw': [{ 'x-forwarded-proto': 'https' }, 'https://mill.example'],
    'has the first scheme of several': [{ 'x-forwarded-proto': 'HTTPS, http' }, 'https://mill.example'],
    'has the host that the proxy saw': [{ 'x-forwarded-host': '192.0.2.9:8443', 'x-forwarded-proto': 'https' }, 'https://192.0.2.9:8443'],
    'has the prefix that the proxy serves it below': [{ 'x-forwarded-prefix': '/mill/' }, 'http://mill.example/mill'],
    'does not follow a host that is not allowed': [{ 'x-forwarded-host': 'evil.example' }, 'http://localhost:8080'],
    'does not follow a scheme that is none of the web': [{ 'x-forwarded-proto': 'javascript' }, 'http://localhost:8080'],
    'does not follow a prefix that names a host': [{ 'x-forwarded-prefix': '//evil.example' }, 'http://mill.example'],
    'does not follow a prefix with a quote': [{ 'x-forwarded-prefix': '/a"b' }, 'http://mill.example'],
    'does not follow a prefix that climbs': [{ 'x-forwarded-prefix': '/a/../b' }, 'http://mill.example'],
  };
  for (const [sentence, [headers, url]] of Object.entries(proxied))
    it(`behind a proxy ${sentence}`, () => {
      expect(baseUrl(open, asked('mill.example', headers), 8080)).toBe(url);
      // From a client that is no trusted proxy, none of it counts.
      expect(baseUrl(open, asked('mill.example', headers, '192.0.2.1'), 8080)).toBe('http://mill.example');
    });

  it('has a prefix that the proxy strips or not', () => {
    const isOurs = (url: string) => url.startsWith('/api/v1');
    const below = (prefix: string) => (url: string) => withoutPrefix(url, prefix, isOurs);
    expect(['/mill/api/v1/jobs', '/mill', '/mill?x', '/api/v1/jobs', '/million'].map(below('/mill'))).toEqual([
      '/api/v1/jobs',
      '/',
      '/?x',
      '/api/v1/jobs',
      '/million',
    ]);
    // What is an address of ours already was stripped before.
    expect(['/api/v1/jobs', '/api/api/v1/jobs'].map(below('/api'))).toEqual(['/api/v1/jobs', '/api/v1/jobs']);
  });
  it('must be one that a path can be appended to', () => {
    for (const publicUrl of ['https://a.example/?x=1', 'https://a.example/#top', 'https://me@a.example', 'ftp://a.example', 'a.example'])
      expect([publicUrl, apiSettings.safeParse({ publicUrl }).success]).toEqual([publicUrl, false]);
  });
});

describe('a name', () => {
  const cases: Readonly<Record<string, readonly [sent: string, clean: string]>> = {
    'that is harmless stays': ['Holiday 2024.JPG', 'Holiday 2024.JPG'],
    'in another script stays': ['отчёт.日本.csv', 'отчёт.日本.csv'],
    'is composed': ['e\u0301.csv', 'é.csv'],
    'loses its folders': ['/etc/../passwd.txt', 'passwd.txt'],
    'loses its Windows folders': ['C:\\a\\b.txt', 'b.txt'],
    'loses control characters': ['a\0\r\n\x7f\x85b.txt', 'ab.txt'],
    'loses what hides or turns text': ['a\u202e\u200b\ufeffb.txt', 'ab.txt'],
    'loses half characters': ['a\ud800b.txt', 'ab.txt'],
    'loses what Windows forbids': ['a<>:"|?*b.txt', 'ab.txt'],
    'loses dots and blanks around it': [' ..a.txt.. ', 'a.txt'],
    'of nothing is file': ['', 'file'],
    'of dots is file': ['...', 'file'],
    'that begins with a dot keeps it': ['.gitignore', '.gitignore'],
    'that begins with a dot keeps it in a folder': ['a/ .hidden.png', '.hidden.png'],
    'of a device is marked': ['NUL.txt', '_NUL.txt'],
    'of a device behind which something stands is marked': ['com1.tar.gz', '_com1.tar.gz'],
    'that only begins like a device stays': ['console.txt', 'console.txt'],
  };
  for (const [sentence, [sent, clean]] of Object.entries(cases)) it(sentence, () => expect(cleanName(sent)).toBe(clean));

  it('is clean once it has been cleaned, and never long', () => {
    const parts = ['a', '.', '..', '/', '\\', ' ', '"', '\u202e', '日', '🦅', 'con', '\r\n', `${'x'.repeat(200)}`, '.tar', '-rf'];
    for (const one of parts)
      for (const two of parts)
        for (const three of parts) {
          const clean = cleanName(one + two + three);
          expect(cleanName(clean)).toBe(clean);
          expect(Buffer.byteLength(clean)).toBeLessThanOrEqual(132);
          expect(clean).toMatch(/^\.?[^\s./\\][^/\\\r\n"]*$/u);
        }
  });

  it('loses only what is an extension', () => {
    expect(['a.tar.gz', 'Plan 1.5 final', 'a', 'a.日本', 'a.b'].map(baseName)).toEqual(['a.tar', 'Plan 1.5 final', 'a', 'a.日本', 'a']);
  });
  it('of a result has the suffix and the target', () => {
    expect([resultName('photo.png', 'jpg'), resultName('Plan 1.5 final', 'pdf')]).toEqual([
      'photo-filemill.jpg',
      'Plan 1.5 final-filemill.pdf',
    ]);
  });
  it('to save it under has neither suffix, and the extension of the output', () => {
    const names = ['photo.png', 'photo-filemill.png', 'Plan 1.5 final', 'a.tar.gz'];
    expect(names.map((name) => nameToSave(name, 'x-custom.jpg', '-filemill'))).toEqual([
      'photo.jpg',
      'photo.jpg',
      'Plan 1.5 final.jpg',
      'a.tar.jpg',
    ]);
  });
  it("to save it under has neither the operator's suffix", () => {
    const names = ['photo.png', 'photo-acme.png', 'photo-filemill.png', 'photo-filemill-acme.png', '-acme.png'];
    expect(names.map((name) => nameToSave(name, 'photo-acme.webp', '-acme'))).toEqual([
      ...Array.from({ length: 4 }, () => 'photo.webp'),
      '-acme.webp',
    ]);
    expect(nameToSave('photo-filemill.png', 'photo.webp', '')).toBe('photo.webp');
    const output = { key: '', filename: 'photo-acme.webp', sizeBytes: 1, contentType: 'image/webp', sha256: '', files: 1 };
    const record = aRecord({ state: 'done', filename: 'photo-acme.png', output });
    expect(viewOf(record, { base: 'http://localhost', suffix: '-acme' }).output?.save_as).toBe('photo.webp');
  });
  it('has the suffix that the operator sets, which is a part of a name', () => {
    for (const suffix of ['', '-x', ' (2)', '_über']) expect(outputSettings.parse({ suffix }).suffix).toBe(suffix);
    for (const suffix of ['/x', '..', 'a.b', '\n', 'x'.repeat(51), '\u202e'])
      expect(outputSettings.safeParse({ suffix }).success).toBe(false);
    expect(outputSettings.parse({}).suffix).toBe('-filemill');
  });
  it('is cut between characters', () => {
    expect(resultName(cleanName(`${'日'.repeat(100)}.csv`), 'md')).toBe(`${'日'.repeat(40)}-filemill.md`);
    expect(cleanName(`a${'🦅'.repeat(100)}`)).toBe(`a${'🦅'.repeat(29)}`);
  });
});

describe('a disposition', () => {
  const cases: Readonly<Record<string, readonly [name: string, header: string]>> = {
    'of a plain name says it twice': ['a-b.jpg', `attachment; filename="a-b.jpg"; filename*=UTF-8''a-b.jpg`],
    'hides quotes and backslashes from old clients': ['a"\\b.jpg', `attachment; filename="a__b.jpg"; filename*=UTF-8''a%22%5Cb.jpg`],
    'encodes what RFC 8187 does not let stand': ["a'(b)*.jpg", `attachment; filename="a'(b)*.jpg"; filename*=UTF-8''a%27%28b%29%2A.jpg`],
    'encodes other scripts': ['é日.jpg', `attachment; filename="__.jpg"; filename*=UTF-8''%C3%A9%E6%97%A5.jpg`],
    'cannot break out of the header': ['a\r\nb.jpg', `attachment; filename="a__b.jpg"; filename*=UTF-8''a%0D%0Ab.jpg`],
  };
  for (const [sentence, [name, header]] of Object.entries(cases)) it(sentence, () => expect(contentDisposition(name)).toBe(header));
});

describe('a size', () => {
  const sizes: readonly (readonly [bytes: number, text: string])[] = [
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.0 KB'],
    [1536, '1.5 KB'],
    [1024 * 1024 - 1, '1.0 MB'],
    [209_715_200, '200.0 MB'],
    [2 ** 30 - 1, '1.0 GB'],
    [5 * 2 ** 40, '5120.0 GB'],
  ];
  for (const [bytes, text] of sizes) it(`of ${bytes} bytes reads ${text}`, () => expect(humanSize(bytes)).toBe(text));
});

const aRecord = (change: Partial<JobRecord> = {}): JobRecord => ({
  version: RECORD_VERSION,
  id: '0123456789abcdef0123456789abcdef',
  state: 'running',
  pool: 'media',
  lane: 'interactive',
  createdAt: 1_000_000,
  expiresAt: 2_000_000,
  filename: 'a.wav',
  sources: [{ part: 0, sizeBytes: 1, format: 'wav' }],
  target: { format: 'mp3', extension: 'mp3' },
  options: {},
  attempts: 1,
  warnings: [],
  ...change,
});

const BESIDE = { base: 'http://localhost', suffix: '-filemill' };

describe('a job as it is shown', () => {
  it('has progress only while it runs', () => {
    expect(viewOf(aRecord(), { ...BESIDE, progress: 40 })).toMatchObject({ status: 'processing', progress: 40 });
    for (const state of ['queued', 'done', 'error'] as const)
      expect(viewOf(aRecord({ state }), { ...BESIDE, progress: 40 })).not.toHaveProperty('progress');
  });
  it('shows nothing of how it is stored', () => {
    const hidden = {
      pool: 'a-pool',
      sealed: 'sealed-secret',
      attempt: 'fencing-token',
      lapsed: ['late-token'],
      options: { author: 'an-option' },
      moved: { from: 'old-pool', to: 'new-pool', at: 7_777_777 },
      output: { key: 'stored-at', filename: 'a.mp3', sizeBytes: 1, contentType: 'audio/mpeg', sha256: '', files: 1 },
      failure: { reason: 'a-reason', message: 'words-of-a-failure', details: {} },
    };
    const shown = viewOf(aRecord({ ...hidden, state: 'done' }), BESIDE);
    expect(shown.output?.filename).toBe('a.mp3');
    expect(JSON.stringify(shown)).not.toMatch(/a-pool|sealed-secret|-token|an-option|(old|new)-pool|7777777|stored-at|a-reason|words-of/);
    expect(Object.keys(shown).toSorted()).toEqual(
      ['created_at', 'expires_at', 'job_id', 'links', 'output', 'status', 'warnings'].toSorted(),
    );
  });
  it('says something even of a failure without words', () => {
    const failed = failureOfJob(aRecord({ state: 'error', failure: { reason: 'timeout', message: '', details: {} } }));
    expect(failed.message).toBe('The conversion exceeded its time limit.');
    const unknown = failureOfJob(aRecord({ state: 'error', failure: { reason: 'of a later version', message: '', details: {} } }));
    expect(unknown.details['reason']).toBe('internal');
  });
});

describe('what is thrown', () => {
  const request = { log: { error: () => {} } } as unknown as Parameters<typeof failureOf>[1];
  const full: Readonly<Record<string, unknown>> = {
    'by a full object store': new StoreFull('full'),
    'by a full disk': Object.assign(new Error('no space'), { code: 'ENOSPC' }),
    'by a quota': Object.assign(new Error('quota'), { code: 'EDQUOT' }),
    'by a database without room': Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 }),
  };
  for (const [sentence, error] of Object.entries(full))
    it(`${sentence} is overload`, () => expect(failureOf(error, request).code).toBe('OVERLOADED'));
  for (const error of [new Error('x'), 'text', undefined, null, Object.assign(new Error('x'), { code: 'ERR_SQLITE_ERROR', errcode: 11 })])
    it(`otherwise (${String(error)}) is a fault of ours`, () => expect(failureOf(error, request).code).toBe('INTERNAL_ERROR'));
});

it('a page that is not fetched here is refused by the name of its tool', async () => {
  const deps = { files: {}, service: { settings: apiSettings.parse({}) } } as Parameters<typeof storePage>[0];
  await expect(storePage(deps, 'https://example.org', 'key', new AbortController().signal)).rejects.toMatchObject({
    code: 'NOT_IMPLEMENTED',
    details: { slug: 'webpage-to-pdf', reason: expect.any(String) },
  });
});
