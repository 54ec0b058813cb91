/** Holds the service to its own document: Schemathesis makes requests out of it, right ones and wrong ones, and checks every answer. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkout, type Service, startService } from '../../kit/roles/service.ts';

const CHECKS = [
  'only_documented_faults',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'unsupported_method',
  'allow_header_conformance',
];
const PHASES = ['Examples', 'Coverage', 'Fuzzing', 'Stateful'] as const;
/** Fuzzing and stateful testing go on until it is spent. */
const SECONDS = 70;

interface Run {
  readonly code: number;
  readonly words: string;
}

/** @param folder where it keeps what it learns @param document a URL or a path */
function schemathesis(folder: string, document: string, ...more: readonly string[]): Promise<Run> {
  // One worker: two threads in ast.parse may fail up to Python 3.11 (https://github.com/python/cpython/issues/106905).
  const fixed = ['--max-examples', '4', '--no-shrink', '--seed', '7', '--workers', '1', '--request-timeout', '60'];
  const quiet = ['--generation-database', 'none', '--no-color', '--warnings', 'off'];
  const args = ['run', document, '--checks', CHECKS.join(','), ...fixed, ...quiet, ...more];
  const hooks = { SCHEMATHESIS_HOOKS: 'hooks', PYTHONPATH: join(checkout, 'test/schemathesis'), PYTHONDONTWRITEBYTECODE: '1' };
  const options = { cwd: folder, env: { ...process.env, ...hooks }, maxBuffer: 64 << 20 };
  return new Promise((resolve, reject) =>
    execFile(join(checkout, '.cache/schemathesis/bin/schemathesis'), args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, words: `${stdout}${stderr}` });
      else reject(new Error('Schemathesis cannot be run: `make test` installs it', { cause: error }));
    }),
  );
}

describe('the API, as its own document says it is', () => {
  let service: Service;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filemill-schemathesis-'));
    // The service must not fetch the addresses that Schemathesis makes up.
    service = await startService({ fetch: { rest: false } });
  });
  afterAll(async () => {
    await service?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('holds for examples, bounds, made-up requests and sequences of them', { timeout: 300_000 }, async () => {
    const phases = PHASES.join(',').toLowerCase();
    const { code, words } = await schemathesis(folder, `${service.url}/openapi.json`, '--phases', phases, '--max-time', String(SECONDS));
    expect(code, words.slice(-20_000)).toBe(0);
    for (const phase of PHASES) expect(words).toMatch(new RegExp(`✅ +${phase} `));
    const [, selected, tested] = /Selected: (\d+)\/\1\n +Tested: (\d+)/.exec(words) ?? [];
    expect(Number(tested), words.slice(-3000)).toBe(Number(selected));
  });

  it('would be told of an answer that is not as it says', async () => {
    const document = JSON.stringify(await (await fetch(`${service.url}/openapi.json`)).json());
    const lie = join(folder, 'openapi.json');
    await writeFile(lie, document.replace('"uptime_seconds":{"type":"integer"', '"uptime_seconds":{"type":"string"'));
    const { code, words } = await schemathesis(
      folder,
      lie,
      '--url',
      service.url,
      '--include-path',
      '/api/v1/health',
      '--phases',
      'coverage',
    );
    expect(code).toBe(1);
    expect(words).toContain('Response violates schema');
  });
});
