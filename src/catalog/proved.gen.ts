/** With which version of each engine the test suite proved its conversions. Written by `make proved`: do not edit. */

/** Upstream's major.minor, by engine id. */
export const proved: Readonly<Record<string, string>> = {
  assimp: '5.2',
  'chromium-web': '156.0',
  chromium: '156.0',
  ffmpeg: '5.1',
  ghostscript: '10.00',
  heif: '1.15',
  'imagemagick-retouch': '8.18',
  imagemagick: '6.9',
  jxl: '0.7',
  libarchive: '3.6',
  'libreoffice-pdf': '7.4',
  libreoffice: '7.4',
  'pandoc-page': '2.17',
  pandoc: '2.17',
  pdftohtml: '22.12',
  pdftotext: '22.12',
  poppler: '22.12',
  potrace: '1.16',
  qpdf: '11.3',
  rsvg: '2.54',
  scans: '5.3',
  sharp: '8.18',
  tesseract: '5.3',
  tiff2pdf: '4.5',
};
