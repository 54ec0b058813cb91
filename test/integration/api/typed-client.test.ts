/** A client whose types are generated from the published document: it compiles, and what it then meets is what its types say. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixtures } from '../../kit/fixtures/pictures/images.ts';
import { checkout, type Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
const generator = join(checkout, 'test/typed-client/node_modules/openapi-typescript/bin/cli.js');
const types = join(checkout, '.cache/typed-client/api.ts');

describe('a client with generated types', () => {
  let service: Pick<Service, 'url'>;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filemill-typed-'));
    await mkdir(join(types, '..'), { recursive: true });
    service = await sharedService();
    await run(process.execPath, [generator, `${service.url}/openapi.json`, '--output', types]);
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it('compiles, and not where it asks for what there is not', async () => {
    // What must not compile is marked in the client: an unneeded mark is an error too.
    await run('node_modules/.bin/tsc', ['--project', 'test/typed-client'], { cwd: checkout }).catch((error: { stdout?: string }) => {
      throw new Error(error.stdout, { cause: error });
    });
  });

  it('converts, polls, sends a batch, calls a tool, and reads what there is', async () => {
    const picture = (await fixtures['png']?.('kestrel', folder)) ?? '';
    const { stdout } = await run(process.execPath, [join(checkout, 'test/typed-client/journey.ts'), service.url, picture]);
    const seen = JSON.parse(stdout) as Readonly<Record<string, unknown>>;
    expect(seen).toMatchObject({
      status: 'done',
      refusal: 'INVALID_FORMAT',
      files: [true, true],
      resized: 'image/png',
      tools: expect.arrayContaining(['resize-image', 'merge-pdf']),
      targets: expect.arrayContaining(['webp', 'pdf']),
      daily: 1000,
    });
    expect(seen['bytes']).toBe(seen['size']);
    expect(seen['bytes']).toBeGreaterThan(0);
  });
});
