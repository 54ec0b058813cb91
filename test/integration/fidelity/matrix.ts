/** For each property of a receipt one source that has it, and the targets that could carry it. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { fullDocx, fullPdf, fullXlsx, RED_PNG, TITLE } from '../../kit/fixtures/documents/full.ts';
import { fixtures as fonts } from '../../kit/fixtures/fonts/fonts.ts';
import { fixtures as models } from '../../kit/fixtures/models3d/models.ts';

const run = promisify(execFile);

interface Source {
  /** @returns path of the file */
  readonly build: (folder: string) => Promise<string>;
  readonly targets: readonly string[];
  /** What it has. */
  readonly properties: readonly string[];
}

const words = (text: string): readonly string[] => text.split(' ');

/** @param format as bsdtar names it */
const archive = (extension: string, format: string): Source => ({
  build: async (folder) => {
    const [inner, path] = [join(folder, 'packed'), join(folder, `full.${extension}`)];
    await mkdir(inner);
    for (const name of ['run.sh', 'a.txt']) {
      await writeFile(join(inner, name), 'twelve bytes');
      await utimes(join(inner, name), 1_700_000_000, 1_700_000_000);
    }
    await chmod(join(inner, 'run.sh'), 0o755);
    await run('bsdtar', ['-cf', path, `--format=${format}`, '-C', inner, 'run.sh', 'a.txt']);
    return path;
  },
  targets: words('zip tgz'),
  properties: words('files permissions times'),
});

export const sources: Readonly<Record<string, Source>> = {
  docx: {
    build: (folder) => fullDocx(join(folder, 'full.docx')),
    targets: words('pdf odt html md txt epub'),
    properties: words('text links title language outline footnotes comments tracked_changes form_fields page_size pictures'),
  },
  xlsx: {
    build: (folder) => fullXlsx(join(folder, 'full.xlsx')),
    targets: words('ods pdf html'),
    properties: words('title hidden_sheets formulas cell_notes'),
  },
  ods: {
    build: (folder) => fullXlsx(join(folder, 'full.xlsx')),
    targets: ['ods'],
    properties: words('merged_cells dates true_false'),
  },
  pdf: {
    build: async (folder) => {
      const path = join(folder, 'pages.pdf');
      await writeFile(path, fullPdf());
      return path;
    },
    targets: words('pdf docx odt html md txt'),
    properties: words('links title language outline form_fields comments pictures'),
  },
  fodp: {
    build: async (folder) => {
      const path = join(folder, 'slides.fodp');
      await writeFile(path, slides);
      return path;
    },
    targets: words('pptx odp pdf'),
    properties: words('pages hidden_slides speaker_notes'),
  },
  eml: {
    build: async (folder) => {
      const part = (head: string, body: string) => `--b\r\n${head}\r\n\r\n${body}\r\n`;
      const path = join(folder, 'full.eml');
      await writeFile(
        path,
        `From: anna@example.org\r\nTo: bert@example.net\r\nSubject: Greetings\r\nDate: Fri, 2 Jan 2026 10:00:00 +0100\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n${part('Content-Type: text/html; charset=utf-8', '<p>Hello there <img src="cid:red@example.org"></p>')}${part('Content-Type: image/png\r\nContent-ID: <red@example.org>\r\nContent-Transfer-Encoding: base64', RED_PNG.toString('base64'))}${part('Content-Type: text/plain; name="notes.txt"\r\nContent-Disposition: attachment; filename="notes.txt"', 'attached words')}--b--\r\n`,
      );
      return path;
    },
    targets: words('html txt zip'),
    properties: words('headers attached_files inline_pictures'),
  },
  tar: archive('tar', 'pax'),
  '7z': archive('7z', '7zip'),
  iso: archive('iso', 'iso9660'),
  ttf: {
    build: (folder) => fonts['ttf']?.('kestrel', folder) ?? Promise.reject(new Error('no fixture')),
    targets: words('otf woff woff2'),
    properties: words('glyphs font_family'),
  },
  glb: {
    build: (folder) => models['glb']?.('kestrel', folder) ?? Promise.reject(new Error('no fixture')),
    targets: words('stl obj ply dae'),
    properties: words('triangles'),
  },
  png: {
    build: async (folder) => {
      const path = join(folder, 'full.png');
      const pixels = Uint16Array.from({ length: 40 * 30 * 4 }, (_, at) => (at % 4 === 3 ? 20_000 : (at * 7_919) % 65_536));
      await sharp(pixels, { raw: { width: 40, height: 30, channels: 4 } })
        .toColourspace('rgb16')
        .withMetadata({ density: 300, exif: { IFD0: { Artist: 'Anna' }, IFD2: { LensModel: 'Anna' } }, icc: 'p3' })
        .png()
        .toFile(path);
      return path;
    },
    targets: words('tiff jpg webp gif'),
    properties: words('size alpha depth density exif profile'),
  },
  mka: {
    build: async (folder) => {
      const [path, marks] = [join(folder, 'full.mka'), join(folder, 'marks.txt')];
      await writeFile(marks, chaptered);
      const sound = ['-f', 'lavfi', '-i', 'sine=440:r=96000:d=2', '-i', marks, '-map_metadata', '1', '-map_chapters', '1', '-ac', '6'];
      await run('ffmpeg', ['-v', 'error', '-y', ...sound, '-c:a', 'flac', '-sample_fmt', 's32', path]);
      return path;
    },
    targets: words('mp3 flac ogg opus m4a wav'),
    properties: words('tags chapters channels sample_rate length'),
  },
  mkv: {
    build: async (folder) => {
      const [path, marks, said] = [join(folder, 'full.mkv'), join(folder, 'film.txt'), join(folder, 'said.srt')];
      await writeFile(marks, chaptered);
      await writeFile(said, '1\n00:00:00,200 --> 00:00:01,500\nSaid aloud\n');
      const inputs = [
        '-f',
        'lavfi',
        '-i',
        'testsrc=s=64x48:d=2:r=10',
        '-f',
        'lavfi',
        '-i',
        'sine=440:d=2',
        '-f',
        'lavfi',
        '-i',
        'sine=880:d=2',
      ];
      const maps = [
        '-i',
        said,
        '-i',
        marks,
        '-map',
        '0',
        '-map',
        '1',
        '-map',
        '2',
        '-map',
        '3',
        '-map_metadata',
        '4',
        '-map_chapters',
        '4',
      ];
      await run('ffmpeg', ['-v', 'error', '-y', ...inputs, ...maps, '-c:v', 'mpeg4', '-c:a', 'aac', '-c:s', 'srt', path]);
      return path;
    },
    targets: words('mp4 webm mov avi'),
    properties: words('picture_size sound_tracks subtitles'),
  },
};

const chaptered = `;FFMETADATA1\ntitle=${TITLE}\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1000\ntitle=One\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=1000\nEND=2000\ntitle=Two\n`;

const SPACES = ['office', 'style', 'text', 'drawing', 'presentation', 'xsl-fo-compatible', 'svg-compatible']
  .map(
    (name, at) =>
      `xmlns:${['office', 'style', 'text', 'draw', 'presentation', 'fo', 'svg'][at]}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`,
  )
  .join(' ');
const slide = (name: string, text: string, notes: string): string =>
  `<draw:page draw:name="${name}" draw:style-name="${name}" draw:master-page-name="Default"><draw:frame svg:x="2cm" svg:y="2cm" svg:width="20cm" svg:height="3cm"><draw:text-box><text:p>${text}</text:p></draw:text-box></draw:frame>${notes}</draw:page>`;
const spoken =
  '<presentation:notes><draw:frame presentation:class="notes" svg:x="2cm" svg:y="14cm" svg:width="16cm" svg:height="12cm"><draw:text-box><text:p>Say it slowly</text:p></draw:text-box></draw:frame></presentation:notes>';
/** One slide with notes, and one that is hidden. */
const slides = `<?xml version="1.0" encoding="UTF-8"?><office:document ${SPACES} office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.presentation"><office:automatic-styles><style:page-layout style:name="Page"><style:page-layout-properties fo:page-width="28cm" fo:page-height="21cm"/></style:page-layout><style:style style:name="one" style:family="drawing-page"/><style:style style:name="two" style:family="drawing-page"><style:drawing-page-properties presentation:visibility="hidden"/></style:style></office:automatic-styles><office:master-styles><style:master-page style:name="Default" style:page-layout-name="Page"/></office:master-styles><office:body><office:presentation>${slide('one', 'Shown', spoken)}${slide('two', 'Hidden', '')}</office:presentation></office:body></office:document>`;
