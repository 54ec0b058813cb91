/** Pictures and drawings. */

import { latin1, u32be } from '../looks/bytes.ts';
import {
  isAai,
  isApng,
  isArbitraryMap,
  isArt,
  isAvs,
  isBitmap,
  isBmp,
  isCursor,
  isFax,
  isFits,
  isGraymap,
  isIcon,
  isJbig,
  isJpeg,
  isJpeg2000,
  isJpegLs,
  isJxlStream,
  isMgr,
  isMtv,
  isPcx,
  isPfm,
  isPict,
  isPixmap,
  isPng,
  isSgi,
  isUtahRle,
  isWbmp,
  isXcf,
  isXpm,
  isXwd,
} from '../looks/image.ts';
import { type Format, format, type Traits } from './format.ts';
import { riff } from './riff.ts';

const image = (id: string, mime: string, traits?: Traits) => format('image', id, mime, traits);
const rare = (id: string, mime: string, traits?: Traits) => image(id, mime, { use: 'rare', ...traits });

/** What sensors of cameras saw, in each maker's own format. Those that are TIFF inside are told apart by `sniff/raw.ts`, CR3 by its brand. */
const RAWS: readonly (readonly [id: string, mime: string, traits?: Traits])[] = [
  ['cr2', 'image/x-canon-cr2'],
  ['cr3', 'image/x-canon-cr3'],
  ['crw', 'image/x-canon-crw', { signatures: ['II\x1a\0\0\0HEAPCCDR'] }],
  ['nef', 'image/x-nikon-nef', { aliases: ['nrw'] }],
  ['arw', 'image/x-sony-arw', { aliases: ['sr2', 'srf'] }],
  ['srw', 'image/x-samsung-srw'],
  ['pef', 'image/x-pentax-pef'],
  ['raf', 'image/x-fuji-raf', { signatures: ['FUJIFILMCCD-RAW '] }],
  ['orf', 'image/x-olympus-orf', { signatures: ['IIRO', 'IIRS', 'MMOR'] }],
  ['rw2', 'image/x-panasonic-rw2', { signatures: ['IIU\0'] }],
  ['mrw', 'image/x-minolta-mrw', { signatures: ['\0MRM'] }],
  ['x3f', 'image/x-sigma-x3f', { signatures: ['FOVb'] }],
];

export const pictures: readonly Format[] = [
  image('png', 'image/png', { use: 'common', also: ['apng'], kin: 'png', looks: isPng, carries: 'everything' }),
  image('jpg', 'image/jpeg', {
    aliases: ['jpeg', 'jpe', 'jfif', 'jif', 'jfi'],
    use: 'common',
    also: ['mjpeg'],
    looks: isJpeg,
  }),
  image('webp', 'image/webp', { use: 'common', holds: 'many', signatures: [riff('RIFF', 'WEBP')] }),
  image('gif', 'image/gif', { use: 'common', holds: 'many', signatures: ['GIF87a', 'GIF89a'] }),
  image('tiff', 'image/tiff', {
    aliases: ['tif'],
    holds: 'many',
    signatures: ['II*\0', 'MM\0*', 'II+\0\x08\0', 'MM\0+\0\x08'],
  }),
  image('bmp', 'image/bmp', { aliases: ['dib'], looks: isBmp }),
  image('avif', 'image/avif', { aliases: ['avifs'], kin: 'heif' }),
  image('heic', 'image/heic', { aliases: ['heif', 'hif'], kin: 'heif' }),
  image('jp2', 'image/jp2', { aliases: ['jpf', 'jpx'], kin: 'jpeg2000', looks: isJpeg2000 }),
  image('jxl', 'image/jxl', { signatures: ['\0\0\0\x0cJXL \r\n\x87\n'], looks: isJxlStream }),
  image('ico', 'image/vnd.microsoft.icon', { tiny: true, kin: 'icon', looks: isIcon }),
  image('cur', 'image/x-win-bitmap', { tiny: true, kin: 'icon', looks: isCursor }),
  image('tga', 'image/x-tga', { aliases: ['icb', 'vda', 'vst'], tie: 'tga' }),
  image('ppm', 'image/x-portable-pixmap', { aliases: ['pnm'], kin: 'netpbm', looks: isPixmap }),
  image('pgm', 'image/x-portable-graymap', { kin: 'netpbm', looks: isGraymap }),
  image('pbm', 'image/x-portable-bitmap', { kin: 'netpbm', looks: isBitmap }),
  image('pam', 'image/x-portable-arbitrarymap', { kin: 'netpbm', looks: isArbitraryMap }),
  image('pcx', 'image/x-pcx', { looks: isPcx }),
  image('psd', 'image/vnd.adobe.photoshop', { kin: 'photoshop', signatures: ['8BPS\0\x01'] }),
  image('xbm', 'image/x-xbitmap'),
  image('xpm', 'image/x-xpixmap', { looks: isXpm }),
  image('dds', 'image/vnd-ms.dds', { signatures: ['DDS \x7c\0\0\0'] }),
  rare('exr', 'image/x-exr', { signatures: ['\x76\x2f\x31\x01'] }),
  image('hdr', 'image/vnd.radiance', { signatures: ['#?RADIANCE', '#?RGBE'] }),
  image('sgi', 'image/x-sgi', { aliases: ['rgb', 'rgba', 'bw'], looks: isSgi }),
  image('ras', 'image/x-sun-raster', { aliases: ['sun'], signatures: ['\x59\xa6\x6a\x95'] }),
  image('dpx', 'image/x-dpx', { signatures: ['SDPX', 'XPDS'] }),
  image('fits', 'image/fits', { aliases: ['fit', 'fts'], looks: isFits }),
  image('xcf', 'image/x-xcf', { looks: isXcf }),
  image('pict', 'image/x-pict', { aliases: ['pct'], looks: isPict }),
  image('dng', 'image/x-adobe-dng'),
  // PS3.10, 7.1: a preamble of 128 bytes for other programs.
  rare('dcm', 'application/dicom', { aliases: ['dicom', 'dic'], signatures: [[[128, 'DICM']]] }),
  ...RAWS.map(([id, mime, traits]) => image(id, mime, { unproven: true, ...traits })),
  rare('psb', 'image/vnd.adobe.photoshop-large', { kin: 'photoshop', signatures: ['8BPS\0\x02'] }),
  // ISO 15444-1, A.4.1: the code stream without the boxes around it.
  rare('j2k', 'image/x-j2k', { aliases: ['j2c', 'jpc'], kin: 'jpeg2000', signatures: ['\xff\x4f\xff\x51'] }),
  rare('ora', 'image/openraster', { kin: 'layers', zip: 'mimetype' }),
  rare('kra', 'application/x-krita', { kin: 'layers', zip: 'mimetype' }),
  rare('icns', 'image/icns', {
    tiny: true,
    kin: 'icon',
    looks: ({ head, size }) => latin1(head, 0, 4) === 'icns' && u32be(head, 4) === size,
  }),
  rare('qoi', 'image/qoi', { signatures: ['qoif'] }),
  rare('jls', 'image/jls', { looks: isJpegLs }),
  // Programs that know no animations show its first picture.
  image('apng', 'image/apng', { holds: 'many', kin: 'png', looks: isApng }),
  rare('mng', 'video/x-mng', { holds: 'many', signatures: ['\x8aMNG\r\n\x1a\n'] }),
  rare('jng', 'image/x-jng', { signatures: ['\x8bJNG\r\n\x1a\n'] }),
  rare('dcx', 'image/x-dcx', { holds: 'many', signatures: ['\xb1\x68\xde\x3a'] }),
  rare('cin', 'image/x-cineon', { signatures: ['\x80\x2a\x5f\xd7'] }),
  // MIL-PRF-28002: records of 128 bytes.
  rare('cal', 'image/x-cals', {
    aliases: ['cals'],
    signatures: [
      [
        [0, 'srcdocid:'],
        [128, 'dstdocid:'],
      ],
    ],
  }),
  rare('jbig', 'image/x-jbig', { aliases: ['jbg', 'bie'], looks: isJbig }),
  rare('wbmp', 'image/vnd.wap.wbmp', { aliases: ['wbm'], looks: isWbmp }),
  rare('xwd', 'image/x-xwindowdump', { looks: isXwd }),
  rare('viff', 'image/x-viff', { aliases: ['xv'], signatures: ['\xab\x01\x01\x03'] }),
  rare('vicar', 'image/x-vicar', { aliases: ['vic'], signatures: ['LBLSIZE='] }),
  rare('pfm', 'image/x-portable-floatmap', { kin: 'netpbm', looks: isPfm }),
  rare('pgx', 'image/x-pgx', { signatures: ['PG ML ', 'PG LM '] }),
  rare('pdb', 'image/x-palm-image', { signatures: [[[60, 'vIMGView']]] }),
  rare('ipl', 'image/x-ipl', { signatures: ['iiii\x04\0\0\0', 'mmmm\0\0\0\x04'] }),
  image('jxr', 'image/jxr', { aliases: ['wdp', 'hdp'], signatures: ['II\xbc\x01'] }),
  // The Amiga's picture format (EA IFF 85, "ILBM").
  rare('lbm', 'image/x-ilbm', {
    aliases: ['ilbm', 'iff'],
    signatures: [
      [
        [0, 'FORM'],
        [8, 'ILBM'],
      ],
    ],
  }),
  rare('rle', 'image/x-utah-rle', { looks: isUtahRle }),
  rare('srf', 'image/x-garmin-srf', { signatures: ['GARMIN BITMAP 01'] }),
  rare('icon', 'image/x-sun-icon', { signatures: ['/* Format_version=1'] }),
  rare('mrf', 'image/x-mrf', { signatures: ['MRF1'] }),
  rare('mgr', 'image/x-mgr', { looks: isMgr }),
  rare('g3', 'image/g3fax', { aliases: ['fax'], looks: isFax }),
  // Those without any signature: dimensions that fit the size of the file.
  rare('mtv', 'image/x-mtv', { looks: isMtv }),
  rare('aai', 'image/x-aai', { looks: isAai }),
  rare('avs', 'image/x-avs', { looks: isAvs }),
  rare('art', 'image/x-art', { looks: isArt }),
  format('vector', 'svg', 'image/svg+xml', { use: 'common' }),
  // [MS-EMF] 2.3.4.2 Header: the record's type, and its signature after three rectangles and sizes.
  format('vector', 'emf', 'image/emf', {
    use: 'rare',
    signatures: [
      [
        [0, '\x01\0\0\0'],
        [40, ' EMF'],
      ],
    ],
  }),
  // [MS-WMF] 2.3.2.2 META_HEADER and 2.3.2.3 META_PLACEABLE.
  format('vector', 'wmf', 'image/wmf', {
    aliases: ['apm'],
    use: 'rare',
    signatures: ['\xd7\xcd\xc6\x9a\0\0', '\x01\0\x09\0\0\x03', '\x01\0\x09\0\0\x01'],
  }),
  format('vector', 'eps', 'application/postscript', { aliases: ['epsf', 'epsi'], writtenAs: '%!PS-Adobe-3.0 EPSF-3.0' }),
];
