/** E-books as people have them, and pictures inside documents, which go where the words go. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contentOf, headingOf } from '../../kit/catalog/content.ts';
import { fixtures as documents } from '../../kit/fixtures/documents/documents.ts';
import { emf } from '../../kit/fixtures/pictures/drawings.ts';
import { writeZip } from '../../kit/fixtures/zip.ts';
import { judge } from '../../kit/judges/documents/documents.ts';
import { unzip } from '../../kit/judges/documents/text.ts';
import { convert, type Service, settled } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
let service: Pick<Service, 'url'>;
let folder: string;
beforeAll(async () => {
  [service, folder] = await Promise.all([sharedService(), mkdtemp(join(tmpdir(), 'filemill-books-'))]);
  await run('/usr/bin/convert-im6.q16', ['-size', '60x40', 'xc:#c02010', join(folder, 'red.png')]);
  await writeFile(
    join(folder, 'book.md'),
    `---\ntitle: The kestrel\nauthor: Ann Other\n---\n\n# ${headingOf(contentOf('kestrel'))}\n\nWords around it.\n\n![what it shows](red.png)\n`,
  );
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function send(path: string, target: string) {
  const bytes = await readFile(path);
  const answer = await settled(service.url, await convert(service.url, { name: path.slice(path.lastIndexOf('/') + 1), bytes }, target));
  const result =
    answer.data?.output === undefined ? Buffer.alloc(0) : Buffer.from(await (await fetch(answer.data.output.url)).arrayBuffer());
  return { answer, result, warnings: (answer.data?.warnings ?? []).map(({ message }) => message) };
}

/** A document with one red picture, by Pandoc run here. */
async function illustrated(format: string): Promise<string> {
  const path = join(folder, `book.${format}`);
  await run('pandoc', ['--standalone', `--resource-path=${folder}`, join(folder, 'book.md'), `--output=${path}`]);
  return path;
}

/** Whether it is red: the picture may have been encoded again. */
async function expectRed(picture: Buffer, name: string): Promise<void> {
  const path = join(folder, `found-${name}`);
  await writeFile(path, picture);
  const { stdout } = await run('/usr/bin/convert-im6.q16', [path, '-resize', '1x1!', '-depth', '8', 'txt:-']);
  const [, red = 0, green = 0] = (/\((\d+),(\d+),/.exec(stdout) ?? []).map(Number);
  expect([red > 170, green < 60], `${name}: ${stdout}`).toEqual([true, true]);
}

/** The pictures of a result, wherever its format has them. */
async function picturesIn(format: string, result: Buffer): Promise<readonly Buffer[]> {
  if (result.toString('latin1', 0, 2) === 'PK') {
    const parts = await unzip(result);
    return [...parts].filter(([name]) => /\.(?:png|jpe?g)$/i.test(name) && !name.includes('Thumbnails')).map(([, part]) => part);
  }
  const text = result.toString('latin1');
  if (format === 'html')
    return [...text.matchAll(/src="data:image\/png;base64,([^"]+)"/g)].map(([, data = '']) => Buffer.from(data, 'base64'));
  if (format === 'fb2') return [...text.matchAll(/<binary[^>]*>([^<]+)</g)].map(([, data = '']) => Buffer.from(data, 'base64'));
  if (format === 'rtf')
    return [...text.matchAll(/\\pngblip[^{}]*? ([\da-f\s]+)\}/g)].map(([, data = '']) => Buffer.from(data.replaceAll(/\s/g, ''), 'hex'));
  // A Palm database: each picture is a record.
  const offsets = Array.from({ length: result.readUInt16BE(76) }, (_, at) => result.readUInt32BE(78 + 8 * at));
  const records = offsets.map((start, at) => result.subarray(start, offsets[at + 1]));
  return records.filter((record) => /^(?:\xff\xd8\xff|\x89PNG|GIF8)/.test(record.toString('latin1', 0, 4)));
}

describe('a picture inside a document', () => {
  const pairs = ['docx', 'odt', 'epub', 'fb2'].flatMap((source) =>
    ['html', 'docx', 'odt', 'epub', 'fb2', 'rtf', 'pptx'].filter((target) => target !== source).map((target) => [source, target] as const),
  );
  // LibreOffice converts between these, FictionBook becomes no slides, and books none either.
  const skipped = ['docx rtf', 'odt rtf', 'fb2 pptx', 'epub pptx'];
  it.each(pairs.filter((pair) => !skipped.includes(pair.join(' '))))('of %s is in the %s too', async (source, target) => {
    const { result, warnings } = await send(await illustrated(source), target);
    const pictures = await picturesIn(target, result);
    expect(pictures).toHaveLength(1);
    await expectRed(pictures[0] ?? Buffer.alloc(0), `${source}-${target}.png`);
    expect(warnings.join()).not.toMatch(/pictures|Pictures/);
  });

  it.each(['mobi', 'azw3'])('of a DOCX is in the %s that it becomes, and in the DOCX that this becomes', async (target) => {
    const { result } = await send(await illustrated('docx'), target);
    const pictures = await picturesIn(target, result);
    await expectRed(pictures[0] ?? Buffer.alloc(0), `${target}.jpg`);
    const path = join(folder, `made.${target}`);
    await writeFile(path, result);
    const back = await send(path, 'docx');
    const again = await picturesIn('docx', back.result);
    await expectRed(again.at(-1) ?? Buffer.alloc(0), `${target}-back.jpg`);
  });

  it('is told of where it cannot be taken along', async () => {
    const path = join(folder, 'drawn.docx');
    const parts = await unzip(await readFile(await illustrated('docx')));
    const [name = ''] = [...parts.keys()].filter((each) => each.endsWith('.png'));
    await writeZip(path, { ...Object.fromEntries(parts), [name]: emf('kestrel') });
    const { result, warnings } = await send(path, 'html');
    expect(warnings).toContain('Pictures that are missing, or are not PNG, JPEG or GIF, are left out: 1.');
    expect(result.toString()).toContain('what it shows');
  });

  it('is left out, and told of, where all of them are more than a tree should hold', async () => {
    const path = join(folder, 'large.docx');
    await run('/usr/bin/convert-im6.q16', ['-size', '3000x3000', 'xc:', '+noise', 'Random', '-depth', '8', join(folder, 'noise.png')]);
    await writeFile(join(folder, 'large.md'), '# Large\n\n![a](red.png)\n\n![b](noise.png)\n');
    await run('pandoc', [`--resource-path=${folder}`, join(folder, 'large.md'), `--output=${path}`]);
    const { result, warnings } = await send(path, 'html');
    expect(await picturesIn('html', result)).toHaveLength(1);
    expect(warnings).toContain('Pictures beyond 24 MiB in all are left out: 1.');
  });
});

describe('a book', () => {
  const made = async (format: string): Promise<string> => (await documents[format]?.('kestrel', folder)) ?? '';

  it.each([
    ['mobi', 'application/x-mobipocket-ebook'],
    ['azw3', 'application/vnd.amazon.mobi8-ebook'],
  ])('becomes %s with its title and author, and comes back as an EPUB with its words', async (target) => {
    const { result } = await send(await illustrated('epub'), target);
    expect(result.toString('latin1')).toContain('The kestrel');
    expect(result.toString('latin1')).toContain('Ann Other');
    const path = join(folder, `named.${target}`);
    await writeFile(path, result);
    const back = await send(path, 'epub');
    const opf = [...(await unzip(back.result))].find(([name]) => name.endsWith('.opf'))?.[1].toString() ?? '';
    expect(opf).toMatch(/<dc:title>The kestrel<\/dc:title>/);
    expect(opf).toContain('Ann Other');
  });

  it('is known by its content, whatever it is named', async () => {
    const path = join(folder, 'mobi.azw3');
    await writeFile(path, await readFile(await made('mobi')));
    const { result } = await send(path, 'epub');
    const book = join(folder, 'known.epub');
    await writeFile(book, result);
    await judge(book, 'epub', 'kestrel');
  });

  it('that is protected is refused with the reason', async () => {
    const locked = await readFile(await made('mobi'));
    // Encryption 2 of the first record (MobileRead wiki, "MOBI").
    locked.writeUInt16BE(2, locked.readUInt32BE(78) + 12);
    const path = join(folder, 'locked.mobi');
    await writeFile(path, locked);
    const { answer } = await send(path, 'epub');
    expect(answer.error?.details).toMatchObject({ reason: 'unsupported_variant' });
  });

  it('that was cut is called damaged, or comes out as far as it goes', async () => {
    const whole = await readFile(await made('azw3'));
    const path = join(folder, 'cut.azw3');
    await writeFile(path, whole.subarray(0, whole.length / 3));
    const { answer } = await send(path, 'epub');
    expect(answer.error?.details?.['reason']).toBe('corrupt_input');
  });
});
