/** Files are what their bytes say: real files of every format under wrong names, and files that want to be taken for others. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formats } from '../../../src/catalog/formats.ts';
import { detect, matches, resolveSource } from '../../../src/catalog/sniff/sniff.ts';
import { Failure } from '../../../src/errors.ts';
import { compoundOf, cursor, fileTypeBox, latin1, noise, sampleOf, seeded, zipOf } from '../../kit/catalog/bytes.ts';
import { contentOf } from '../../kit/catalog/content.ts';
import { archiveFormats, filesOf, writeArchive } from '../../kit/fixtures/archives.ts';
import { arrow, avroFile, parquet } from '../../kit/fixtures/data/columns.ts';
import { fixtures as pim } from '../../kit/fixtures/data/pim.ts';
import { fixtures as documents } from '../../kit/fixtures/documents/documents.ts';
import { fixtures as mails } from '../../kit/fixtures/documents/mail.ts';
import { markups } from '../../kit/fixtures/documents/markup.ts';
import { fixtures as microsoft } from '../../kit/fixtures/documents/microsoft.ts';
import { fixtures as fonts } from '../../kit/fixtures/fonts/fonts.ts';
import { fixtures as recordings } from '../../kit/fixtures/media/media.ts';
import { fixtures as subtitles } from '../../kit/fixtures/media/subtitles.ts';
import { fixtures as models } from '../../kit/fixtures/models3d/models.ts';
import { fixtures as images } from '../../kit/fixtures/pictures/images.ts';

const folder = mkdtempSync(join(tmpdir(), 'sniff-'));
const at = (name: string): string => join(folder, name);
const run = (program: string, ...args: readonly string[]): Buffer =>
  execFileSync(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'], timeout: 60_000, env: { ...process.env, HOME: folder } });

const PROSE = `# A title

Some *prose* with **bold** words and a [link](https://example.com/).

- one
- two

## A second part

| a | b |
|---|---|
| 1 | 2 |

\`\`\`
some code
\`\`\`
`;

beforeAll(async () => {
  await Promise.all(
    Object.values(fonts).map((build) =>
      build('kestrel', mkdtempSync(join(folder, 'font-'))).then((path) => cpSync(path, at(basename(path)))),
    ),
  );
  for (const write of Object.values(models)) await write('solids', folder);
  writeFileSync(at('prose.md'), PROSE);
  writeFileSync(at('sheet.csv'), 'name,size,note\nfirst,1,"x, y"\nsecond,2,z\n');
  run('/usr/bin/convert-im6.q16', '-size', '40x30', 'gradient:red-blue', 'picture.png');
  run('pandoc', '--standalone', 'prose.md', '--output=prose.odt');
  run('pandoc', '--standalone', 'prose.md', '--output=slides.pptx');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const made = (path: string): Buffer => readFileSync(at(path));

const magick = (id: string) => (): Buffer => {
  run('/usr/bin/convert-im6.q16', 'picture.png', `${id}:made.${id}`);
  return made(`made.${id}`);
};

/** What a program writes whose last argument is the output. */
const written =
  (name: string, program: string, ...args: readonly string[]) =>
  (): Buffer => {
    run(program, ...args, name);
    return made(name);
  };

const TONE = ['-f', 'lavfi', '-i', 'sine=duration=1'];
const PATTERN = ['-f', 'lavfi', '-i', 'testsrc=duration=1:size=176x144:rate=25'];
const ffmpeg =
  (name: string, inputs: readonly string[], ...options: readonly string[]) =>
  (): Buffer => {
    run('ffmpeg', '-v', 'error', '-y', ...inputs, '-shortest', '-threads', '1', ...options, name);
    return made(name);
  };
const sound = (id: string, ...options: readonly string[]) => ffmpeg(`sound.${id}`, TONE, ...options);
const film = (id: string, ...options: readonly string[]) => ffmpeg(`film.${id}`, [...PATTERN, ...TONE], ...options);

const pandoc = (to: string) => (): Buffer => {
  run('pandoc', '--standalone', '--metadata=title=T', `--to=${to}`, 'prose.md', '--output=pandoc.out');
  return made('pandoc.out');
};
const office = (id: string, source: string) => (): Buffer => {
  run('soffice', `-env:UserInstallation=file://${at('profile')}`, '--headless', '--convert-to', id, source);
  return made(`${source.slice(0, source.indexOf('.'))}.${id}`);
};

/** A maker for every format that a program here can write. */
const REAL: Readonly<Record<string, () => Buffer>> = {
  ...Object.fromEntries(
    'png jpg webp gif tiff bmp jp2 ico tga ppm pgm pbm pam pcx psd xbm xpm dds hdr sgi ras dpx fits pict'
      .split(' ')
      .map((id) => [id, magick(id)]),
  ),
  heic: written('made.heic', 'heif-enc', 'picture.png', '-o'),
  jxl: written('made.jxl', 'cjxl', 'picture.png'),
  ...Object.fromEntries('mp3 wav flac ogg m4a m4b aac ac3 eac3 aiff wma mka au caf wv tta mp2 w64'.split(' ').map((id) => [id, sound(id)])),
  opus: sound('opus', '-c:a', 'libopus'),
  spx: sound('spx', '-c:a', 'libspeex', '-ar', '16000'),
  ...Object.fromEntries('mp4 m4v mov mkv webm avi flv wmv mpg ts'.split(' ').map((id) => [id, film(id)])),
  '3gp': ffmpeg('film.3gp', PATTERN, '-c:v', 'mpeg4'),
  ogv: film('ogv', '-c:v', 'libtheora', '-c:a', 'libvorbis'),
  ...Object.fromEntries('docx odt rtf epub fb2 pptx rst org textile man ipynb opml'.split(' ').map((id) => [id, pandoc(id)])),
  html: pandoc('html5'),
  tex: pandoc('latex'),
  adoc: pandoc('asciidoc'),
  wiki: pandoc('mediawiki'),
  dbk: pandoc('docbook5'),
  jats: pandoc('jats'),
  texi: pandoc('texinfo'),
  ctx: pandoc('context'),
  zim: pandoc('zimwiki'),
  doku: pandoc('dokuwiki'),
  hdoc: pandoc('haddock'),
  ...Object.fromEntries('tei icml ms jira xwiki muse'.split(' ').map((id) => [id, pandoc(id)])),
  txt: pandoc('plain'),
  md: () => made('prose.md'),
  csv: () => made('sheet.csv'),
  tsv: () => Buffer.from(made('sheet.csv').toString().replaceAll(',', '\t')),
  ...Object.fromEntries(['doc', 'fodt', 'pdf'].map((id) => [id, office(id, 'prose.odt')])),
  ...Object.fromEntries(['xlsx', 'xls', 'ods', 'fods'].map((id) => [id, office(id, 'sheet.csv')])),
  ...Object.fromEntries(['odp', 'ppt', 'fodp'].map((id) => [id, office(id, 'slides.pptx')])),
  ...Object.fromEntries(Object.keys(fonts).map((id) => [id, () => made(`font.${id}`)])),
  ...Object.fromEntries(Object.keys(models).map((id) => [id, () => made(`solids.${id}`)])),
};

function real(id: string): Buffer {
  const make = REAL[id];
  if (make === undefined) throw new Error(`no maker of ${id}`);
  return make();
}

const BOOKS = 'mobi azw3 prc lit lrf rb tcr pmlz htmlz txtz'.split(' ');

/** Those that the kit makes for conversions: by other programs, or by hand. */
const KIT: Readonly<Record<string, () => Promise<Buffer>>> = Object.fromEntries(
  [
    ...'jng dcx cin cal jbig wbmp xwd viff vicar pfm pgx pdb ipl mtv aai avs art qoi jls dng ora kra icns emf wmf'.split(' '),
    ...'dts thd mlp mpc ape dsf dff voc gsm sox sf adx 8svx avr sph pvf hcom mid mod xm'.split(' '),
    ...'m2ts 3g2 f4v m2v m1v mxf dv gxf nut ivf y4m swf rm wtv h264 hevc obu amv roq flc smj cpk'.split(' '),
    ...'apng psb j2k jxr lbm rle srf icon mrf mgr g3'.split(' '),
    ...'ismv h261 h263 m4e mj2'.split(' '),
    ...BOOKS,
    'fodg',
    ...Object.keys(subtitles),
    ...Object.keys(mails),
    ...Object.keys(pim),
    ...Object.keys(microsoft),
    'dcm',
    'djvu',
    'dbf',
  ].map((id) => [
    id,
    async () => {
      const build = { ...documents, ...images, ...recordings, ...subtitles, ...mails, ...pim, ...microsoft }[id];
      if (build === undefined) throw new Error(`the kit makes no ${id}`);
      return readFileSync(await build('kestrel', folder));
    },
  ]),
);

/** Written and never read: a JPEG is read as one, and PostScript is refused. */
const WRITTEN_ONLY = ['mjpeg', 'eps'];

/** By hand, for want of a program that writes them. */
/** The directory of a camera's TIFF: a smaller version, the maker, and where the sensor's picture is. */
function rawOf(maker: string): Buffer {
  const entries = [
    [254, 4, 1, 1],
    [271, 2, maker.length + 1, 50],
    [330, 4, 1, 200],
  ] as const;
  const directory = Buffer.alloc(2 + 12 * entries.length + 4);
  directory.writeUInt16LE(entries.length);
  for (const [i, [tag, type, count, value]] of entries.entries()) {
    directory.writeUInt16LE(tag, 2 + 12 * i);
    directory.writeUInt16LE(type, 4 + 12 * i);
    directory.writeUInt32LE(count, 6 + 12 * i);
    directory.writeUInt32LE(value, 10 + 12 * i);
  }
  return Buffer.concat([latin1('II*\0\x08\0\0\0'), directory, latin1(`${maker}\0`), Buffer.alloc(200)]);
}

/** Those that no free program writes: how their files begin. */
const UNPROVEN: Readonly<Record<string, () => Buffer>> = {
  cr2: () => latin1('II*\0\x10\0\0\0CR\x02\0'),
  cr3: () => fileTypeBox('crx '),
  crw: () => latin1('II\x1a\0\0\0HEAPCCDR'),
  nef: () => rawOf('NIKON CORPORATION'),
  arw: () => rawOf('SONY'),
  srw: () => rawOf('SAMSUNG'),
  pef: () => rawOf('PENTAX Corporation'),
  raf: () => latin1('FUJIFILMCCD-RAW 0201FF129502'),
  orf: () => latin1('IIRO\x08\0\0\0'),
  rw2: () => latin1('IIU\0\x18\0\0\0'),
  mrw: () => latin1('\0MRM\0\0\0\0'),
  x3f: () => latin1('FOVb\0\0\x02\0'),
  wpd: () => latin1('\xffWPC\x10\0\0\0\x01\x0a'),
  wps: () => compoundOf(['MatOST']),
  pub: () => compoundOf(['Quill']),
  vsd: () => compoundOf(['VisioDocument']),
};

const BUILT: Readonly<Record<string, () => Buffer>> = {
  ...UNPROVEN,
  ...Object.fromEntries(
    'twiki tiki creol vwiki t2t bib csljs abw slk dif json jsonl yaml toml xml'
      .split(' ')
      .map((id) => [id, () => Buffer.from(markups[id]?.(contentOf('kestrel')) ?? '')]),
  ),
  cur: cursor,
  parquet: () => parquet(contentOf('kestrel')),
  arrow: () => arrow(contentOf('kestrel')),
  avro: () => avroFile('string', []),
  sqlite: () => latin1('SQLite format 3\0\x10\0\x01\x01\0@  '),
  ...Object.fromEntries(
    Object.entries({ sxw: 'writer', sxc: 'calc', sxi: 'impress', sxd: 'draw' }).map(([id, application]) => [
      id,
      () => zipOf([{ name: 'mimetype', content: `application/vnd.sun.xml.${application}` }, { name: 'content.xml' }]),
    ]),
  ),
  odg: () => zipOf([{ name: 'mimetype', content: 'application/vnd.oasis.opendocument.graphics' }, { name: 'content.xml' }]),
  mng: () => latin1('\x8aMNG\r\n\x1a\n\0\0\0\x1cMHDR'),
  exr: () => latin1('\x76\x2f\x31\x01\x02\0\0\0channels\0chlist\0'),
  svg: () => latin1('<?xml version="1.0"?>\n<!-- > -->\n<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"/>'),
  xcf: () => latin1('gimp xcf v011\0\0\0\0\x28\0\0\0\x1e'),
  avif: () => fileTypeBox('avif', ['avif', 'mif1', 'miaf']),
  amr: () => latin1(`#!AMR\n${'\x3c'.padEnd(32, '\x55').repeat(3)}`),
};

const ARCHIVES: Readonly<Record<string, () => Buffer>> = Object.fromEntries(
  archiveFormats.map((id) => [id, () => readFileSync(writeArchive(id, filesOf(id, 'seed'), mkdtempSync(at('archive-'))))]),
);

const sourceOf = (bytes: Uint8Array | string, name = 'upload.xyz', from?: string): string =>
  resolveSource(sampleOf(bytes), name, from).format;

function refusal(bytes: Uint8Array | string, name = 'upload.xyz', from?: string): Failure {
  try {
    sourceOf(bytes, name, from);
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('content', () => {
  it('of every format in the catalog is tried here', () => {
    expect(new Set([...Object.keys(REAL), ...Object.keys(KIT), ...Object.keys(BUILT), ...Object.keys(ARCHIVES), ...WRITTEN_ONLY])).toEqual(
      new Set(formats.keys()),
    );
  });

  const makers: readonly (readonly [string, () => Buffer | Promise<Buffer>])[] = [
    ...Object.entries(REAL),
    ...Object.entries(KIT),
    ...Object.entries(BUILT),
    ...Object.entries(ARCHIVES),
  ];
  const ONLY_NAMED: Readonly<Record<string, string>> = { m4b: 'm4a', cbz: 'zip' };
  for (const [id, make] of makers) {
    // Only the name can decide between m4a and m4b, even for what a program wrote as m4b, and between a ZIP of pictures and a comic book.
    const expected = ONLY_NAMED[id] ?? id;
    it(`of a ${id} file is recognised under a wrong name`, async () => {
      const bytes = await make();
      expect(sourceOf(bytes, 'wrong.exe')).toBe(expected);
      expect(sourceOf(bytes, id === 'png' ? 'wrong.pdf' : 'wrong.png')).toBe(expected);
      expect(sourceOf(bytes, `right.${id}`)).toBe(id);
      expect(matches(sampleOf(bytes), id)).toBe(true);
      expect(matches(sampleOf(bytes), id === 'png' ? 'jpg' : 'png')).toBe(false);
    });
  }
});

describe('variants that programs write', () => {
  const cases: Record<string, [string, () => Buffer]> = {
    'an archive of scripts of PyMOL': [
      'zip',
      () =>
        zipOf([
          { name: 'a.pml', content: 'load a.pdb' },
          { name: 'a.pdb', content: 'x' },
        ]),
    ],
    'a site with a description of its package': [
      'zip',
      () => zipOf([{ name: 'www/index.html', content: 'x' }, { name: 'www/metadata.opf' }]),
    ],
    'a JPEG XL in a container': ['jxl', written('boxed.jxl', 'cjxl', '--container=1', 'picture.png')],
    'a JPEG-LS behind the header of SPIFF': [
      'jls',
      () => latin1('\xff\xd8\xff\xe8\0\x04ab\xff\xff\xfe\0\x03x\xff\xf7\0\x0b\x08\0\x01\0\x01\x01\x01\x11\0'),
    ],
    'a JPEG whose comment has the frame of a JPEG-LS': [
      'jpg',
      () => latin1('\xff\xd8\xff\xfe\0\x08\xff\xf7\0\x0bab\xff\xc0\0\x0b\x08\0\x01\0\x01\x01\x01\x11\0'),
    ],
    'a run-length TGA': ['tga', written('rle.tga', '/usr/bin/convert-im6.q16', 'picture.png', '-compress', 'RLE')],
    'a plain PPM with a comment': ['ppm', () => latin1('P3\n# by hand 1 2\n2 1\n255\n1 2 3 4 5 6\n')],
    'an MP4 without pictures': ['m4a', ffmpeg('only-sound.mp4', TONE, '-c:a', 'aac')],
    'a WebM without pictures': ['mka', ffmpeg('only-sound.webm', TONE, '-c:a', 'libopus')],
    'a fragmented MP4': ['mp4', film('mp4', '-movflags', '+frag_keyframe+empty_moov')],
    'a Blu-ray transport stream': ['m2ts', film('m2ts')],
    'a DVD program stream': ['mpg', film('vob')],
    'a bare MPEG-2 video': ['m2v', ffmpeg('bare.m2v', PATTERN, '-c:v', 'mpeg2video')],
    'Ogg with FLAC': ['ogg', sound('oga', '-c:a', 'flac')],
    'a WAV of more than 4 GiB by its header': ['wav', sound('wav', '-rf64', 'always')],
    'an MP3 behind a cover larger than the sample': [
      'mp3',
      () =>
        Buffer.concat([
          latin1('ID3\x04\0\0\0\x19\0\0'),
          Buffer.alloc(0x19 * 0x4000),
          sound('mp3', '-write_xing', '0', '-id3v2_version', '0')(),
        ]),
    ],
    'a template of a text document': [
      'odt',
      () => zipOf([{ name: 'mimetype', content: 'application/vnd.oasis.opendocument.text-template' }, { name: 'content.xml' }]),
    ],
    'a document whose directory alone lies in the sample': [
      'xlsx',
      () =>
        zipOf([{ name: 'xl/media/big.bin', content: 'x'.repeat(600_000) }, { name: '[Content_Types].xml' }, { name: 'xl/workbook.xml' }]),
    ],
    'a letter with an embedded sheet': ['doc', () => compoundOf(['WordDocument'], ['Workbook'])],
    'a sheet with an embedded letter': ['xls', () => compoundOf(['Workbook'], ['WordDocument'])],
    'a UTF-16 table': ['csv', () => Buffer.from('\ufeffa;b\r\n1;ü\r\n', 'utf16le')],
    'a big-endian UTF-16 page': ['html', () => Buffer.from('\ufeff<!DOCTYPE html><p>x', 'utf16le').swap16()],
    'Latin-1 prose': ['txt', () => latin1('Stra\xdfe und Fl\xfcsse\n')],
    'Markdown that begins with a centred logo': ['md', () => latin1(`<p align="center"><img src="x.png"></p>\n\n${PROSE}`)],
    'a piece of HTML': ['html', () => latin1('<div class="x"><p>One</p>\n<p>Two <em>three</em></p></div>\n')],
    'a picture inside HTML': ['html', () => latin1('<html><svg xmlns="http://www.w3.org/2000/svg"/></html>')],
    'an SVG with a document type and a name space prefix': [
      'svg',
      () => latin1('<!DOCTYPE svg:svg [<!ENTITY a "x]>"><!-- \' -->]><svg:svg xmlns:svg="http://www.w3.org/2000/svg"/>'),
    ],
    'prose with commas': ['txt', () => latin1('Well, it rains.\nYes, it does.\n')],
    'an XBM behind a comment': [
      'xbm',
      () => latin1('/* by hand */\n#define a.b_width 8\n#define a.b_height 1\nstatic char a_bits[] = {0x01};\n'),
    ],
    'an MP3 of one frame and a tag': [
      'mp3',
      () => Buffer.concat([latin1('\xff\xfb\x90\0'), Buffer.alloc(413), latin1('TAG'), Buffer.alloc(125)]),
    ],
    'a page of troff behind macros': ['man', () => latin1('\'\\" t\n.ie n .nh\n.TH LS 1\n.SH NAME\nls\n')],
  };
  for (const [sentence, [id, make]] of Object.entries(cases)) it(`${sentence} is ${id}`, () => expect(sourceOf(make())).toBe(id));
});

describe('a name or from_format', () => {
  it.each([
    ['notes.md', 'md'],
    ['notes.csv', 'csv'],
    ['notes.LOG', 'txt'],
    ['notes.htm', 'html'],
    ['notes', 'txt'],
    // No name makes prose a notebook, a DocBook, a picture or a document.
    ['notes.ipynb', 'txt'],
    ['notes.xml', 'xml'],
    ['notes.yml', 'yaml'],
    ['notes.ndjson', 'jsonl'],
    ['notes.docx', 'txt'],
  ])('%s makes prose %s', (name, id) => expect(sourceOf('just some words', name)).toBe(id));

  it.each([
    ['[12:34:56] started\n', 'service.log', 'txt'],
    ['[12:34:56] started\n', 'wrong.exe', 'txt'],
    ['[12:34.56] started\n', 'service.log', 'txt'],
    ['[ti:Song]\n[00:01.50]Hello\n', 'song.lrc', 'lrc'],
    ['[00:01.50]Hello\n', 'wrong.exe', 'lrc'],
  ])('of a text with times in brackets, %j as %s, is %s', (content, name, id) => expect(sourceOf(content, name)).toBe(id));

  it.each([
    ['From: "Saved by Grace Church" <a@example.org>\nTo: b@example.org\nMIME-Version: 1.0\n\nx\n', 'eml'],
    ['From: a@example.org\nTo: b@example.org\nMIME-Version: 1.0\n\nFrom: <Saved by Blink>\n', 'eml'],
    ['From: <Saved by Blink>\nSubject: x\nMIME-Version: 1.0\n\nx\n', 'mhtml'],
    ['From: "Saved by Windows Internet Explorer 7"\nSubject: x\nMIME-Version: 1.0\n\nx\n', 'mhtml'],
    ['MIME-Version: 1.0\nContent-Type:\n multipart/related; boundary=b\n\nx\n', 'mhtml'],
    ['MIME-Version: 1.0\nContent-Type:\tmultipart/related; boundary=b\n\nx\n', 'mhtml'],
  ])('is not needed where a header tells a web archive from an e-mail: %j is %s', (content, id) => expect(sourceOf(content)).toBe(id));

  it('settles what is inside an encrypted document', () => {
    const sealed = compoundOf(['EncryptedPackage', 'EncryptionInfo']);
    expect(sourceOf(sealed, 'x.xlsx')).toBe('xlsx');
    expect(sourceOf(sealed, 'x.doc')).toBe('docx');
  });

  it('settles a compound file whose directory lies outside the sample', () => {
    const bytes = Buffer.concat([compoundOf(['WordDocument']).subarray(0, 512), Buffer.alloc(900_000)]);
    bytes.writeUInt32LE(800, 48);
    expect(sourceOf(bytes, 'x.ppt')).toBe('ppt');
    expect(sourceOf(bytes, 'x.png')).toBe('doc');
  });

  it('wins over the name within a tie, also as an alias', () => expect(sourceOf('just some words', 'notes.csv', 'latex')).toBe('tex'));

  it('that agrees with the content is heeded', () => expect(sourceOf(cursor(), 'x.png', 'CUR')).toBe('cur'));

  it('that contradicts the content is an invalid option', () => {
    const failure = refusal(cursor(), 'x.cur', 'png');
    expect(failure.code).toBe('INVALID_OPTION');
    expect(failure.details).toEqual({ option: 'from_format', received: 'png', allowed: ['cur'] });
    expect(refusal('just some words', 'x.txt', 'pdf').code).toBe('INVALID_OPTION');
    expect(refusal('just some words', 'x.txt', 'nonsense').code).toBe('INVALID_OPTION');
  });
});

describe('a file that would be taken for another', () => {
  const PAGE = '<html><script>alert(1)</script></html>';
  const cases: Record<string, [Uint8Array | string, string, string]> = {
    'a PNG named as PDF is PNG': [latin1('\x89PNG\r\n\x1a\n\0\0\0\rIHDR'), 'x.pdf', 'png'],
    'a GIF with a page behind it is GIF': [`GIF89a/*${PAGE}*/`, 'x.html', 'gif'],
    'a page with a PDF behind it is a page': [`${PAGE}\n%PDF-1.4\n`, 'x.pdf', 'html'],
    'text that speaks of %PDF is text': ['A file begins with\n%PDF-1.7\n', 'x.txt', 'txt'],
    'a PDF behind the header of an answer is PDF': [
      latin1('HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n%PDF-1.7\n\xe2\xe3\0\nstartxref\n9\n%%EOF\n'),
      'x.txt',
      'pdf',
    ],
    'RTF behind which zeros stand is RTF': [latin1(`{\\rtf1 x}${'\0'.repeat(200)}`), 'x.txt', 'rtf'],
    'a compressed drawing is a drawing': [
      gzipSync('<?xml version="1.0"?><!-- x --><svg xmlns="http://www.w3.org/2000/svg"/>'),
      'x.svgz',
      'svg',
    ],
    'a book in a ZIP is a book': [zipOf([{ name: 'book.fb2', content: '<FictionBook/>' }]), 'book.fb2.zip', 'fb2'],
    'two books in a ZIP are an archive': [zipOf([{ name: 'a.fb2' }, { name: 'b.fb2' }]), 'x.fb2.zip', 'zip'],
    'a ZIP of pictures that is named so is a comic book': [zipOf([{ name: '1/1.jpg' }, { name: 'ComicInfo.xml' }]), 'x.cbz', 'cbz'],
    'a ZIP of pictures is an archive': [zipOf([{ name: '1.jpg' }, { name: '2.png' }]), 'x.zip', 'zip'],
    'the source of a typeface with thousands of glyphs is one, wherever its lists are': [
      zipOf(
        Array.from({ length: 6000 }, (_, at) => ({
          name: at === 3000 ? 'f.ufo/metainfo.plist' : at === 3001 ? 'f.ufo/glyphs/contents.plist' : `f.ufo/glyphs/uni${at}.glif`,
        })),
      ),
      'x.zip',
      'ufoz',
    ],
    'a folder of glyphs with a program is an archive': [
      zipOf([{ name: 'f/glyphs/a.glif' }, { name: 'f/glyphs/contents.plist' }, { name: 'f/a.exe' }]),
      'x.zip',
      'zip',
    ],
    'a ZIP of programs is no comic book': [zipOf([{ name: '1.jpg' }, { name: 'a.exe' }]), 'x.cbz', 'zip'],
    'a text about drawings and compiled help is a text': ['AC10 and ITSF and MAC and PAR1 are words.', 'x.dwg', 'txt'],
    'a few words of Russian are a text': [latin1('\xcf\xf0\xe8\xe2\xe5\xf2'), 'x.xyz', 'txt'],
    'a few words of Korean are a text': [latin1('\xbe\xc8\xb3\xe7\xc7\xcf\xbc\xbc\xbf\xe4'), 'x.xyz', 'txt'],
    'a few words of Japanese are a text': [latin1('\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x95\xb6\x8f\xcd\x82\xc5\x82\xb7\x81B'), 'x.xyz', 'txt'],
    'a text in UTF-16 without a mark is a text': [Buffer.from('words of a text', 'utf16le'), 'x.xyz', 'txt'],
    'a text in UTF-16 the other way round is a text': [Buffer.from('words of a text', 'utf16le').swap16(), 'x.xyz', 'txt'],
    'a PDF behind a byte order mark is PDF': [latin1('\xef\xbb\xbf%PDF-1.4\n\xe2\xe3'), 'x.txt', 'pdf'],
    'a PDF with an archive behind it is PDF': [
      Buffer.concat([latin1('%PDF-1.4\n'), zipOf([{ name: 'word/document.xml' }])]),
      'x.docx',
      'pdf',
    ],
    'a document whose headers lie about sizes is a document': [
      zipOf([
        { name: '[Content_Types].xml', claims: 0xffff_ffff },
        { name: 'word/document.xml', claims: 0xffff_fff0 },
      ]),
      'x.zip',
      'docx',
    ],
    'what the directory names counts, not the local headers': [
      zipOf(
        [{ name: '[Content_Types].xml' }, { name: 'xl/workbook.xml' }],
        [{ name: '[Content_Types].xml' }, { name: 'word/document.xml' }],
      ),
      'x.xlsx',
      'docx',
    ],
    'a word that begins like a picture is a word': ['BMW and MZ and P6 and PK', 'x.bmp', 'txt'],
    'a number and a line of prose are no picture': ['12 34\nwords', 'x.mtv', 'txt'],
    'a text about FWS and CWS is a text': ['FWS and CWS are Flash', 'x.swf', 'txt'],
    'a word that begins like a program is a word': ['MZ is a town in Hesse, or nearly so.', 'x.exe', 'txt'],
    'text with the rhythm of a transport stream is text': [`${'G'.padEnd(188, 'o')}`.repeat(3), 'x.ts', 'txt'],
  };
  for (const [sentence, [bytes, name, id]] of Object.entries(cases)) it(sentence, () => expect(sourceOf(bytes, name)).toBe(id));
});

describe('what is never opened', () => {
  const cases: Record<string, [Uint8Array | string, string, string]> = {
    'an ELF program named docx': [latin1('\x7fELF\x02\x01\x01'), 'x.docx', 'ELF executable'],
    'a Windows program named pdf': [latin1(`MZ\x90\0\x03\0\0\0${'\0'.repeat(52)}\x40\0\0\0PE\0\0`), 'x.pdf', 'Windows executable'],
    'a Java class': [latin1('\xca\xfe\xba\xbe\0\0\0\x34'), 'x.jpg', 'Java class'],
    'a WebAssembly module': [latin1('\0asm\x01\0\0\0'), 'x.png', 'WebAssembly module'],
    'a compressed file that is no TAR': [gzipSync('words '.repeat(1000)), 'x.gz', 'compressed file (gzip)'],
    'a compressed file that is cut off at once': [gzipSync(noise(5000, 4)).subarray(0, 14), 'x.tgz', 'compressed file (gzip)'],
    'an AutoCAD drawing': [latin1('AC1032\0\0\0\0'), 'x.dwg', 'AutoCAD drawing (DWG)'],
    'compiled help': [latin1('ITSF\x03\0\0\0'), 'x.pdf', 'compiled help (CHM)'],
    'a OneNote section': [latin1('\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d\xae\xb1\x53\x78\xd0\x29\x96\xd3\0'), 'x.one', 'OneNote section'],
    'a tracker song': [latin1(`${'song'.padEnd(44, '\0')}SCRM\0`), 'x.s3m', 'tracker music (S3M)'],
    'a database of Access': [latin1('\0\x01\0\0Standard ACE DB\0'), 'x.accdb', 'Access database'],
    'a disk image of macOS': [Buffer.concat([noise(600, 7), latin1('koly\0\0\0\x04'), Buffer.alloc(504)]), 'x.dmg', 'disk image (DMG)'],
    'a package of another program': [
      zipOf([{ name: 'mimetype', content: 'application/hwp+zip' }, { name: 'Contents/content.hpf' }]),
      'x.hwpx',
      'package of type application/hwp+zip',
    ],
    'a Windows shortcut': [latin1('L\0\0\0\x01\x14\x02\0\0\0\0\0\xc0'), 'x.png', 'Windows shortcut'],
    'a script': ['#!/bin/sh\nid\n', 'x.txt', 'script'],
    'a playlist named mp4': ['#EXTM3U\n#EXTINF:1,\nhttp://canary.test/x.ts\n', 'x.mp4', 'playlist'],
    'a playlist behind a byte order mark and blanks': ['\ufeff \n#EXTM3U\nx.ts\n', 'x.txt', 'playlist'],
    'a playlist in UTF-16': [Buffer.from('\ufeff#EXTM3U\nx.ts\n', 'utf16le'), 'x.txt', 'playlist'],
    'a Windows playlist': ['<ASX version="3.0"><entry/></ASX>', 'x.wmv', 'playlist'],
    'a shared playlist': ['<?xml version="1.0"?><playlist xmlns="http://xspf.org/ns/0/"/>', 'x.svg', 'playlist'],
    'a numbered playlist': ['[playlist]\nFile1=/etc/passwd\n', 'x.mp3', 'playlist'],
    'a DASH manifest': ['<?xml version="1.0"?>\n<!-- x --><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"/>', 'x.mp4', 'playlist'],
    'a concat list': ["ffconcat version 1.0\nfile '/etc/passwd'\n", 'x.mp4', 'concat script'],
    'ffmpeg metadata': [';FFMETADATA1\ntitle=x\n', 'x.txt', 'media metadata script'],
    'a session description': ['v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\n', 'x.mp4', 'session description'],
    'a raw file of a camera that is not known': [rawOf('OTHER MAKER'), 'x.tif', 'camera raw file'],
    'an iWork document': [zipOf([{ name: 'Index/Document.iwa' }]), 'x.docx', 'iWork document (Pages, Numbers or Keynote)'],
    'a workbook in XML': [
      '<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"/>',
      'x.xml',
      'Excel workbook in XML (2003)',
    ],
    PostScript: ['%!PS-Adobe-3.0 EPSF-3.0\n(%pipe%id) (r) file\n', 'x.pdf', 'PostScript program'],
    'PostScript with a preview': [latin1('\xc5\xd0\xd3\xc6\x1e\0\0\0'), 'x.png', 'PostScript program'],
    'an MVG drawing': ['push graphic-context\nviewbox 0 0 1 1\nimage over 0,0 0,0 "url(http://canary.test/)"\n', 'x.svg', 'drawing script'],
    'an MSL script': ['<?xml version="1.0"?><image><read filename="/etc/passwd"/></image>', 'x.svg', 'image script'],
  };
  for (const [sentence, [bytes, name, what]] of Object.entries(cases))
    it(`${sentence} is refused by what it is`, () => {
      const failure = refusal(bytes, name);
      expect(failure.code).toBe('UNSUPPORTED_MIME');
      expect(failure.details['detected']).toBe(what);
      expect(failure.details['accepted']).toContain('image');
      expect(failure.message).toContain(what);
    });

  it('is not opened at the word of from_format either', () => expect(refusal('#EXTM3U\n', 'x.txt', 'txt').code).toBe('UNSUPPORTED_MIME'));
});

describe('an archive', () => {
  it.each([
    ['of photos', zipOf([{ name: 'photo.jpg', content: 'x' }])],
    ['without any file', zipOf([])],
    ['of Java classes', zipOf([{ name: 'META-INF/MANIFEST.MF' }, { name: 'A.class' }])],
  ])('%s is a ZIP', (_, bytes) => expect(sourceOf(bytes, 'x.docx')).toBe('zip'));

  it('from before POSIX is a TAR by its checksum, and so is a compressed one', () => {
    writeFileSync(at('old.txt'), 'old');
    run('tar', '--format=v7', '-cf', 'old.tar', 'old.txt');
    const bytes = made('old.tar');
    expect(bytes.includes('ustar')).toBe(false);
    expect(sourceOf(bytes)).toBe('tar');
    expect(sourceOf(gzipSync(bytes))).toBe('tgz');
    bytes[0] = 0x70;
    expect(detect(sampleOf(bytes))).not.toMatchObject({ format: 'tar' });
  });

  it('that begins with a thousand times its size is looked at no further', () =>
    expect(refusal(gzipSync(Buffer.alloc(50_000_000))).code).toBe('UNSUPPORTED_MIME'));
});

describe('bytes that are nothing', () => {
  it('an empty file is no file', () => expect(refusal('', 'x.png').code).toBe('NO_FILE'));

  const cases: Record<string, Uint8Array> = {
    'one byte': latin1('\xff'),
    'one zero': latin1('\0'),
    noise: noise(4096, 1),
    'short noise': noise(24, 2),
    'text that turns into a program': Buffer.concat([Buffer.alloc(300_000, 'words '), Buffer.alloc(200_000)]),
    'one volume of a ZIP': Buffer.concat([latin1('PK\x07\x08'), zipOf([{ name: 'photo.jpg', content: 'x' }])]),
    'a package of no office program that is known': zipOf([{ name: '[Content_Types].xml' }, { name: 'other/part.xml' }]),
    'a run of samples of sound': Buffer.from(Int16Array.from({ length: 400 }, (_, at) => at % 30).buffer),
    'a compound file of another program': compoundOf(['Contents']),
    'a RIFF of another kind': latin1('RIFF\x10\0\0\0RMIDdata'),
    'a Matroska of another kind': latin1('\x1a\x45\xdf\xa3\x87\x42\x82\x84abcd'),
    'a tag with a playlist behind it': latin1('ID3\x03\0\0\0\0\0\0#EXTM3U\nx.ts\n'),
  };
  for (const [sentence, bytes] of Object.entries(cases))
    it(`${sentence} is unknown`, () => {
      expect(detect(sampleOf(bytes))).toEqual({ kind: 'unknown' });
      expect(refusal(bytes, 'x.png')).toMatchObject({ code: 'UNSUPPORTED_MIME', details: { detected: 'unknown' } });
      // Any ZIP is one as the result of packing.
      const expected = Buffer.from(bytes).indexOf('PK\x03\x04') === 0 ? ['zip', 'cbz'] : [];
      expect([...formats.keys()].filter((id) => matches(sampleOf(bytes), id))).toEqual(expected);
    });

  it('a Word document in XML is not taken for text: LibreOffice would open it as what it is', () => {
    const bytes = '<?xml version="1.0"?><?mso-application progid="Word.Document"?><w:wordDocument/>';
    expect(refusal(bytes, 'x.txt').code).toBe('UNSUPPORTED_MIME');
  });

  it('are looked at without a throw, however they are mangled', () => {
    const honest = [
      ...Object.values(BUILT).map((make) => make()),
      compoundOf(['WordDocument'], ['Workbook']),
      zipOf([{ name: 'mimetype', content: 'application/epub+zip' }, { name: 'a.opf' }]),
      ...['picture.png', 'prose.odt', 'slides.pptx', 'prose.md', 'sheet.csv'].map(made),
      ...['jxl', 'heic', 'mp3', 'ogg', 'webm', 'mp4', 'ts'].map(real),
    ];
    const random = seeded(7);
    const below = (limit: number): number => Math.floor(random() * limit);
    for (let round = 0; round < 200; round++) {
      const bytes = Buffer.from(honest[round % honest.length] ?? '');
      // Where the structure is: at the beginning and at the end.
      for (let i = 0; i < 12; i++)
        bytes[random() < 0.7 ? below(Math.min(200, bytes.length)) : bytes.length - 1 - below(Math.min(200, bytes.length))] = below(256);
      const cut = bytes.subarray(0, random() < 0.3 ? 1 + below(bytes.length) : bytes.length);
      expect(['format', 'tie', 'cut', 'refused', 'unknown']).toContain(detect(sampleOf(cut)).kind);
    }
  });
});

describe('a ZIP that ends too early', () => {
  const filler = { name: 'customXml/item1.xml', content: 'x'.repeat(600) };
  it.each([
    // LibreOffice writes the list of types last.
    ['docx', () => zipOf([{ name: '_rels/.rels' }, { name: 'word/styles.xml' }, filler, { name: '[Content_Types].xml' }])],
    ['xlsx', () => zipOf([{ name: '_rels/.rels' }, { name: 'xl/styles.xml' }, filler])],
    ['pptx', () => made('slides.pptx')],
    ['odt', () => made('prose.odt')],
    ['epub', () => zipOf([{ name: 'mimetype', content: 'application/epub+zip' }, filler])],
    ['zip', () => zipOf([{ name: 'photo.jpg', content: 'x'.repeat(600) }])],
  ])('is a damaged %s, and no archive', (format, make) => {
    const whole = make();
    const cut = whole.subarray(0, Math.floor(whole.length * 0.7));
    expect(refusal(cut, 'a.zip')).toMatchObject({
      code: 'CONVERSION_FAILED',
      message: expect.stringContaining('ends too early'),
      details: { reason: 'corrupt_input', ends_early: true, detected: format },
    });
  });
});

describe('an output', () => {
  const texts = ['txt', 'md', 'rst', 'tex', 'csv', 'tsv', 'org', 'adoc', 'wiki', 'textile', 'man', 'json', 'jsonl', 'yaml', 'toml', 'xml'];
  it.each(texts)('is %s whatever its words are, as prose has no signs', (id) => {
    for (const words of ['', 'words', 'one\ntwo\n', '#!/bin/sh', '%PDF-less']) expect(matches(sampleOf(words), id)).toBe(true);
    expect(matches(sampleOf(noise(600, 3)), id)).toBe(false);
  });

  it('that is a page is no picture, and prose is no notebook', () => {
    expect(matches(sampleOf('<!DOCTYPE html><p>x'), 'svg')).toBe(false);
    expect(matches(sampleOf('words'), 'ipynb')).toBe(false);
    expect(matches(sampleOf('{\\rtf1 x}'), 'html')).toBe(false);
  });

  it('in PostScript is EPS, which is refused as a file that was sent', () => {
    expect(matches(sampleOf('%!PS-Adobe-3.0 EPSF-3.0\n'), 'eps')).toBe(true);
    expect(matches(sampleOf('%!PS-Adobe-3.0\n'), 'eps')).toBe(false);
    expect(matches(sampleOf(made('picture.png')), 'apng')).toBe(true);
    expect(matches(sampleOf(made('picture.png')), 'mjpeg')).toBe(false);
  });

  it('in Ogg may hold any codec of its family, and m4v is MP4', () => {
    expect(matches(sampleOf(real('opus')), 'ogg')).toBe(true);
    expect(matches(sampleOf(real('ogg')), 'opus')).toBe(false);
    expect(matches(sampleOf(real('mp4')), 'm4v')).toBe(true);
  });
});

describe('a font', () => {
  const told = (bytes: Uint8Array | string): string => detect(sampleOf(bytes)).kind;
  const svg = (inside: string): string => `<svg xmlns="http://www.w3.org/2000/svg">${inside}</svg>`;
  const FONT = '<font horiz-adv-x="500"><font-face font-family="F" units-per-em="1000"/><glyph unicode="A" d="M0 0h9v9z"/></font>';

  it('in SVG is told from a picture that has a separate font', () => {
    expect(sourceOf(svg(`<defs>${FONT}</defs>`))).toBe('svgf');
    expect(sourceOf(svg(`<defs>${FONT}</defs><text font-family="F">A</text>`))).toBe('svg');
    expect(sourceOf(svg(`<rect width="4" height="4"/><defs>${FONT}</defs>`))).toBe('svg');
    expect(sourceOf(svg('<!-- <font> --><rect width="4" height="4"/>'))).toBe('svg');
  });

  it('has a directory of tables: bytes or a text that begin like one are none', () => {
    expect(told('true enough, this is a text\n')).toBe('tie');
    expect(told('OTTO said that this is a text\n')).toBe('tie');
    expect(told(latin1('\0\x01\0\0\xff\xff\0\0\0\0\0\0'))).not.toBe('format');
  });

  it('in Type 1 is no program, and any other PostScript is one', () => {
    expect(refusal('%!PS-Adobe-3.0\nshowpage\n').details['detected']).toBe('PostScript program');
    expect(refusal('%!FontType42\n').details['detected']).toBe('PostScript program');
    expect(refusal('SplineFontDB: 3.2\nPickledData: "x"\n').details['detected']).toBe('FontForge source');
  });
});
