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

const image = (id: string, name: string, mime: string, traits?: Traits) => format('image', id, name, mime, traits);
const rare = (id: string, name: string, mime: string, traits?: Traits) => image(id, name, mime, { use: 'rare', ...traits });

/** Words that people search raw photos by. */
const CAMERA = { en: 'camera, photo', de: 'Kamera, Foto, Rohdaten', es: 'cámara, foto' };

/** Camera raw formats, one or more for each maker. Those that are TIFF inside are told apart by `sniff/raw.ts`, CR3 by its brand. */
const RAWS: readonly (readonly [id: string, name: string, mime: string, traits?: Traits])[] = [
  ['cr2', 'Canon raw 2', 'image/x-canon-cr2', { search: CAMERA }],
  ['cr3', 'Canon raw 3', 'image/x-canon-cr3', { search: CAMERA }],
  ['crw', 'Canon raw', 'image/x-canon-crw', { signatures: ['II\x1a\0\0\0HEAPCCDR'] }],
  ['nef', 'Nikon raw', 'image/x-nikon-nef', { search: CAMERA, aliases: ['nrw'] }],
  ['arw', 'Sony raw', 'image/x-sony-arw', { search: CAMERA, aliases: ['sr2', 'srf'] }],
  ['srw', 'Samsung raw', 'image/x-samsung-srw'],
  ['pef', 'Pentax raw', 'image/x-pentax-pef'],
  ['raf', 'Fujifilm raw', 'image/x-fuji-raf', { search: CAMERA, signatures: ['FUJIFILMCCD-RAW '] }],
  ['orf', 'Olympus raw', 'image/x-olympus-orf', { signatures: ['IIRO', 'IIRS', 'MMOR'] }],
  ['rw2', 'Panasonic raw', 'image/x-panasonic-rw2', { signatures: ['IIU\0'] }],
  ['mrw', 'Minolta raw', 'image/x-minolta-mrw', { signatures: ['\0MRM'] }],
  ['x3f', 'Sigma raw', 'image/x-sigma-x3f', { signatures: ['FOVb'] }],
];

export const pictures: readonly Format[] = [
  image('png', 'Portable Network Graphics', 'image/png', {
    search: {
      en: 'picture, screenshot, transparent, lossless',
      de: 'Bild, Bildschirmfoto, transparent, verlustfrei',
      es: 'imagen, captura de pantalla, transparente, sin pérdida',
    },
    use: 'common',
    also: ['apng'],
    kin: 'png',
    looks: isPng,
    carries: 'everything',
  }),
  image('jpg', 'JPEG', 'image/jpeg', {
    search: { en: 'picture, photo, camera, small', de: 'Bild, Foto, Kamera, klein', es: 'imagen, foto, cámara, pequeño' },
    aliases: ['jpeg', 'jpe', 'jfif', 'jif', 'jfi'],
    use: 'common',
    also: ['mjpeg'],
    looks: isJpeg,
  }),
  image('webp', 'WebP', 'image/webp', {
    search: {
      en: 'picture, website, small, transparent',
      de: 'Bild, Webseite, klein, transparent',
      es: 'imagen, sitio web, pequeño, transparente',
    },
    use: 'common',
    holds: 'many',
    signatures: [riff('RIFF', 'WEBP')],
  }),
  image('gif', 'Graphics Interchange Format', 'image/gif', {
    search: { en: 'animation, animated, meme', de: 'Animation, animiert, bewegtes Bild', es: 'animación, animado, meme' },
    use: 'common',
    holds: 'many',
    signatures: ['GIF87a', 'GIF89a'],
  }),
  image('tiff', 'Tagged Image File Format', 'image/tiff', {
    search: { en: 'scan, print, fax', de: 'Scan, Druck, Fax', es: 'escaneo, impresión, fax' },
    aliases: ['tif'],
    holds: 'many',
    signatures: ['II*\0', 'MM\0*', 'II+\0\x08\0', 'MM\0+\0\x08'],
  }),
  image('bmp', 'Windows bitmap', 'image/bmp', { aliases: ['dib'], looks: isBmp }),
  image('avif', 'AV1 image', 'image/avif', {
    search: { en: 'picture, website, smallest', de: 'Bild, Webseite, kleinste', es: 'imagen, sitio web, el más pequeño' },
    aliases: ['avifs'],
    kin: 'heif',
  }),
  image('heic', 'High Efficiency Image (iPhone)', 'image/heic', {
    search: { en: 'apple photo, ipad, phone photo', de: 'Apple-Foto, iPad, Handyfoto', es: 'foto de Apple, iPad, foto del móvil' },
    aliases: ['heif', 'hif'],
    kin: 'heif',
  }),
  image('jp2', 'JPEG 2000', 'image/jp2', { aliases: ['jpf', 'jpx'], kin: 'jpeg2000', looks: isJpeg2000 }),
  image('jxl', 'JPEG XL', 'image/jxl', { signatures: ['\0\0\0\x0cJXL \r\n\x87\n'], looks: isJxlStream }),
  image('ico', 'Windows icon', 'image/vnd.microsoft.icon', {
    search: { en: 'favicon, website icon', de: 'Favicon, Symbol einer Webseite', es: 'favicon, icono de un sitio web' },
    tiny: true,
    kin: 'icon',
    looks: isIcon,
  }),
  image('cur', 'Windows cursor', 'image/x-win-bitmap', { tiny: true, kin: 'icon', looks: isCursor }),
  image('tga', 'Truevision Targa', 'image/x-tga', { aliases: ['icb', 'vda', 'vst'], tie: 'tga' }),
  image('ppm', 'Portable Pixmap', 'image/x-portable-pixmap', { aliases: ['pnm'], kin: 'netpbm', looks: isPixmap }),
  image('pgm', 'Portable Graymap', 'image/x-portable-graymap', { kin: 'netpbm', looks: isGraymap }),
  image('pbm', 'Portable Bitmap', 'image/x-portable-bitmap', { kin: 'netpbm', looks: isBitmap }),
  image('pam', 'Portable Arbitrary Map', 'image/x-portable-arbitrarymap', { kin: 'netpbm', looks: isArbitraryMap }),
  image('pcx', 'PC Paintbrush', 'image/x-pcx', { looks: isPcx }),
  image('psd', 'Adobe Photoshop', 'image/vnd.adobe.photoshop', {
    search: { en: 'layers, photo editor', de: 'Ebenen, Bildbearbeitung', es: 'capas, editor de fotos' },
    kin: 'photoshop',
    signatures: ['8BPS\0\x01'],
  }),
  image('xbm', 'X BitMap', 'image/x-xbitmap'),
  image('xpm', 'X PixMap', 'image/x-xpixmap', { looks: isXpm }),
  image('dds', 'DirectDraw Surface', 'image/vnd-ms.dds', { signatures: ['DDS \x7c\0\0\0'] }),
  rare('exr', 'OpenEXR', 'image/x-exr', { signatures: ['\x76\x2f\x31\x01'] }),
  image('hdr', 'Radiance HDR', 'image/vnd.radiance', { signatures: ['#?RADIANCE', '#?RGBE'] }),
  image('sgi', 'Silicon Graphics image', 'image/x-sgi', { aliases: ['rgb', 'rgba', 'bw'], looks: isSgi }),
  image('ras', 'Sun Raster', 'image/x-sun-raster', { aliases: ['sun'], signatures: ['\x59\xa6\x6a\x95'] }),
  image('dpx', 'Digital Picture Exchange', 'image/x-dpx', { signatures: ['SDPX', 'XPDS'] }),
  image('fits', 'Flexible Image Transport System', 'image/fits', { aliases: ['fit', 'fts'], looks: isFits }),
  image('xcf', 'GIMP', 'image/x-xcf', {
    search: { en: 'layers, photo editor', de: 'Ebenen, Bildbearbeitung', es: 'capas, editor de fotos' },
    looks: isXcf,
  }),
  image('pict', 'Apple QuickDraw picture', 'image/x-pict', { aliases: ['pct'], looks: isPict }),
  image('dng', 'Adobe Digital Negative', 'image/x-adobe-dng', { search: { en: 'raw, camera', de: 'Rohdaten, Kamera', es: 'raw, cámara' } }),
  // PS3.10, 7.1: a preamble of 128 bytes for other programs.
  rare('dcm', 'DICOM medical image', 'application/dicom', {
    search: { en: 'x-ray, mri, ct, scan', de: 'Röntgenbild, MRT, CT', es: 'radiografía, resonancia, TAC' },
    aliases: ['dicom', 'dic'],
    signatures: [[[128, 'DICM']]],
  }),
  ...RAWS.map(([id, name, mime, traits]) => image(id, name, mime, { unproven: true, ...traits })),
  rare('psb', 'Adobe Photoshop, large', 'image/vnd.adobe.photoshop-large', { kin: 'photoshop', signatures: ['8BPS\0\x02'] }),
  // ISO 15444-1, A.4.1: the code stream without the boxes around it.
  rare('j2k', 'JPEG 2000 codestream', 'image/x-j2k', { aliases: ['j2c', 'jpc'], kin: 'jpeg2000', signatures: ['\xff\x4f\xff\x51'] }),
  rare('ora', 'OpenRaster', 'image/openraster', { kin: 'layers', zip: 'mimetype' }),
  rare('kra', 'Krita', 'application/x-krita', { kin: 'layers', zip: 'mimetype' }),
  rare('icns', 'Apple icon', 'image/icns', {
    search: { en: 'mac icon, app icon', de: 'Symbol für den Mac, App-Symbol', es: 'icono de Mac, icono de una aplicación' },
    tiny: true,
    kin: 'icon',
    looks: ({ head, size }) => latin1(head, 0, 4) === 'icns' && u32be(head, 4) === size,
  }),
  rare('qoi', 'Quite OK Image', 'image/qoi', { signatures: ['qoif'] }),
  rare('jls', 'JPEG-LS', 'image/jls', { looks: isJpegLs }),
  // Programs that know no animations show its first picture.
  image('apng', 'Animated PNG', 'image/apng', {
    search: { en: 'animation, animated, sticker', de: 'Animation, animiert, Sticker', es: 'animación, animado, pegatina' },
    holds: 'many',
    kin: 'png',
    looks: isApng,
  }),
  rare('mng', 'Multiple-image Network Graphics', 'video/x-mng', { holds: 'many', signatures: ['\x8aMNG\r\n\x1a\n'] }),
  rare('jng', 'JPEG Network Graphics', 'image/x-jng', { signatures: ['\x8bJNG\r\n\x1a\n'] }),
  rare('dcx', 'PC Paintbrush, several pages', 'image/x-dcx', { holds: 'many', signatures: ['\xb1\x68\xde\x3a'] }),
  rare('cin', 'Kodak Cineon', 'image/x-cineon', { signatures: ['\x80\x2a\x5f\xd7'] }),
  // MIL-PRF-28002: records of 128 bytes.
  rare('cal', 'CALS raster', 'image/x-cals', {
    aliases: ['cals'],
    signatures: [
      [
        [0, 'srcdocid:'],
        [128, 'dstdocid:'],
      ],
    ],
  }),
  rare('jbig', 'JBIG', 'image/x-jbig', { aliases: ['jbg', 'bie'], looks: isJbig }),
  rare('wbmp', 'Wireless bitmap', 'image/vnd.wap.wbmp', { aliases: ['wbm'], looks: isWbmp }),
  rare('xwd', 'X window dump', 'image/x-xwindowdump', { looks: isXwd }),
  rare('viff', 'Khoros image', 'image/x-viff', { aliases: ['xv'], signatures: ['\xab\x01\x01\x03'] }),
  rare('vicar', 'NASA VICAR image', 'image/x-vicar', { aliases: ['vic'], signatures: ['LBLSIZE='] }),
  rare('pfm', 'Portable Floatmap', 'image/x-portable-floatmap', { kin: 'netpbm', looks: isPfm }),
  rare('pgx', 'JPEG 2000 test picture', 'image/x-pgx', { signatures: ['PG ML ', 'PG LM '] }),
  rare('pdb', 'Palm image', 'image/x-palm-image', { signatures: [[[60, 'vIMGView']]] }),
  rare('ipl', 'IPLab image', 'image/x-ipl', { signatures: ['iiii\x04\0\0\0', 'mmmm\0\0\0\x04'] }),
  image('jxr', 'JPEG XR', 'image/jxr', { aliases: ['wdp', 'hdp'], signatures: ['II\xbc\x01'] }),
  // The Amiga's picture format (EA IFF 85, "ILBM").
  rare('lbm', 'Amiga ILBM', 'image/x-ilbm', {
    aliases: ['ilbm', 'iff'],
    signatures: [
      [
        [0, 'FORM'],
        [8, 'ILBM'],
      ],
    ],
  }),
  rare('rle', 'Utah run-length image', 'image/x-utah-rle', { looks: isUtahRle }),
  rare('srf', 'Garmin bitmap', 'image/x-garmin-srf', { signatures: ['GARMIN BITMAP 01'] }),
  rare('icon', 'Sun icon', 'image/x-sun-icon', { signatures: ['/* Format_version=1'] }),
  rare('mrf', 'Monochrome recursive format', 'image/x-mrf', { signatures: ['MRF1'] }),
  rare('mgr', 'MGR bitmap', 'image/x-mgr', { looks: isMgr }),
  rare('g3', 'Fax, Group 3', 'image/g3fax', {
    search: { en: 'fax machine', de: 'Faxgerät', es: 'máquina de fax' },
    aliases: ['fax'],
    looks: isFax,
  }),
  // Those without any signature: dimensions that fit the size of the file.
  rare('mtv', 'MTV ray tracer image', 'image/x-mtv', { looks: isMtv }),
  rare('aai', 'Dune HD image', 'image/x-aai', { looks: isAai }),
  rare('avs', 'AVS X image', 'image/x-avs', { looks: isAvs }),
  rare('art', 'PFS 1st Publisher clip art', 'image/x-art', { looks: isArt }),
  format('vector', 'svg', 'Scalable Vector Graphics', 'image/svg+xml', {
    search: {
      en: 'drawing, logo, scalable, illustrator',
      de: 'Zeichnung, Logo, skalierbar, Illustrator',
      es: 'dibujo, logotipo, escalable, Illustrator',
    },
    use: 'common',
  }),
  // [MS-EMF] 2.3.4.2 Header: the record's type, and its signature after three rectangles and sizes.
  format('vector', 'emf', 'Windows Enhanced Metafile', 'image/emf', {
    use: 'rare',
    signatures: [
      [
        [0, '\x01\0\0\0'],
        [40, ' EMF'],
      ],
    ],
  }),
  // [MS-WMF] 2.3.2.2 META_HEADER and 2.3.2.3 META_PLACEABLE.
  format('vector', 'wmf', 'Windows Metafile', 'image/wmf', {
    aliases: ['apm'],
    use: 'rare',
    signatures: ['\xd7\xcd\xc6\x9a\0\0', '\x01\0\x09\0\0\x03', '\x01\0\x09\0\0\x01'],
  }),
  format('vector', 'eps', 'Encapsulated PostScript', 'application/postscript', {
    search: {
      en: 'drawing, logo, print, illustrator',
      de: 'Zeichnung, Logo, Druck, Illustrator',
      es: 'dibujo, logotipo, impresión, Illustrator',
    },
    aliases: ['epsf', 'epsi'],
    writtenAs: '%!PS-Adobe-3.0 EPSF-3.0',
  }),
];
