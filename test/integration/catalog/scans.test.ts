/** What scanners and medical devices write: DjVu and DICOM, in the variants that people have. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { convert, type Service, settled } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
let service: Pick<Service, 'url'>;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-scans-'));
  service = await sharedService();
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});

async function send(name: string, bytes: Buffer, target: string, fields: Record<string, string> = {}) {
  const answer = await settled(service.url, await convert(service.url, { name, bytes }, target, fields));
  const output =
    answer.data?.output === undefined ? Buffer.alloc(0) : Buffer.from(await (await fetch(answer.data.output.url)).arrayBuffer());
  return { answer, output };
}

/** A book of pages in one shade each, black to white. @param texts that were recognised on them */
async function book(texts: readonly (string | undefined)[]): Promise<Buffer> {
  const parts: string[] = [];
  for (const [at, text] of texts.entries()) {
    const part = join(home, `${at}.djvu`);
    await run('/usr/bin/convert-im6.q16', ['-size', '80x100', `xc:gray(${30 + 40 * at}%)`, '-depth', '8', `ppm:${part}.ppm`]);
    await run('c44', [`${part}.ppm`, part]);
    if (text !== undefined) {
      await writeFile(`${part}.txt`, `(page 0 0 80 100 (line 0 0 80 20 ${JSON.stringify(text)}))`);
      await run('djvused', [part, '-e', `select 1; set-txt ${part}.txt; save`]);
    }
    parts.push(part);
  }
  const path = join(home, 'book.djvu');
  await run('djvm', ['-c', path, ...parts]);
  return readFile(path);
}

describe('a DjVu', () => {
  it('becomes a PDF of the chosen pages', async () => {
    const { output } = await send('book.djvu', await book([undefined, undefined]), 'pdf', { pages: '2' });
    await writeFile(join(home, 'book.pdf'), output);
    expect((await run('pdfinfo', [join(home, 'book.pdf')])).stdout).toMatch(/^Pages: +1$/m);
    await run('pdftoppm', ['-r', '30', '-png', '-singlefile', join(home, 'book.pdf'), join(home, 'shade')]);
    const { stdout } = await run('/usr/bin/convert-im6.q16', [join(home, 'shade.png'), '-format', '%[fx:mean]', 'info:']);
    expect(Number(stdout)).toBeCloseTo(0.7, 1);
  });

  it('becomes the text that was recognised, and says where there is none', async () => {
    const { output } = await send('a.djv', await book(['first page', 'second page']), 'txt');
    expect(output.toString()).toMatch(/^first page\s+second page\s*$/);
    const { answer } = await send('b.djvu', await book([undefined]), 'txt');
    expect(answer.error).toMatchObject({
      message: expect.stringContaining('This DjVu contains no recognised text'),
      details: { reason: 'unsupported_variant' },
    });
  });

  it('is refused for pages that it does not have, and where it is damaged', async () => {
    expect((await send('a.djvu', await book([undefined]), 'pdf', { pages: '7' })).answer.error).toMatchObject({
      code: 'INVALID_OPTION',
      details: { option: 'pages' },
    });
    const damaged = await send('a.djvu', Buffer.concat([Buffer.from('AT&TFORM'), Buffer.alloc(100)]), 'pdf');
    expect(damaged.answer.error).toMatchObject({ details: { reason: 'corrupt_input' } });
  });
});

/** An element: group, number, type, value (DICOM PS3.5, 7.1.2). */
function element(group: number, number: number, type: string, value: Buffer | string): Buffer {
  const text = typeof value === 'string' ? Buffer.from(value) : value;
  const bytes = text.length % 2 === 0 ? text : Buffer.concat([text, Buffer.from(type === 'UI' ? '\0' : ' ')]);
  const isLong = ['OB', 'OW'].includes(type);
  const head = Buffer.alloc(isLong ? 12 : 8);
  head.writeUInt16LE(group, 0);
  head.writeUInt16LE(number, 2);
  head.write(type, 4, 'latin1');
  if (isLong) head.writeUInt32LE(bytes.length, 8);
  else head.writeUInt16LE(bytes.length, 6);
  return Buffer.concat([head, bytes]);
}
const uint16 = (...values: readonly number[]): Buffer => Buffer.from(Uint16Array.from(values).buffer);

/** Secondary capture of 12 bits: four columns of one shade each. @param more elements before the picture */
function dicom(shades: readonly number[], frames = 1, ...more: readonly Buffer[]): Buffer {
  const kind = '1.2.840.10008.5.1.4.1.1.7';
  const meta = Buffer.concat([
    element(2, 1, 'OB', Buffer.from([0, 1])),
    element(2, 2, 'UI', kind),
    element(2, 3, 'UI', '1.2.3'),
    element(2, 0x10, 'UI', '1.2.840.10008.1.2.1'),
    element(2, 0x12, 'UI', '1.2.4'),
  ]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(meta.length);
  const picture =
    shades.length === 0
      ? []
      : [
          element(0x28, 2, 'US', uint16(1)),
          element(0x28, 4, 'CS', 'MONOCHROME2'),
          ...(frames === 1 ? [] : [element(0x28, 8, 'IS', String(frames))]),
          element(0x28, 0x10, 'US', uint16(4)),
          element(0x28, 0x11, 'US', uint16(shades.length)),
          element(0x28, 0x100, 'US', uint16(16)),
          element(0x28, 0x101, 'US', uint16(12)),
          element(0x28, 0x102, 'US', uint16(11)),
          element(0x28, 0x103, 'US', uint16(0)),
          ...more,
          element(0x7fe0, 0x10, 'OW', uint16(...Array.from({ length: 4 * frames }, () => shades).flat())),
        ];
  return Buffer.concat([
    Buffer.alloc(128),
    Buffer.from('DICM'),
    element(2, 0, 'UL', length),
    meta,
    element(8, 0x16, 'UI', kind),
    element(8, 0x18, 'UI', '1.2.3'),
    element(0x10, 0x10, 'PN', 'Doe^Jane'),
    ...picture,
  ]);
}
async function shadesOf(png: Buffer): Promise<number[]> {
  const path = join(home, 'shades.png');
  await writeFile(path, png);
  const { stdout } = await run('/usr/bin/convert-im6.q16', [path, '-crop', '4x1+0+0', '-depth', '8', 'gray:-'], { encoding: 'buffer' });
  return [...stdout];
}

describe('a DICOM', () => {
  const window = [element(0x28, 0x1050, 'DS', '1000'), element(0x28, 0x1051, 'DS', '200')];

  it('shows what its own window shows', async () => {
    const { output } = await send('scan.dcm', dicom([0, 900, 1000, 4000], 1, ...window), 'png');
    const [black = 1, low = 1, middle = 0, white = 0] = await shadesOf(output);
    expect([black, white]).toEqual([0, 255]);
    expect(low).toBeLessThan(3);
    expect(Math.abs(middle - 128)).toBeLessThan(3);
    // Nothing of the patient.
    expect(output.includes('Doe')).toBe(false);
  });

  it('shows its darkest as black and its brightest as white, where it has no window', async () => {
    const { output } = await send('scan', dicom([500, 1000, 1500, 1500]), 'png');
    const [black, middle = 0, white] = await shadesOf(output);
    expect([black, white]).toEqual([0, 255]);
    expect(Math.abs(middle - 128)).toBeLessThan(3);
  });

  it('shows the first of several frames, and says so', async () => {
    const { answer, output } = await send('scan.dcm', dicom([0, 100, 200, 300], 3), 'png');
    expect((await shadesOf(output)).length).toBe(4);
    expect(answer.data?.warnings).toContainEqual({ code: 'first_frame', message: 'The file has 3 frames: the result shows the first.' });
  });

  it('is refused where it has no picture', async () => {
    const { answer } = await send('report.dcm', dicom([]), 'png');
    expect(answer.error).toMatchObject({ details: { reason: 'no_stream' }, message: expect.stringContaining('has no picture') });
  });
});
