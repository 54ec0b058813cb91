/** What each PDF tool does, through HTTP, judged by poppler and qpdf: pages, texts, outlines, locks, sizes. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { validateTool } from '../../../src/api/submit/tool.ts';
import { createCatalog } from '../../../src/catalog/catalog.ts';
import { engines } from '../../../src/catalog/engines.gen.ts';
import { tool as mergePdf } from '../../../src/catalog/tools/pdf/merge-pdf.ts';
import { encryptionWith } from '../../../src/jobs/encryption.ts';
import { openJudge } from '../../../src/judge/judge.ts';
import { poolsHere } from '../../../src/roles/machine/here.ts';
import { callTool, outputOf, type Sent } from '../../kit/api/tools.ts';
import { heavyPdf, outlinedPdf, type PagePicture, pdfOfPicture, pdfOfPictures } from '../../kit/fixtures/documents/outlined.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { unzip } from '../../kit/judges/documents/text.ts';
import { type Answer, convert, endProcess, type Service, type ServiceProcess, startProcess } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
type Fields = Readonly<Record<string, string>>;
const MiB = 1 << 20;

let service: Pick<Service, 'url'>;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-tools-'));
  service = await sharedService();
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});

const named = (name: string, bytes: Buffer): Sent => ({ name, bytes });
const call = (slug: string, files: Sent | readonly Sent[], fields: Fields = {}) => callTool(service, slug, files, fields);
const codes = ({ data }: Answer) => data?.warnings.map(({ code }) => code);
const stored = async (bytes: Buffer): Promise<string> => {
  const path = join(await mkdtemp(join(home, 'a-')), 'file.pdf');
  await writeFile(path, bytes);
  return path;
};
const made = async (slug: string, files: Sent | readonly Sent[], fields: Fields = {}) =>
  stored(await outputOf(service, await call(slug, files, fields)));
const exitOf = (program: string, args: readonly string[]): Promise<number> =>
  run(program, args).then(
    () => 0,
    ({ code }: { code: number }) => code,
  );

/** The words of each page. */
async function pagesOf(path: string, password?: string): Promise<string[]> {
  const { stdout } = await run('pdftotext', [...(password === undefined ? [] : ['-upw', password]), path, '-']);
  return stdout
    .split('\f')
    .slice(0, -1)
    .map((page) => page.trim());
}

interface Line {
  readonly title: string;
  readonly destpageposfrom1: number | null;
  readonly open: boolean;
  readonly kids: readonly Line[];
}

async function outlineOf(path: string): Promise<unknown[]> {
  const { stdout } = await run('qpdf', ['--json=2', '--json-key=outlines', path]);
  const shown = ({ title, destpageposfrom1: page, kids }: Line): unknown[] => [title, page, ...kids.map(shown)];
  return (JSON.parse(stdout) as { outlines: Line[] }).outlines.map(shown);
}

/** Where the links of each page lead: page number, name or address. */
async function linksOf(path: string): Promise<unknown[][]> {
  type Note = Readonly<Record<'/Dest' | '/A', string | readonly string[] | Readonly<Record<string, string | readonly string[]>>>>;
  const { stdout } = await run('qpdf', ['--json=2', '--json-key=pages', '--json-key=qpdf', path], { maxBuffer: MiB << 4 });
  const { pages, qpdf } = JSON.parse(stdout) as {
    pages: { object: string }[];
    qpdf: [unknown, Record<string, { value: Record<'/Annots', (string | Note)[] | undefined> & Note }>];
  };
  const order = pages.map(({ object }) => object);
  return order.map((page) =>
    (qpdf[1][`obj:${page}`]?.value['/Annots'] ?? []).map((item) => {
      const note = typeof item === 'string' ? qpdf[1][`obj:${item}`]?.value : item;
      const action = note?.['/A'] as Record<string, string | readonly string[]> | undefined;
      const leads = note?.['/Dest'] ?? action?.['/D'] ?? action?.['/URI'];
      return Array.isArray(leads) ? order.indexOf(leads[0]) + 1 : String(leads).replace('u:', '');
    }),
  );
}

async function locked(password: string, owner = password, bits: readonly string[] = ['256']): Promise<string> {
  const path = join(await mkdtemp(join(home, 'locked-')), 'locked.pdf');
  const args = ['--allow-weak-crypto', '--encrypt', password, owner, ...bits, '--', await stored(outlinedPdf('secret')), path];
  await run('qpdf', args);
  return path;
}

describe('merge-pdf', () => {
  it('joins the pages in the order sent, with every outline pointing at its page’s new place', async () => {
    const files = [outlinedPdf('alpha'), pdf([['plain']]), outlinedPdf('beta', 4)].map((bytes, index) => named(`${9 - index}.pdf`, bytes));
    const answer = await call('merge-pdf', files);
    expect([codes(answer), answer.data?.output?.filename, answer.data?.output?.files]).toEqual([[], '9-filemill.pdf', 1]);
    const path = await stored(await outputOf(service, answer));
    expect(await pagesOf(path)).toEqual(['alpha 1', 'alpha 2', 'alpha 3', 'plain', 'beta 1', 'beta 2', 'beta 3', 'beta 4']);
    expect(await outlineOf(path)).toEqual([
      ['alpha one', 1, ['alpha below', 3]],
      ['Ж', 2],
      ['alpha web', null],
      ['beta one', 5, ['beta below', 7]],
      ['Ж', 6],
      ['beta web', null],
    ]);
    expect(await exitOf('qpdf', ['--check', path])).toBe(0);
    const raw = (await run('qpdf', ['--qdf', '--object-streams=disable', path, '-'], { encoding: 'latin1' })).stdout;
    for (const kept of ['(https://example.org/beta)', '/F 2\n', '/Count -1', '/XYZ\n    10\n    200']) expect(raw).toContain(kept);
  });

  it('keeps the links of every file inside that file', async () => {
    const files = ['alpha', 'beta'].map((word) => named(`${word}.pdf`, outlinedPdf(word)));
    const path = await made('merge-pdf', [...files, named('gamma.pdf', outlinedPdf('gamma', 4))]);
    const inside = [['second', 3, 'https://example.org/'], [1], []];
    const moved = (by: number) => [[2 + by, 3 + by, 'https://example.org/'], [1 + by], []];
    // The first file's own names stay.
    expect(await linksOf(path)).toEqual([...inside, ...moved(3), ...moved(6), []]);
  });

  it('has no outline where no file has one, and takes a file twice', async () => {
    const file = named('one.pdf', pdf([['one'], ['two']]));
    const path = await made('merge-pdf', [file, file]);
    expect([await pagesOf(path), await outlineOf(path)]).toEqual([['one', 'two', 'one', 'two'], []]);
  });

  it('leaves the contents of pages as they are, to the byte', async () => {
    const jpeg = await noise(200, 90);
    const path = await made('merge-pdf', [named('a.pdf', pdf([['a']])), named('b.pdf', pdfOfPicture(jpeg, 200))]);
    const folder = await mkdtemp(join(home, 'images-'));
    await run('pdfimages', ['-j', path, join(folder, 'image')]);
    expect((await readFile(join(folder, 'image-000.jpg'))).equals(jpeg)).toBe(true);
  });

  it('has the pages that are named, counted through all files, in their order, and nothing that leads to others', async () => {
    const files = ['alpha', 'beta'].map((word) => named(`${word}.pdf`, outlinedPdf(word, 4)));
    const path = await made('merge-pdf', files, { pages: '6,2,5,8,1' });
    expect(await pagesOf(path)).toEqual(['beta 2', 'alpha 2', 'beta 1', 'beta 4', 'alpha 1']);
    expect(await exitOf('qpdf', ['--check', path])).toBe(0);
    expect(await outlineOf(path)).toEqual([
      ['alpha one', 5],
      ['Ж', 2],
      ['alpha web', null],
      ['beta one', 3],
      ['Ж', 1],
      ['beta web', null],
    ]);
    const [beyond, none] = [await call('merge-pdf', files, { pages: '1,9' }), await call('merge-pdf', files, { pages: '9' })];
    expect([codes(beyond), none.error?.details['reason'] ?? none.error?.code]).toEqual([['pages_beyond_end'], 'INVALID_OPTION']);
  });

  it('takes 2 to 20 files', async () => {
    const file = named('a.pdf', pdf([['a']]));
    expect(
      await pagesOf(
        await made(
          'merge-pdf',
          Array.from({ length: 20 }, () => file),
        ),
      ),
    ).toHaveLength(20);
    expect((await call('merge-pdf', [file])).error?.code).toBe('BAD_REQUEST');
    const { status, error } = await call(
      'merge-pdf',
      Array.from({ length: 21 }, () => file),
    );
    expect([status, error?.code, error?.details['max_files'], error?.details['received_files']]).toEqual([400, 'BATCH_TOO_LARGE', 20, 21]);
  });

  it('takes 400 MiB together, and not a byte more', async () => {
    const sample = { head: pdf([['a']]), tail: pdf([['a']]), size: 1 };
    const catalog = createCatalog(engines.map((engine) => ({ engine, version: '1' })));
    const judge = openJudge({ engines: false });
    const deps = {
      jobs: { encryption: encryptionWith(['key'], 'salt'), clock: () => 0 },
      files: { judge },
      catalogue: { current: catalog, pools: poolsHere(() => catalog, { pdf: 1 }, 0)() },
    };
    const ofSizes = (...sizes: number[]) =>
      validateTool(deps, 'id', mergePdf, {
        fields: new Map(),
        files: sizes.map((sizeBytes, part) => ({ part, sizeBytes, sha256: '', filename: 'a.pdf', sample })),
      });
    expect((await ofSizes(200 * MiB, 199 * MiB, MiB)).sources).toHaveLength(3);
    await expect(ofSizes(200 * MiB, 199 * MiB, MiB, 1)).rejects.toThrow(
      expect.objectContaining({ code: 'FILE_TOO_LARGE', details: { max_bytes: 400 * MiB, received_bytes: 400 * MiB + 1 } }),
    );
    await judge.close();
  });

  it('asks for no password: a locked file among them is refused, one that only forbids changes is not', async () => {
    const open = named('a.pdf', pdf([['a']]));
    for (const files of [
      [open, await locked('x')],
      [await locked('x'), open],
    ])
      expect((await call('merge-pdf', files)).error?.details['reason']).toBe('password_required');
    const path = await made('merge-pdf', [await locked('', 'boss'), open]);
    expect([await pagesOf(path), await exitOf('qpdf', ['--is-encrypted', path])]).toEqual([['secret 1', 'secret 2', 'secret 3', 'a'], 2]);
  });
});

describe('split-pdf', () => {
  it('gives a ZIP of one PDF each, in order', async () => {
    const words = Array.from({ length: 11 }, (_, index) => `leaf ${index + 1}`);
    const answer = await call('split-pdf', named('book.pdf', pdf(words.map((word) => [word]))));
    const { filename, files, content_type: type } = answer.data?.output ?? {};
    expect([filename, files, type, codes(answer)]).toEqual(['book-filemill.zip', 11, 'application/zip', []]);
    const parts = await unzip(await outputOf(service, answer));
    expect([...parts.keys()]).toEqual(words.map((_, index) => `book-${String(index + 1).padStart(3, '0')}.pdf`));
    const texts: string[][] = [];
    for (const bytes of parts.values()) texts.push(await pagesOf(await stored(bytes)));
    expect(texts).toEqual(words.map((word) => [word]));
  });

  it('leaves no link to another page', async () => {
    const parts = await unzip(await outputOf(service, await call('split-pdf', named('leaf.pdf', outlinedPdf('leaf')))));
    const paths = await Promise.all([...parts.values()].map(stored));
    expect(await Promise.all(paths.map(linksOf))).toEqual([[['https://example.org/']], [[]], [[]]]);
  });

  it('gives a ZIP of a single page too', async () => {
    const answer = await call('split-pdf', named('note.pdf', pdf([['alone']])));
    const parts = await unzip(await outputOf(service, answer));
    expect([[...parts.keys()], answer.data?.output?.filename]).toEqual([['note-001.pdf'], 'note-filemill.zip']);
  });
});

describe('organize-pdf', () => {
  const nine = outlinedPdf('leaf', 9);
  const inOrder = (...pages: number[]) => pages.map((page) => `leaf ${page}`);

  it('has the pages in the order named, each once, and no others', async () => {
    const path = await made('organize-pdf', named('nine.pdf', nine), { pages: '9,2-4,3,1' });
    expect(await pagesOf(path)).toEqual(inOrder(9, 2, 3, 4, 1));
    expect(await exitOf('qpdf', ['--check', path])).toBe(0);
    const raw = (await run('qpdf', ['--qdf', '--object-streams=disable', path, '-'], { encoding: 'latin1' })).stdout;
    expect([raw.includes('(leaf 4)'), raw.includes('(leaf 7)')]).toEqual([true, false]);
  });
  it('leads from the outline to the pages where they are now', async () => {
    const outline = await outlineOf(await made('organize-pdf', named('nine.pdf', nine), { pages: '2,1,3-9' }));
    expect(outline).toEqual([
      ['leaf one', 2, ['leaf below', 3]],
      ['Ж', 1],
      ['leaf web', null],
    ]);
  });
  it('opens a locked file', async () => {
    expect(await pagesOf(await made('organize-pdf', await locked('key'), { pages: '2,1', password: 'key' }))).toEqual([
      'secret 2',
      'secret 1',
    ]);
  });
  it.each(['0', '3-1', 'x', '', '1,'.repeat(4_001)])('refuses the pages "%s"', async (pages) => {
    const { status, error } = await call('organize-pdf', named('nine.pdf', nine), { pages });
    expect([status, error?.code, error?.details['option']]).toEqual([400, 'INVALID_OPTION', 'pages']);
  });
});

describe('pdf-page-remover', () => {
  const nine = outlinedPdf('leaf', 9);
  const left = (...pages: number[]) => pages.map((page) => `leaf ${page}`);

  it('removes pages, ranges of them, and what they said', async () => {
    const path = await made('pdf-page-remover', named('nine.pdf', nine), { pages: '1,3,5-8' });
    expect(await pagesOf(path)).toEqual(left(2, 4, 9));
    const raw = (await run('qpdf', ['--qdf', '--object-streams=disable', path, '-'], { encoding: 'latin1' })).stdout;
    expect([raw.includes('(leaf 4)'), raw.includes('(leaf 3)')]).toEqual([true, false]);
    expect(await exitOf('qpdf', ['--check', path])).toBe(0);
  });

  it('keeps the outline, in which pages have moved', async () => {
    const outline = await outlineOf(await made('pdf-page-remover', named('nine.pdf', nine), { pages: '4' }));
    expect(outline).toEqual([
      ['leaf one', 1, ['leaf below', 3]],
      ['Ж', 2],
      ['leaf web', null],
    ]);
  });

  it.each([
    [
      '1',
      [
        ['leaf one', 2, ['leaf below', 2]],
        ['Ж', 1],
        ['leaf web', null],
      ],
      [[], []],
    ],
    [
      '2',
      [
        ['leaf one', 1, ['leaf below', 2]],
        ['leaf web', null],
      ],
      [[2, 'https://example.org/'], []],
    ],
    [
      '1,3',
      [
        ['Ж', 1],
        ['leaf web', null],
      ],
      [[], []],
    ],
  ] as const)('leaves no entry and no link that leads to page %s', async (pages, outline, links) => {
    const path = await made('pdf-page-remover', named('nine.pdf', nine), { pages });
    expect(await outlineOf(path)).toEqual(outline);
    expect((await linksOf(path)).slice(0, 2)).toEqual(links);
    expect(await exitOf('qpdf', ['--check', path])).toBe(0);
    const raw = (await run('qpdf', ['--qdf', '--object-streams=disable', path, '-'], { encoding: 'latin1' })).stdout;
    // Names of destinations, one of which was on page 2.
    expect([raw.includes('(second)'), /\[\s*null/.test(raw)]).toEqual([pages !== '2', false]);
  });

  it('opens a locked file, and leaves nothing in it that leads nowhere', async () => {
    const path = await made('pdf-page-remover', await locked('key'), { pages: '1', password: 'key' });
    expect(await outlineOf(path)).toEqual([
      ['secret one', 2, ['secret below', 2]],
      ['Ж', 1],
      ['secret web', null],
    ]);
  });

  it('takes pages in any order and twice, and all but one', async () => {
    for (const [pages, kept] of [
      ['9, 2-3,3', left(1, 4, 5, 6, 7, 8)],
      ['2-9', left(1)],
    ] as const)
      expect(await pagesOf(await made('pdf-page-remover', named('nine.pdf', nine), { pages }))).toEqual(kept);
  });

  it('refuses what is no list of pages before the file is looked at', async () => {
    const tooLong = Array.from({ length: 126 }, () => '100').join(',');
    for (const pages of [undefined, '', 'all', 'ALL', '0', '3-2', '-1', 'x', '1;2', '2001', tooLong]) {
      const { status, error } = await call('pdf-page-remover', named('nine.pdf', nine), pages === undefined ? {} : { pages });
      const received = pages ? pages.slice(0, 100) : null;
      expect([status, error?.code, error?.details['option'], error?.details['received']], pages).toEqual([
        400,
        'INVALID_OPTION',
        'pages',
        received,
      ]);
      expect(error?.details['allowed']).toContain('1,3,5-8');
    }
  });

  it('refuses pages that the file lacks, and to leave none', async () => {
    for (const [pages, allowed, says] of [
      ['9-10', 'pages from 1 to 9', 'The file has 9 pages; pages names page 10.'],
      ['1-9', 'at most 8 of 9 pages', 'The file has 9 pages; pages names all of them, and at least one must remain.'],
    ] as const) {
      const { status, error } = await call('pdf-page-remover', named('nine.pdf', nine), { pages });
      expect([status, error?.code, error?.message]).toEqual([400, 'INVALID_OPTION', says]);
      expect(error?.details).toMatchObject({ option: 'pages', received: pages, allowed });
    }
  });
});

describe('protect-pdf and unlock-pdf', () => {
  /** @returns what the file that opens with this password is encrypted with */
  async function encryptionOf(path: string, password: string): Promise<string> {
    const file = join(await mkdtemp(join(home, 'pw-')), 'password');
    await writeFile(file, password);
    return (await run('qpdf', [`--password-file=${file}`, '--show-encryption', path])).stdout;
  }

  it.each(['tea for two', ' spaced ', 'пароль €', '--help', '@file', '"\\n', 'x', 'x'.repeat(127), 'é'.repeat(63)])(
    'locks with AES-256, and unlocks again: %j',
    async (password) => {
      const path = await made('protect-pdf', named('open.pdf', outlinedPdf('alpha')), { password });
      expect(await exitOf('qpdf', ['--requires-password', path])).toBe(0);
      expect(await exitOf('pdfinfo', [path])).toBe(1);
      const how = await encryptionOf(path, password);
      expect(how).toContain('R = 6');
      for (const what of ['stream', 'string', 'file']) expect(how).toContain(`${what} encryption method: AESv3`);
      expect(how).toContain('Supplied password is user password');
      if (password.startsWith('tea')) expect(await pagesOf(path, password)).toEqual(['alpha 1', 'alpha 2', 'alpha 3']);
      expect((await call('unlock-pdf', path, { password: `${password.slice(1)}?` })).error?.details['reason']).toBe('wrong_password');
      const answer = await call('unlock-pdf', path, { password });
      const opened = await stored(await outputOf(service, answer));
      expect([await exitOf('qpdf', ['--is-encrypted', opened]), codes(answer)]).toEqual([2, []]);
      expect([await pagesOf(opened), (await outlineOf(opened)).length]).toEqual([['alpha 1', 'alpha 2', 'alpha 3'], 3]);
    },
  );

  it('unlock what others locked, with the user’s or the owner’s password, and files that only forbid changes', async () => {
    for (const [file, password] of [
      [await locked('user', 'boss'), 'user'],
      [await locked('user', 'boss'), 'boss'],
      [await locked('user', 'boss', ['128', '--use-aes=n']), 'user'],
      [await locked('user', 'boss', ['40']), 'user'],
      [await locked('', 'boss'), 'boss'],
    ] as const) {
      const path = await made('unlock-pdf', file, { password });
      expect([await exitOf('qpdf', ['--is-encrypted', path]), (await pagesOf(path)).length]).toEqual([2, 3]);
    }
  });

  it('give back the same bytes of a file that is not locked, and say so', async () => {
    const bytes = pdf([['open']]);
    const answer = await call('unlock-pdf', named('open.pdf', bytes), { password: 'needless' });
    expect([(await outputOf(service, answer)).equals(bytes), codes(answer)]).toEqual([true, ['not_locked']]);
  });

  it('do not lock what is locked already', async () => {
    for (const password of ['user', 'new'])
      expect((await call('protect-pdf', await locked('user', 'boss'), { password })).error?.details['reason']).toBe('password_required');
    const path = await made('protect-pdf', await locked('', 'boss'), { password: 'new' });
    expect(await encryptionOf(path, 'new')).toContain('Supplied password is owner password');
  });

  it.each(['protect-pdf', 'unlock-pdf'])('take 1 to 127 bytes in one line, and never repeat them: %s', async (slug) => {
    for (const password of [undefined, '', 'secret'.repeat(22), `${'é'.repeat(63)}ab`, 'secret\nsecret', 'secret\0']) {
      const { status, error } = await call(slug, named('a.pdf', pdf([['a']])), password === undefined ? {} : { password });
      const received = password ? '(hidden)' : null;
      expect([status, error?.code, error?.details['option'], error?.details['received']]).toEqual([
        400,
        'INVALID_OPTION',
        'password',
        received,
      ]);
      expect(error?.details['allowed']).toContain('1 to 127 bytes');
      expect(JSON.stringify(error)).not.toMatch(/secret|éé/);
    }
  });
});

describe('a PDF with encryption', () => {
  /** Every kind that PDF has: LibreOffice 7.4 loads the first two alone. */
  const KINDS = { 'RC4, 40 bit': ['40'], 'RC4, 128 bit': ['128', '--use-aes=n'], 'AES-128': ['128', '--use-aes=y'], 'AES-256': ['256'] };
  const words = async (bytes: Buffer, part: string) => ((await unzip(bytes)).get(part)?.toString() ?? '').replace(/<[^>]*>/g, '');

  it.each(Object.entries(KINDS))('of %s becomes a text document, with its password or where it needs none', async (_, bits) => {
    for (const [password, file] of [
      ['user', await locked('user', 'boss', bits)],
      [undefined, await locked('', 'boss', bits)],
    ] as const)
      for (const [target, part] of [
        ['docx', 'word/document.xml'],
        ['odt', 'content.xml'],
      ] as const) {
        const answer = await convert(service.url, file, target, password === undefined ? {} : { password });
        expect(await words(await outputOf(service, answer), part), `${target} ${password}`).toContain('secret 3');
      }
  });

  it('is opened by the tools that read one PDF, given its password', async () => {
    const file = await locked('user', 'boss');
    const opens = { password: 'user' };
    expect([...(await unzip(await outputOf(service, await call('split-pdf', file, opens)))).keys()]).toHaveLength(3);
    expect(await pagesOf(await made('pdf-page-remover', file, { ...opens, pages: '2' }))).toEqual(['secret 1', 'secret 3']);
    const text = await call('image-to-text', file, opens);
    expect(text.data).toMatchObject({ pages: 3, text: expect.stringContaining('secret 2') });
    const heavy = await stored(pdfOfPicture(await photo(1200), 1200));
    const lockedHeavy = `${heavy}.locked.pdf`;
    await run('qpdf', ['--encrypt', 'user', 'boss', '256', '--', heavy, lockedHeavy]);
    const smaller = await outputOf(service, await call('compress-pdf', lockedHeavy, { ...opens, quality: '10' }));
    expect(smaller.length).toBeLessThan((await readFile(lockedHeavy)).length / 2);
    expect(await exitOf('pdftotext', [await stored(smaller), '-'])).toBe(0);
    for (const slug of ['split-pdf', 'compress-pdf', 'image-to-text']) {
      const { status, error } = await call(slug, file);
      expect([status, error?.details['reason']], slug).toEqual([500, 'password_required']);
      expect(error?.message).toMatch(/in the field "password".* unlock-pdf/);
      expect((await call(slug, file, { password: 'guess' })).error?.details['reason'], slug).toBe('wrong_password');
    }
  });

  it('is to be unlocked first where the field is for something else, or there is none', async () => {
    const file = await locked('user', 'boss');
    for (const answer of [await call('protect-pdf', file, { password: 'new' }), await call('merge-pdf', [file, file])]) {
      expect(answer.error?.details['reason']).toBe('password_required');
      expect(answer.error?.message).toBe('The file is encrypted: remove its password first, with unlock-pdf.');
    }
  });

  it('keeps what forbids changes where it is only rewritten', async () => {
    const { stdout } = await run('qpdf', [
      '--show-encryption',
      await stored(await outputOf(service, await convert(service.url, await locked('', 'boss'), 'pdf', { pages: '1' }))),
    ]);
    expect(stdout).toContain('R = 6');
  });
});

describe('a password', () => {
  const password = `pw-${randomBytes(12).toString('hex')}`;
  let running: ServiceProcess;
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await mkdtemp('/var/tmp/filemill-test-');
    running = await startProcess(dataDir, {}, { LOG_LEVEL: 'trace' });
  });
  afterAll(async () => {
    await endProcess(running);
    await rm(dataDir, { recursive: true, force: true });
  });

  it('stands on no command line, in no log, and in no file that stays', async () => {
    const seen = new Set<string>();
    let watching = true;
    const watch = (async () => {
      while (watching) {
        for (const line of commandLines()) seen.add(line);
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const answer = await callTool(running, 'protect-pdf', named('a.pdf', heavyPdf(randomBytes(8 * MiB))), { password });
    const wrong = await callTool(running, 'unlock-pdf', named('a.pdf', await outputOf(running, answer)), { password: `${password}x` });
    const right = await callTool(running, 'unlock-pdf', named('a.pdf', await outputOf(running, answer)), { password });
    watching = false;
    await watch;
    expect([answer.data?.status, right.data?.status, wrong.error?.details['reason']]).toEqual(['done', 'done', 'wrong_password']);
    // The watch would have seen it: both programs that know it were there.
    expect([...seen].some((line) => line.includes('--job-json-file='))).toBe(true);
    expect([...seen].some((line) => line.includes('--decrypt'))).toBe(true);
    expect([...seen].filter((line) => line.includes(password))).toEqual([]);
    expect(running.lines.filter((line) => line.includes(answer.data?.job_id ?? '?')).length).toBeGreaterThan(0);
    expect(running.lines.filter((line) => line.includes(password))).toEqual([]);
    const files = (await readdir(dataDir, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    expect(files.length).toBeGreaterThan(1);
    for (const { parentPath, name } of files) expect((await readFile(join(parentPath, name))).includes(password), name).toBe(false);
  });
});

/** The command line of every process that runs now. */
function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ')];
      } catch {
        return [];
      }
    });
}

describe('compress-pdf', () => {
  /** px per inch of the only picture. */
  async function resolutionOf(path: string): Promise<number> {
    const { stdout } = await run('pdfimages', ['-list', path]);
    return Number(stdout.split('\n')[2]?.trim().split(/\s+/)[12]);
  }

  it('has four presets by quality, the second unless told otherwise', async () => {
    const source = named('photo.pdf', pdfOfPicture(await photo(1200), 1200));
    const found = new Map<string, { size: number; dpi: number }>();
    for (const quality of ['', '0', '25', '26', '50', '51', '75', '76', '100']) {
      const bytes = await outputOf(service, await call('compress-pdf', source, quality === '' ? {} : { quality }));
      found.set(quality, { size: bytes.length, dpi: await resolutionOf(await stored(bytes)) });
    }
    const dpi = (quality: string) => found.get(quality)?.dpi;
    const size = (quality: string) => Math.round((found.get(quality)?.size ?? 0) / 2000);
    expect(['0', '25', '26', '50', '', '51', '75', '76', '100'].map(dpi)).toEqual([72, 72, 150, 150, 150, 300, 300, 300, 300]);
    expect([size('0'), size('26'), size(''), size('51'), size('76')]).toEqual(['25', '50', '50', '75', '100'].map(size));
    const falling = ['100', '75', '50', '25'].map((quality) => found.get(quality)?.size ?? 0);
    expect([...falling].sort((a, b) => b - a)).toEqual(falling);
    expect(new Set(falling).size).toBe(4);
    expect(falling[0]).toBeLessThan((source as { bytes: Uint8Array }).bytes.length);
  });

  it.each(['scan', 'photo', 'drawing', 'plain drawing', 'mixed'] as const)(
    'a better preset never gives a smaller file: %s',
    async (kind) => {
      const bytes = pdfOfPictures(await picturesOf(kind));
      const sizes: number[] = [];
      for (const quality of ['25', '50', '75', '100']) {
        const made = await outputOf(service, await call('compress-pdf', named('a.pdf', bytes), { quality }));
        expect(await exitOf('qpdf', ['--check', await stored(made)])).toBe(0);
        sizes.push(made.length);
      }
      expect(sizes.toSorted((a, b) => a - b)).toEqual(sizes);
      // The two coarse ones are worth their loss where there are pictures; no JPEG is, of a drawing with few colours.
      if (kind !== 'plain drawing') expect(2 * (sizes[1] ?? 0)).toBeLessThan(bytes.length);
      expect(sizes.at(-1)).toBeLessThanOrEqual(bytes.length);
    },
  );

  it('takes img_quality for quality, as the other tools call it', async () => {
    const source = named('photo.pdf', pdfOfPicture(await photo(600), 600));
    const [one, other] = [await call('compress-pdf', source, { quality: '10' }), await call('compress-pdf', source, { img_quality: '10' })];
    const pictures = async (answer: Answer) => (await run('pdfimages', ['-list', await stored(await outputOf(service, answer))])).stdout;
    expect([await pictures(other), codes(other)]).toEqual([await pictures(one), codes(one)]);
    const { status, error } = await call('compress-pdf', source, { quality: '10', img_quality: '90' });
    expect([status, error?.code, error?.details['option']]).toEqual([400, 'INVALID_OPTION', 'img_quality']);
    const out = await call('compress-pdf', source, { img_quality: '101' });
    expect([out.status, out.error?.details['received']]).toEqual([400, '101']);
  });

  it('never makes a file larger: what is small already comes back as it was', async () => {
    const bytes = pdf([['tiny']]);
    const answer = await call('compress-pdf', named('tiny.pdf', bytes));
    // Nothing is lost that a warning could name.
    expect([(await outputOf(service, answer)).equals(bytes), codes(answer)]).toEqual([true, ['not_smaller']]);
  });

  it('refuses a quality out of bounds', async () => {
    for (const quality of ['-1', '101', '50.5', 'screen']) {
      const { status, error } = await call('compress-pdf', named('a.pdf', pdf([['a']])), { quality });
      expect([status, error?.code, error?.details['option'], error?.details['received']]).toEqual([
        400,
        'INVALID_OPTION',
        'quality',
        quality,
      ]);
      expect(error?.details['allowed']).toContain('0 to 100');
    }
  });
});

const [WIDE, HIGH] = [620, 876];

async function picturesOf(kind: 'scan' | 'photo' | 'drawing' | 'plain drawing' | 'mixed'): Promise<readonly PagePicture[]> {
  const each = async (of: typeof kind) => (await picturesOf(of))[0] ?? expect.fail();
  const shapes = (count: number) =>
    Array.from({ length: count }, (_, at) => {
      const colour = ['#3060c0', '#c03030', '#30a050', '#f0c020'][at % 4];
      return `<circle cx="${(at * 377) % WIDE}" cy="${(at * 541) % HIGH}" r="${10 + at * 2}" fill="${colour}"/><path d="M${(at * 911) % WIDE} 0 L${(at * 613) % WIDE} ${HIGH}" stroke="black"/>`;
    }).join('');
  const drawn = (inside: string) =>
    sharp(
      Buffer.from(
        `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDE}" height="${HIGH}"><rect width="100%" height="100%" fill="white"/>${inside}</svg>`,
      ),
    )
      .removeAlpha()
      .raw()
      .toBuffer();
  const sides = { width: WIDE, height: HIGH };
  switch (kind) {
    case 'scan': {
      const words = Array.from(
        { length: 40 },
        (_, line) => `<text x="40" y="${50 + line * 20}" font-size="13">kestrel marble lantern orchard ${line}</text>`,
      );
      const page = await drawn(words.join(''));
      const grain = randomBytes(page.length);
      const scanned = page.map((value, at) => Math.max(0, Math.min(255, value - 12 + ((grain[at] ?? 0) % 24))));
      return [
        {
          ...sides,
          jpeg: await sharp(scanned, { raw: { ...sides, channels: 3 } })
            .blur(0.7)
            .jpeg({ quality: 92 })
            .toBuffer(),
        },
      ];
    }
    case 'photo':
      return [{ width: 600, height: 600, jpeg: await photo(600) }];
    case 'drawing':
      return [{ ...sides, rgb: await drawn(shapes(40)) }];
    case 'plain drawing':
      return [{ ...sides, rgb: await drawn('<rect x="100" y="100" width="300" height="200" fill="#3060c0"/>') }];
    case 'mixed':
      return [await each('scan'), await each('photo'), await each('drawing')];
  }
}

/** Soft spots of colour: a grain of single pixels, as no camera sees, is the one thing that a better preset makes smaller. */
async function photo(side: number): Promise<Buffer> {
  const spots = side / 4;
  const raw = sharp(randomBytes(spots * spots * 3), { raw: { width: spots, height: spots, channels: 3 } });
  return raw.resize(side, side, { kernel: 'cubic' }).jpeg({ quality: 97 }).toBuffer();
}

/** A JPEG in which no two pixels are alike. */
async function noise(side: number, quality: number): Promise<Buffer> {
  return sharp(randomBytes(side * side * 3), { raw: { width: side, height: side, channels: 3 } })
    .jpeg({ quality })
    .toBuffer();
}

describe.each([
  ['merge-pdf', {}],
  ['split-pdf', {}],
  ['organize-pdf', { pages: '3,1' }],
  ['pdf-page-remover', { pages: '1' }],
  ['protect-pdf', { password: 'x' }],
  ['unlock-pdf', { password: 'x' }],
  ['compress-pdf', {}],
] as const)('%s', (slug, fields) => {
  const several = slug === 'merge-pdf';
  const send = (bytes: Buffer, name = 'a.pdf') => {
    const file = named(name, bytes);
    return call(slug, several ? [named('good.pdf', pdf([['good']])), file] : file, fields);
  };

  it('takes PDF alone, whatever the file is called', async () => {
    const png = await sharp({ create: { width: 9, height: 9, channels: 3, background: '#123456' } })
      .png()
      .toBuffer();
    const { status, error } = await send(png);
    expect([status, error?.code, error?.details['detected'], error?.details['accepted']]).toEqual([
      415,
      'UNSUPPORTED_MIME',
      'image/png',
      ['pdf'],
    ]);
  });

  it('says of a damaged file that it is', async () => {
    const { status, error } = await send(Buffer.concat([pdf([['a'], ['b']]).subarray(0, 60), Buffer.from('\n%%EOF\n')]));
    expect([status, error?.code, error?.details['reason']]).toEqual([500, 'CONVERSION_FAILED', 'corrupt_input']);
  });

  it('refuses a request without a file, and with an empty one', async () => {
    expect((await call(slug, [], fields)).error?.code).toBe('NO_FILE');
    expect((await send(Buffer.alloc(0))).error?.code).toBe('NO_FILE');
  });

  it.skipIf(several)('refuses two files', async () => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    for (const name of ['a.pdf', 'b.pdf']) form.append('file', new Blob([new Uint8Array(pdf([['a']]))]), name);
    const { status } = await fetch(`${service.url}/api/v1/tools/${slug}`, { method: 'POST', body: form });
    expect(status).toBe(400);
  });
});
