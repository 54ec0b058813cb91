/** Encrypted archives: what cannot be decrypted is refused by that reason, whether or not a password was sent, and not as damage. */
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { convert } from '../../kit/roles/service.ts';
import { conversionGround } from './ground.ts';

const ground = conversionGround('encrypted-archives');

/** @param options of 7-Zip */
async function sevenZip(...options: readonly string[]): Promise<string> {
  const folder = await ground.aFolder();
  await writeFile(join(folder, 'a.txt'), 'kestrel');
  execFileSync('7z', ['a', '-psesame', ...options, 'a.7z', 'a.txt'], { cwd: folder });
  return join(folder, 'a.7z');
}

/** A RAR 5.0 whose headers are encrypted: its first block says so (RAR 5.0 archive format, "Archive encryption header"). */
async function rar(): Promise<string> {
  const inside = Buffer.concat([Buffer.from([4, 0, 0, 0, 15]), Buffer.alloc(16, 7)]);
  const block = Buffer.concat([Buffer.from([inside.length]), inside]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32LE(crc32(block));
  const path = join(await ground.aFolder(), 'a.rar');
  await writeFile(path, Buffer.concat([Buffer.from('Rar!\x1a\x07\x01\x00', 'latin1'), sum, block, Buffer.alloc(64, 9)]));
  return path;
}

describe.each([
  ['a 7z', () => sevenZip()],
  ['a 7z with hidden names', () => sevenZip('-mhe=on')],
  ['a RAR with hidden names', rar],
])('%s', (_, make) => {
  it.each([{}, { password: 'sesame' }])('is refused as encrypted: %j', async (fields) => {
    const { error } = await convert(ground.url, await make(), 'zip', fields);
    expect(error?.details['reason']).toBe('unsupported_variant');
    expect(error?.message).toMatch(/^The archive is encrypted, and no program here decrypts this (?:7z|rar): /);
  });
});
