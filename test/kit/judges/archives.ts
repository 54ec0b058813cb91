/** Whether an archive contains just the seeded files of its source, byte for byte, as other programs than libarchive unpack it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filesOf, readFiles, unpack } from '../fixtures/archives.ts';

/** @param source format of the archive that it was made from @throws unless it does */
export async function judge(path: string, target: string, seed: string, source: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'filemill-unpacked-'));
  try {
    unpack(path, target, folder);
    const [found, expected] = [readFiles(folder), filesOf(source, seed)];
    const names = Object.keys(expected).toSorted();
    if (Object.keys(found).join('\n') !== names.join('\n')) throw new Error(`it contains ${Object.keys(found)}, not ${names}`);
    for (const name of names) if (!found[name]?.equals(expected[name] ?? Buffer.alloc(0))) throw new Error(`${name} has another content`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
