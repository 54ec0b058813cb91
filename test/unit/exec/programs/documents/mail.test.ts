/** Names of attached files in the archive of a message. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { zipEntries } from '../../../../../src/exec/programs/archives/zip.ts';

const folder = mkdtempSync(join(tmpdir(), 'filemill-mail-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('are each once, also where nothing is left of what was sent', () => {
  const part = (name: string) => ['--q', `Content-Disposition: attachment; filename="${name}"`, '', 'x'];
  const message = [
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=q',
    '',
    ...part('C:'),
    ...part('file'),
    ...part('D:'),
    '--q--',
    '',
  ];
  const [input, output] = [join(folder, 'in.eml'), join(folder, 'out.zip')];
  writeFileSync(input, message.join('\r\n'));
  const { stdout } = spawnSync(process.execPath, ['src/exec/programs/documents/mail.ts', input, 'eml', output, 'zip'], {
    encoding: 'utf8',
  });
  expect(JSON.parse(stdout)).toMatchObject({ ok: true });
  expect([...zipEntries(readFileSync(output))].map(({ name }) => name)).toEqual(['message.html', 'file', 'file-2', 'file-3']);
});
