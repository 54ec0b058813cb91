/** What a support bundle takes out of texts, and what it leaves. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lastErrors } from '../../../src/cli/support/last-errors.ts';
import { redactorOf } from '../../../src/cli/support/redact.ts';
import { valuesIn } from '../../../src/cli/support/settings.ts';
import { ConfigError, givenSettings, loadConfig } from '../../../src/config.ts';

const redactor = redactorOf({ secrets: ['swordfish-9'], names: ['nas', 'mill.example', 'mill'], kept: ['7.1.1.43'] });

describe('a text', () => {
  it.each([
    ['the token swordfish-9 is wrong', 'the token <secret-1> is wrong'],
    ['on nas, not nasty', 'on <name-1>, not nasty'],
    ['https://me:pw@a.example/b?c=d failed', '<url-1> failed'],
    ['write to erika@example.org', 'write to <mail-1>'],
    ['10.0.0.7:8080 and 10.0.0.7', '<address-1>:8080 and <address-1>'],
    ['from 2001:db8::17, not ::1 or 127.0.0.1', 'from <address-2>, not ::1 or 127.0.0.1'],
    ['ImageMagick 7.1.1.43 at 12:03:44', 'ImageMagick 7.1.1.43 at 12:03:44'],
    ['the job 0123456789abcdef0123456789abcdef', 'the job <id-1>'],
    ['/home/erika/a.pdf and /usr/bin/ffmpeg', '<path-1> and /usr/bin/ffmpeg'],
    ['GET /api/v1/jobs/:id', 'GET /api/v1/jobs/:id'],
    ['set DATA_DIR, worker.slots or 50 MiB', 'set DATA_DIR, worker.slots or 50 MiB'],
  ])('%s is shown as %s', (given, shown) => expect(redactor.text(given)).toBe(shown));

  it('loses names in whatever case, and keeps the commits it is told', () => {
    const commit = 'c0ffee'.repeat(6);
    const { text } = redactorOf({ secrets: ['swordfish-9'], names: ['mill.example', 'nas'], kept: [commit] });
    expect(text(`Mill.Example, MILL.example and NAS, SwordFish-9; ${commit}`)).toBe(
      `<name-1>, <name-1> and <name-2>, <secret-1>; ${commit}`,
    );
  });

  it('of another program loses what is quoted, and names of files and hosts', () =>
    expect(redactor.foreign(`cannot open 'Müller 1.docx': Brief.pdf on nas2.example at directory.ts`)).toBe(
      'cannot open <quoted-1>: <name-2> on <name-3> at directory.ts',
    ));

  it('of any length is done in time, and cut', () => {
    const began = performance.now();
    expect(redactor.foreign(`${'a.'.repeat(1e6)}${'/'.repeat(1e6)}${'1:'.repeat(1e6)}`).length).toBeLessThan(10_000);
    expect(performance.now() - began).toBeLessThan(2_000);
  });
});

describe('settings with mistakes', () => {
  it('name what is theirs all the same, be they no YAML either', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'filemill-given-')), 'config.yaml');
    writeFileSync(file, 's3:\n  bucket: user-bucket\n  secretAccessKey: hunter-2222\nnats: { servers: [nats://nas-keller:4222 }\n\tx: 1\n');
    const environment = {
      CONFIG_FILE: file,
      SETTINGS: 'api: { publicUrl: geheim.example }',
      S3_ENDPOINT: 'http://Minio.intern',
      PORT: '8080',
    };
    expect(() => loadConfig(environment)).toThrow(ConfigError);
    const { secrets, names } = valuesIn(givenSettings(environment));
    rmSync(dirname(file), { recursive: true });
    expect(secrets).toEqual(['hunter-2222']);
    expect(names).toEqual(expect.arrayContaining(['user-bucket', 'geheim.example', 'http://Minio.intern', 'minio.intern', 'nas-keller']));
    expect(names).not.toContain('8080');
  });
});

describe('the last errors of a log', () => {
  const line = (level: string, fields: object = {}) =>
    JSON.stringify({ level, time: '2026-11-01T10:00:00.000Z', msg: 'it happened', ...fields });
  it('are those of warnings and errors, with fields that are known', () => {
    const { entries, lines, unreadable } = lastErrors(
      [line('info'), line('warn', { pool_of: 'Erika', engine: 'ffmpeg' }), 'words', line('error')].join('\n'),
      redactor,
    );
    expect([lines, unreadable]).toEqual([4, 1]);
    expect(entries).toEqual([
      { level: 'warn', time: '2026-11-01T10:00:00.000Z', msg: 'it happened', engine: 'ffmpeg', hidden: ['pool_of'] },
      { level: 'error', time: '2026-11-01T10:00:00.000Z', msg: 'it happened' },
    ]);
  });
  it('say where in the program an error arose, and not where that lies', () => {
    const stack = 'Error: x\n    at a (file:///home/erika/src/mill/src/objects/write.ts:12:3)\n    at node:internal/fs:10:2';
    const [entry] = lastErrors(line('error', { err: { type: 'Error', message: 'x', stack } }), redactor).entries;
    expect(entry).toMatchObject({ err: { at: ['src/objects/write.ts:12', 'node:internal/fs:10'] } });
  });
  it('are two hundred at most', () => expect(lastErrors(Array(500).fill(line('error')).join('\n'), redactor).entries).toHaveLength(200));
});
