/** Decodes a picture of a named format to plain pixels, with another program than the one that wrote it where there is one. */
import { execFile } from 'node:child_process';
import { mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { remembered } from '../remembered.ts';

const run = promisify(execFile);

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** Four bytes a pixel: red, green, blue, opacity. */
  readonly pixels: Buffer;
}

/** FFmpeg's demuxer, and decoder where the demuxer does not imply it. Neither looks at the name or guesses. */
const FFMPEG: Readonly<Record<string, readonly string[]>> = {
  png: ['-f', 'png_pipe'],
  jpg: ['-f', 'jpeg_pipe'],
  webp: ['-f', 'webp_pipe'],
  gif: ['-f', 'gif'],
  tiff: ['-f', 'tiff_pipe'],
  bmp: ['-f', 'bmp_pipe'],
  jp2: ['-f', 'j2k_pipe'],
  jxl: ['-f', 'image2pipe', '-c:v', 'libjxl'],
  ico: ['-f', 'ico'],
  tga: ['-f', 'image2pipe', '-c:v', 'targa'],
  ppm: ['-f', 'ppm_pipe'],
  pgm: ['-f', 'pgm_pipe'],
  pbm: ['-f', 'pbm_pipe'],
  pam: ['-f', 'pam_pipe'],
  pcx: ['-f', 'pcx_pipe'],
  psd: ['-f', 'psd_pipe'],
  xbm: ['-f', 'xbm_pipe'],
  dds: ['-f', 'dds_pipe'],
  sgi: ['-f', 'sgi_pipe'],
  ras: ['-f', 'sunrast_pipe'],
  dpx: ['-f', 'dpx_pipe'],
  fits: ['-f', 'fits'],
  apng: ['-f', 'apng'],
  exr: ['-apply_trc', 'iec61966_2_1', '-f', 'exr_pipe'],
  qoi: ['-f', 'qoi_pipe'],
  jls: ['-f', 'jpegls_pipe'],
  xwd: ['-f', 'xwd_pipe'],
  pgx: ['-f', 'pgx_pipe'],
  j2k: ['-f', 'j2k_pipe'],
  lbm: ['-f', 'iff'],
};

/** What FFmpeg 5.1 cannot read: of XPM, colours by name. */
const IMAGEMAGICK: Readonly<Record<string, string>> = {
  heic: 'heic',
  hdr: 'hdr',
  xpm: 'xpm',
  ...Object.fromEntries('psb mng jng dcx cin jbig wbmp viff vicar pfm ipl mtv aai avs art rle'.split(' ').map((id) => [id, id])),
  cal: 'cals',
};

/** What no other program here reads: the other direction of the one that wrote it. */
export const NETPBM: Readonly<Record<string, string>> = {
  srf: 'srftopam',
  icon: 'sunicontopnm',
  mrf: 'mrftopbm',
  mgr: 'mgrtopbm',
  g3: 'g3topbm',
};

/** First bytes, for formats whose decoder would take another's. */
const MAGIC: Readonly<Record<string, RegExp>> = {
  ppm: /^P6/,
  pgm: /^P5/,
  pbm: /^P4/,
  pam: /^P7/,
  avif: /^....ftypavif/s,
  heic: /^....ftyp(heic|heix|mif1)/s,
  hdr: /^#\?RADIANCE/,
  xpm: /^\/\* XPM \*\//,
  apng: /^\x89PNG.*acTL/s,
  svg: /<svg/,
  emf: /^\x01\0\0\0[\s\S]{36} EMF/,
  wmf: /^\xd7\xcd\xc6\x9a\0\0/,
  mng: /^\x8aMNG/,
  jng: /^\x8bJNG/,
  dcx: /^\xb1\x68\xde\x3a/,
  cin: /^\x80\x2a\x5f\xd7/,
  viff: /^\xab\x01/,
  vicar: /^LBLSIZE=/,
  pfm: /^P[Ff]\n/,
  cal: /^srcdocid:/,
  pdf: /^%PDF-1\./,
  eps: /^%!PS-Adobe-3\.0 EPSF-3\.0/,
  icns: /^icns/,
  psb: /^8BPS\0\x02/,
  j2k: /^\xff\x4f\xff\x51/,
  lbm: /^FORM[\s\S]{4}ILBM/,
  rle: /^\x52\xcc/,
  jxr: /^II\xbc\x01/,
  g3: /^\0/,
};

/** The frames of a picture, at most `most`. @throws where the file is not of that format */
export const decode = remembered(async (path: string, format: string, most = 1): Promise<Picture[]> => {
  const head = await firstBytes(path);
  if (MAGIC[format]?.test(head) === false) throw new Error(`this is no ${format}: it starts with ${JSON.stringify(head.slice(0, 16))}`);
  if (format === 'pdf') return [await page(path)];
  if (format === 'eps') return [await printed(path)];
  if (format === 'icns') return [await iconOf(path)];
  if (format === 'jxr') return [await jpegXr(path)];
  const netpbm = NETPBM[format];
  if (netpbm !== undefined) return [await printedBy(netpbm, path)];
  if (format === 'avif') return [await heif(path)];
  // No other program here reads Windows' metafiles: LibreOffice draws what it wrote.
  if (format === 'svg' || format === 'emf' || format === 'wmf')
    return [
      await pam('/usr/bin/convert-im6.q16', [
        `png:${await (format === 'svg' ? drawn(path) : opened(path))}`,
        '-background',
        'white',
        '-alpha',
        'remove',
        // In the middle of a page.
        ...(format === 'svg' ? [] : ['-trim', '+repage']),
        '-type',
        'TrueColor',
        '-depth',
        '8',
        'pam:-',
      ]),
    ];
  // FFmpeg 5.1 reads no animated WebP.
  const coder = format === 'webp' && head.includes('ANIM') ? 'webp' : IMAGEMAGICK[format];
  if (coder !== undefined) {
    const plain = ['-colorspace', 'sRGB', '-type', 'TrueColorMatte', '-depth', '8', 'pam:-'];
    return pams('/usr/bin/convert-im6.q16', [
      `${coder}:${path}[0-${Number(most) - 1}]`,
      ...(format === 'webp' ? ['-coalesce'] : []),
      ...plain,
    ]);
  }
  const reader = FFMPEG[format];
  if (reader === undefined) throw new Error(`no judge for pictures of the format ${format}`);
  return pams('/usr/bin/ffmpeg', [
    '-v',
    'error',
    '-protocol_whitelist',
    'file,pipe',
    ...reader,
    '-i',
    path,
    '-frames:v',
    `${most}`,
    ...TO_PAM,
  ]);
});

const TO_PAM = ['-f', 'image2pipe', '-c:v', 'pam', '-pix_fmt', 'rgba', 'pipe:1'];

async function firstBytes(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(256), 0, 256, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** The first page, 480 px along its longer side. */
async function page(path: string): Promise<Picture> {
  const folder = await mkdtemp(join(tmpdir(), 'judge-'));
  try {
    await run('/usr/bin/pdftoppm', ['-scale-to', '480', '-f', '1', '-l', '1', '-singlefile', '-png', path, join(folder, 'page')]);
    return await pam('/usr/bin/ffmpeg', ['-v', 'error', '-f', 'png_pipe', '-i', join(folder, 'page.png'), ...TO_PAM]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** By Ghostscript, at 144 dpi. */
async function printed(path: string): Promise<Picture> {
  const folder = await mkdtemp(join(tmpdir(), 'judge-'));
  try {
    const png = join(folder, 'page.png');
    await run('/usr/bin/gs', ['-q', '-dSAFER', '-dBATCH', '-dNOPAUSE', '-dEPSCrop', '-sDEVICE=png16m', '-r144', '-o', png, path]);
    return await pam('/usr/bin/ffmpeg', ['-v', 'error', '-f', 'png_pipe', '-i', png, ...TO_PAM]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The picture of 32 px of Apple's icon. */
async function iconOf(path: string): Promise<Picture> {
  const folder = await mkdtemp(join(tmpdir(), 'judge-'));
  try {
    await run('/usr/bin/icns2png', ['-x', '-o', folder, path]);
    const [name = ''] = (await readdir(folder)).filter((each) => each.includes('_32x32x32'));
    return await pam('/usr/bin/convert-im6.q16', [`png:${join(folder, name)}`, '-type', 'TrueColorMatte', '-depth', '8', 'pam:-']);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function jpegXr(path: string): Promise<Picture> {
  const folder = await mkdtemp(join(tmpdir(), 'judge-'));
  try {
    const tiff = join(folder, 'picture.tif');
    await run('JxrDecApp', ['-i', path, '-o', tiff]);
    return await pam('/usr/bin/ffmpeg', ['-v', 'error', '-f', 'tiff_pipe', '-i', tiff, ...TO_PAM]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** @param program prints a picture in one of Netpbm's formats */
async function printedBy(program: string, path: string): Promise<Picture> {
  const folder = await mkdtemp(join(tmpdir(), 'judge-'));
  try {
    const picture = join(folder, 'picture.pnm');
    await writeFile(picture, (await run(program, [path], { encoding: 'buffer', maxBuffer: 1 << 28 })).stdout);
    return await pam('/usr/bin/convert-im6.q16', [`pnm:${picture}`, '-type', 'TrueColorMatte', '-depth', '8', 'pam:-']);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function drawn(path: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'judge-'));
  await run('/usr/bin/rsvg-convert', ['-o', join(folder, 'drawn.png'), path]);
  return join(folder, 'drawn.png');
}

async function opened(path: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'judge-'));
  const profile = `-env:UserInstallation=file://${folder}/profile`;
  await run('soffice', [profile, '--headless', '--convert-to', 'png', '--outdir', folder, path], { timeout: 120_000 });
  const [png] = (await readdir(folder)).filter((name) => name.endsWith('.png'));
  if (png === undefined) throw new Error(`LibreOffice does not open ${path}`);
  return join(folder, png);
}

const pam = async (program: string, args: readonly string[]): Promise<Picture> => {
  const [picture] = await pams(program, args);
  if (picture === undefined) throw new Error('nothing was decoded');
  return picture;
};

export async function pams(program: string, args: readonly string[]): Promise<Picture[]> {
  const { stdout } = await run(program, args, { encoding: 'buffer', maxBuffer: 1 << 28 });
  const pictures: Picture[] = [];
  for (let at = 0; at < stdout.length; ) {
    const end = stdout.indexOf('ENDHDR\n', at);
    if (end < 0) throw new Error('the decoder did not write PAM');
    const header = stdout.toString('latin1', at, end);
    const field = (name: string) => Number(new RegExp(`${name} (\\d+)`).exec(header)?.[1] ?? 0);
    const [width, height, depth] = [field('WIDTH'), field('HEIGHT'), field('DEPTH')];
    const start = end + 'ENDHDR\n'.length;
    const raw = stdout.subarray(start, start + width * height * depth);
    pictures.push({ width, height, pixels: depth === 4 ? raw : widened(raw, depth) });
    at = start + width * height * depth;
  }
  if (pictures.length === 0) throw new Error('nothing was decoded');
  return pictures;
}

/** Grey, grey with opacity, or colours, as colours with opacity. */
function widened(raw: Buffer, depth: number): Buffer {
  const wide = Buffer.alloc((raw.length / depth) * 4, 255);
  for (let pixel = 0; pixel * depth < raw.length; pixel++)
    for (let channel = 0; channel < 3; channel++) wide[pixel * 4 + channel] = raw[pixel * depth + (depth < 3 ? 0 : channel)] ?? 0;
  return wide;
}

/** By libheif, as FFmpeg 5.1 does not read every AVIF. */
async function heif(path: string): Promise<Picture> {
  const folder = await mkdtemp(join(tmpdir(), 'filemill-avif-'));
  try {
    const png = join(folder, 'decoded.png');
    await run('/usr/bin/heif-convert', [path, png]);
    return await pam('/usr/bin/convert-im6.q16', [`png:${png}`, '-type', 'TrueColorMatte', '-depth', '8', 'pam:-']);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
