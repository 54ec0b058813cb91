/** Comic books as people have them: scans of a few kinds, in folders, with the notes of a library beside them. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeArchive } from '../../kit/fixtures/archives.ts';
import { convert, type Service, settled } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const CONVERT = '/usr/bin/convert-im6.q16';
let service: Pick<Service, 'url'>;
let folder: string;
let made = 0;
beforeAll(async () => {
  [service, folder] = await Promise.all([sharedService(), mkdtemp(join(tmpdir(), 'filemill-comics-'))]);
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const picture = (coder: string, ...args: readonly string[]): Buffer =>
  execFileSync(CONVERT, ['-size', '60x90', 'gradient:#c02010-#102040', ...args, '-strip', `${coder}:-`]);
const zipped = (files: Readonly<Record<string, Buffer>>): string => writeArchive('cbz', files, join(folder, String(made++)));

async function send(path: string, name: string, target: string) {
  const answer = await settled(service.url, await convert(service.url, { name, bytes: await readFile(path) }, target));
  const { output, warnings } = answer.data ?? {};
  const result = output === undefined ? Buffer.alloc(0) : Buffer.from(await (await fetch(output.url)).arrayBuffer());
  return { error: answer.error, result, codes: (warnings ?? []).map(({ code }) => code) };
}

/** Width and height in points, and the turn, of each page. */
function pagesOf(pdf: Buffer): readonly (readonly number[])[] {
  const told = execFileSync('pdfinfo', ['-f', '1', '-l', '99', '-'], { input: pdf, encoding: 'utf8' });
  const turns = [...told.matchAll(/^Page +\d+ rot: +(\d+)/gm)].map(([, turn]) => Number(turn));
  return [...told.matchAll(/^Page +\d+ size: +([\d.]+) x ([\d.]+)/gm)].map(([, width, height], at) => [
    Number(width),
    Number(height),
    turns[at] ?? 0,
  ]);
}

describe('a comic book', () => {
  it('becomes a PDF that contains its JPEGs as they are, each as large as it says, and upright', async () => {
    const [plain, turned] = [picture('jpg', '-density', '120', '-units', 'PixelsPerInch'), orientedTo(6, picture('jpg', '-density', '72'))];
    const { result } = await send(zipped({ 'b.jpg': turned, 'a.jpg': plain }), 'x.cbz', 'pdf');
    expect(pagesOf(result)).toEqual([
      [36, 54, 0],
      [60, 90, 90],
    ]);
    expect([result.includes(plain), result.includes(turned)]).toEqual([true, true]);
  });

  it('shows what is transparent on white, and leaves out hidden files and notes', async () => {
    const clear = execFileSync(CONVERT, ['-size', '8x8', 'xc:none', 'png32:-']);
    const files = {
      'p.png': clear,
      '__MACOSX/._p.png': picture('png'),
      '.hidden.png': picture('png'),
      'read me.txt': Buffer.from('notes'),
    };
    const { result } = await send(zipped(files), 'x.cbz', 'pdf');
    expect(pagesOf(result)).toHaveLength(1);
    const shown = execFileSync('pdftoppm', ['-r', '96', '-'], { input: result });
    expect(shown.subarray(-24).every((byte) => byte === 255)).toBe(true);
  });

  it.each([
    [
      'a page that is not read',
      { 'a.jpg': picture('jpg'), 'b.avif': Buffer.from('\0\0\0\x20ftypavif\0\0\0\0') },
      'unsupported_variant',
      'avif',
    ],
    ['no picture', { 'a.jpg': Buffer.from('words') }, 'corrupt_input', 'contains no picture'],
    ['a damaged page', { 'a.jpg': picture('jpg').subarray(0, 60) }, 'corrupt_input', ''],
  ])('with %s is refused, and the answer says why', async (_, files, reason, words) => {
    const { error } = await send(zipped(files), 'x.cbz', 'pdf');
    expect(error).toMatchObject({ code: 'CONVERSION_FAILED', details: { reason } });
    expect(error?.message).toContain(words);
  });

  it('that is encrypted is refused as such', async () => {
    const path = join(folder, 'locked.cbz');
    await writeFile(join(folder, 'a.jpg'), picture('jpg'));
    execFileSync('zip', ['-q', '-j', '-P', 'secret', path, join(folder, 'a.jpg')]);
    const { error } = await send(path, 'x.cbz', 'pdf');
    expect(error).toMatchObject({ details: { reason: 'unsupported_variant' } });
    expect(error?.message).toContain('encrypted');
  });

  it('loses no page without a word: one that is packed by a method that is not read is refused', async () => {
    const path = zipped({ '1.jpg': picture('jpg'), '2.jpg': picture('jpg') });
    const bytes = await readFile(path);
    // The method of the second entry of the central directory (APPNOTE.TXT, 4.3.12): LZMA.
    bytes.writeUInt16LE(14, bytes.lastIndexOf(Buffer.from('PK\x01\x02', 'latin1')) + 10);
    await writeFile(path, bytes);
    expect((await send(path, 'x.cbz', 'pdf')).error).toMatchObject({ details: { reason: 'unsupported_variant' } });
  });

  it('is told by its name alone from an archive of pictures', async () => {
    const path = zipped({ '1.jpg': picture('jpg') });
    expect((await send(path, 'photos.zip', 'tar')).result.toString('latin1', 257, 262)).toBe('ustar');
    expect((await send(path, 'photos.cbz', 'pdf')).result.toString('latin1', 0, 5)).toBe('%PDF-');
    expect((await send(path, 'photos.zip', 'cbz')).result.toString('latin1', 0, 2)).toBe('PK');
  });
});

/** A JPEG with an EXIF orientation (Exif 2.32, 4.6.4). */
function orientedTo(orientation: number, jpeg: Buffer): Buffer {
  const exif = Buffer.from(
    `Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0${String.fromCharCode(orientation)}\0\0\0\0\0\0`,
    'latin1',
  );
  const head = Buffer.from([0xff, 0xe1, 0, exif.length + 2]);
  return Buffer.concat([jpeg.subarray(0, 2), head, exif, jpeg.subarray(2)]);
}
