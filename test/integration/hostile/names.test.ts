/** Names, targets, claims and passwords made to be taken for something else; and files that are not what their names say. */
import { crc32, deflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { END, field, fileHead, rawForm } from '../../kit/api/wire.ts';
import { fileTypeBox, latin1, noise } from '../../kit/catalog/bytes.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { Battlefield, type Case, type Ground, proveHarmless } from './hostile.ts';

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([latin1(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

function png(side = 8): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([side > 8 ? 1 : 8, 0, 0, 0, 0], 8);
  const pixels = Buffer.alloc(side > 8 ? 1_000_000 : (side + 1) * side);
  return Buffer.concat([
    latin1('\x89PNG\r\n\x1a\n'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(pixels)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const PNG = png();
const MARKDOWN = '# kestrel\n\nmarble **meadow** [link](x)\n';
const ground: Ground = { honest: { name: 'honest.png', bytes: PNG, to: 'webp' } };

const NAMES: readonly (readonly [what: string, name: string])[] = [
  ['climbs', '../../../../etc/cron.d/x.png'],
  ['climbs with backslashes', '..\\..\\..\\windows\\x.png'],
  ['is absolute', '/etc/passwd.png'],
  ['is a drive', 'C:\\x.png'],
  ['looks like an option', '-rf.png'],
  ['looks like a long option', '--output=x.jpg'],
  ['points at a file', '@/etc/passwd'],
  ['names a coder', 'msl:/etc/passwd'],
  ['names a protocol', 'http://127.0.0.1/x.png'],
  ['pipes', '|touch /tmp/filemill-was-here.png'],
  ['substitutes', '$(touch /tmp/filemill-was-here)`id`.png'],
  ['has a pattern', '%d%s%n%08x.png'],
  ['is a number of frames', 'x.png[0-999999]'],
  ['globs', '*?[a-z]{a,b}.png'],
  ['quotes', `a"b'c.png`],
  ['ends a header', 'a.png\r\nX-Evil: yes\r\n\r\n<html>'],
  ['holds NUL', 'a.png\0.exe'],
  ['has 300 letters', `${'n'.repeat(300)}.png`],
  ['has 10 000 letters', `${'é'.repeat(10_000)}.png`],
  ['has a long extension', `a.${'p'.repeat(3000)}`],
  ['turns its direction', 'photo\u202egnp.exe\u202c.png'],
  ['is a picture itself', '🦅👩‍👩‍👧‍👦.png'],
  ['is half a letter', 'a\ud800b.png'],
  ['is a device', 'CON.png'],
  ['is a device with more', 'lpt1.tar.png'],
  ['is only dots', '...'],
  ['is a dot', '.'],
  ['is only blanks', '   '],
  ['is only an extension', '.png'],
  ['is percent-encoded', '%2e%2e%2f%2e%2e%2fetc%2fpasswd.png'],
  ['is percent-encoded twice', '%252e%252e%252fx%00.png'],
  ['is encoded as a header', '=?utf-8?B?Li4vLi4veA==?=.png'],
  ['is a prototype', '__proto__'],
  ['is markup', '<img src=x onerror=alert(1)>.png'],
  ['ends in a blank and a dot', 'a.png. . '],
];

/** What every name of a result must be, and its header. */
async function expectPlainName(
  service: string,
  job: { readonly job_id: string; readonly output?: { readonly filename: string } },
): Promise<void> {
  const name = job.output?.filename ?? '';
  expect(name).toMatch(/^[^\p{Cc}\p{Cf}\p{Cs}<>:"|?*/\\]{1,150}-filemill\.webp$/u);
  // One dot is the sender's own; no name leads to another folder.
  expect(name).not.toMatch(/^(\.\.|\.?\s)/);
  expect(name).not.toMatch(/^(con|prn|aux|nul|com\d|lpt\d)(\.|$|-filemill)/i);
  expect(Buffer.byteLength(name)).toBeLessThan(200);
  const response = await fetch(`${service}/api/v1/jobs/${job.job_id}/output`);
  await response.arrayBuffer();
  expect(response.headers.get('x-evil')).toBeNull();
  expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="[\x20-\x7e]*"/);
}

const svg = (attributes: string, inner = ''): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" ${attributes}>${inner}<rect width="9" height="9"/></svg>`;

const DOC_TYPE_BYTES = 240_000;
/** An EBML header whose sizes take three bytes each (RFC 8794, 4). */
const matroska = latin1(`\x1a\x45\xdf\xa3${vint(DOC_TYPE_BYTES + 5)}\x42\x82${vint(DOC_TYPE_BYTES)}${'\0'.repeat(DOC_TYPE_BYTES - 1)}x`);

function vint(size: number): string {
  return String.fromCharCode(0x20 | (size >> 16), (size >> 8) & 0xff, size & 0xff);
}

/** Each of these once held the event loop for a second or more. */
const STALLS: readonly Case[] = [
  { name: 'a name of 70 000 dots and a letter', file: PNG, as: `${'.'.repeat(70_000)}a`, to: 'webp', ends: ['neutral', 'reject'] },
  { name: 'a document type of NULs', file: matroska, as: 'a.mkv', to: 'mp4', ends: 'reject', why: 'UNSUPPORTED_MIME' },
  {
    name: 'a width of 60 000 digits',
    file: svg(`width="${'9'.repeat(60_000)}"`),
    as: 'a.svg',
    to: 'png',
    ends: 'fail',
    why: 'input_limit',
  },
  { name: 'a height of 60 000 blanks', file: svg(`height="${' '.repeat(60_000)}"`), as: 'a.svg', to: 'png', ends: ['neutral', 'fail'] },
  { name: '16 000 comments without an end', file: svg('', '<!--'.repeat(16_000)), as: 'a.svg', to: 'png', ends: 'fail' },
];

describe('a hostile name', () => {
  let battlefield: Battlefield;
  beforeAll(async () => {
    battlefield = await Battlefield.open(ground);
  });
  afterAll(() => battlefield?.close());

  it.each(NAMES)('that %s becomes a plain one', async (_, name) => {
    const answer = await battlefield.send({ file: PNG, as: name, to: 'webp' });
    battlefield.expectProper(answer);
    expect(answer.data?.status).toBe('done');
    if (answer.data !== undefined) await expectPlainName(battlefield.service.url, answer.data);
    await battlefield.expectQuiet();
  });

  it.each(NAMES.filter(([, name]) => !/[\r\n]/.test(name)))(
    'that %s and stands bare in the form becomes a plain one, or is refused',
    async (_, name) => {
      const body = Buffer.concat([
        Buffer.from(field('to_format', 'webp') + fileHead(name.replaceAll('"', '\\"'))),
        PNG,
        latin1(`\r\n${END}`),
      ]);
      const { status, body: said } = await rawForm(battlefield.service.url, body as unknown as string, body.length);
      expect([200, 400]).toContain(status);
      const { data, error } = JSON.parse(Buffer.from(said, 'latin1').toString());
      if (status === 200) await expectPlainName(battlefield.service.url, data);
      else expect(['NO_FILE', 'BAD_REQUEST']).toContain(error.code);
      await battlefield.expectQuiet();
    },
  );

  it('without anything is no file, or a plain one', async () => {
    const answer = await battlefield.send({ file: PNG, as: '', to: 'webp' });
    battlefield.expectProper(answer);
    expect(answer.error?.code ?? answer.data?.status).toMatch(/^(NO_FILE|done)$/);
    await battlefield.expectQuiet();
  });

  it.each(['a.pdf', 'a.docx', 'a.mp4', 'a.svg', 'a'])('such as %s does not change what the same bytes become', async (name) => {
    const hash = async (as: string) => (await battlefield.send({ file: PNG, as, to: 'webp' })).data?.output?.sha256;
    expect(await hash(name)).toBe(await hash('a.png'));
    expect(await hash(name)).toMatch(/^[\da-f]{64}$/);
    const refused = (await battlefield.send({ file: latin1('\x7fELF\x02\x01\x01'), as: name, to: 'pdf' })).error;
    expect(refused?.code).toBe('UNSUPPORTED_MIME');
  });
});

const sent = (name: string, one: Partial<Case> & Pick<Case, 'ends'>): Case => ({ name, file: PNG, as: 'a.png', to: 'webp', ...one });
const refusedFor = (why: string) => ({ ends: 'reject', why }) as const;

const FIELDS: readonly Case[] = [
  ...[
    '../../x',
    '../x',
    'png;id',
    'a;b',
    'p',
    'p'.repeat(6),
    '\u0661\u0662\u0663',
    'ｐｎｇ',
    'p\0g',
    'PNG ',
    ' png',
    'png\n',
    '..png',
    '-o',
    '$(x)',
    '__proto__',
    'x'.repeat(60_000),
    'zzz',
    'exe',
    'toStr',
    '🦅',
  ].map((to) => sent(`the target ${JSON.stringify(to.slice(0, 12))} of ${to.length} letters`, { to, ...refusedFor('INVALID_FORMAT') })),
  sent('the target in capitals', { to: 'WEBP', ends: 'neutral' }),
  sent('the target with a dot', { to: '.webp', ends: 'neutral' }),
  ...['pdf', 'mp4', 'docx', 'exe', '../png', 'x'.repeat(5000), 'png;id', '__proto__', 'constructor', '\0', '🦅'].map((from) =>
    sent(`a source that is said to be ${JSON.stringify(from.slice(0, 12))}`, {
      fields: { from_format: from },
      ...refusedFor('INVALID_OPTION'),
    }),
  ),
  sent('a text that is said to be a book', {
    file: MARKDOWN,
    as: 'a.md',
    to: 'html',
    fields: { from_format: 'epub' },
    ...refusedFor('INVALID_OPTION'),
  }),
  sent('a text that is said to be LaTeX', { file: MARKDOWN, as: 'a.md', to: 'html', fields: { from_format: 'tex' }, ends: 'neutral' }),
  ...['a\nb', 'a\r\nb', 'p'.repeat(10_240), 'a\0b', 'é'.repeat(64)].map((password) =>
    sent(`a password of ${JSON.stringify(password.slice(0, 8))}, ${password.length} letters`, {
      file: pdf([['kestrel']]),
      as: 'a.pdf',
      to: 'txt',
      fields: { password },
      ...refusedFor('INVALID_OPTION'),
    }),
  ),
  ...['--help', '@/etc/passwd', '$(id)', '%s%n', '\u202e'].map((password) =>
    sent(`the password ${JSON.stringify(password)}`, {
      file: pdf([['kestrel']]),
      as: 'a.pdf',
      to: 'txt',
      fields: { password },
      ends: 'neutral',
    }),
  ),
  ...['../../../x/passwd', 'eng+$(id)', 'eng;id', '-l', 'e'.repeat(5000)].map((language) =>
    sent(`the language ${language.slice(0, 20)}`, { to: 'txt', fields: { ocr_lang: language }, ...refusedFor('INVALID_OPTION') }),
  ),
];

const playlist = (url: string, text: string) =>
  `#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n${url}/seg.ts\n#EXTINF:9,\nfile://${text}\n#EXT-X-ENDLIST\n`;
const CLAIMS: readonly Case[] = [
  ...['a.docx', 'a.png', 'a.mp4', 'a.txt', 'a'].flatMap((as) => [
    sent(`a program for Linux named ${as}`, {
      file: Buffer.concat([latin1('\x7fELF\x02\x01\x01'), noise(500, 1)]),
      as,
      to: 'pdf',
      ...refusedFor('UNSUPPORTED_MIME'),
    }),
    sent(`a program for Windows named ${as}`, {
      file: Buffer.concat([latin1('MZ\x90\0\x03\0\0\0'), Buffer.alloc(60), noise(500, 2)]),
      as,
      to: 'pdf',
      ...refusedFor('UNSUPPORTED_MIME'),
    }),
  ]),
  sent('a picture named a PDF', { as: 'a.pdf', to: 'jpg', ends: 'neutral' }),
  sent('a picture named a PDF, to text as PDFs go', { as: 'a.pdf', to: 'md', ends: ['reject', 'fail', 'neutral'] }),
  sent('a PDF named a picture', {
    file: pdf([['kestrel']]),
    as: 'a.png',
    to: 'txt',
    ends: 'neutral',
    judge: (output) => expect(output.toString()).toContain('kestrel'),
  }),
  sent('an empty file', { file: '', ...refusedFor('NO_FILE') }),
  ...['\0', 'x', '<', '{', 'P', '%', '\xff', '\n'].map((byte) =>
    sent(`one byte, ${JSON.stringify(byte)}`, { file: latin1(byte), as: 'a.bin', to: 'pdf', ends: ['neutral', 'fail', 'reject'] }),
  ),
  ...['a.mp4', 'a.avi', 'a.m3u8', 'a.txt'].flatMap((as) => [
    sent(`a playlist named ${as}`, { file: ({ url, text }) => playlist(url, text), as, to: 'mp4', ...refusedFor('UNSUPPORTED_MIME') }),
    sent(`a list to join named ${as}`, {
      file: ({ text, url }) => `ffconcat version 1.0\nfile '${text}'\nfile ${url}/x\n`,
      as,
      to: 'mp3',
      ...refusedFor('UNSUPPORTED_MIME'),
    }),
    sent(`a session description named ${as}`, {
      file: ({ port }) => `v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video ${port} RTP/AVP 96\n`,
      as,
      to: 'mp4',
      ...refusedFor('UNSUPPORTED_MIME'),
    }),
  ]),
  sent('a list to join without its first line, named a film', {
    file: ({ text }) => `file '${text}'\nfile 'x'\n`,
    as: 'a.mp4',
    to: 'mp4',
    ends: 'reject',
  }),
  sent('a film of nothing but its first box', { file: fileTypeBox('isom'), as: 'a.mp4', to: 'mp3', ends: 'fail' }),
  ...['png', 'pdf', 'webp'].map((to) =>
    sent('a drawing that links the list of users', {
      file: '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="90" height="90"><image xlink:href="file:///etc/passwd" href="file:///etc/passwd" width="90" height="90"/><use href="file:///etc/passwd#a"/></svg>',
      as: 'a.svg',
      to,
      ends: ['neutral', 'fail'],
      ocr: to === 'png',
    }),
  ),
  ...['jpg', 'webp', 'pdf', 'bmp'].map((to) =>
    sent('a picture of 50 000 by 50 000', { file: png(50_000), to, ends: 'fail', why: ['input_limit', 'corrupt_input', 'memory'] }),
  ),
];

proveHarmless(ground, {
  'hostile fields': FIELDS,
  'files that would stall a parser': STALLS,
  'files that are not what they are called': CLAIMS,
});
