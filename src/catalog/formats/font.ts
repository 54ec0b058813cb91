/** Fonts. */
import { isBareCff, isBitmapFont, isCffFont, isDfont, isTrueType } from '../looks/font.ts';
import { type Format, format, type Traits } from './format.ts';

const font = (id: string, name: string, mime: string, traits?: Traits) => format('font', id, name, mime, { kin: 'font', ...traits });

export const fonts: readonly Format[] = [
  font('otb', 'OpenType bitmap font', 'font/sfnt', { looks: isBitmapFont }),
  font('ttf', 'TrueType font', 'font/ttf', {
    search: { en: 'typeface', de: 'Schrift, Schriftart', es: 'tipo de letra, fuente' },
    looks: isTrueType,
  }),
  font('otf', 'OpenType font', 'font/otf', {
    search: { en: 'typeface', de: 'Schrift, Schriftart', es: 'tipo de letra, fuente' },
    looks: isCffFont,
  }),
  font('woff', 'Web font', 'font/woff', { signatures: ['wOFF'] }),
  font('woff2', 'Web font 2', 'font/woff2', {
    search: { en: 'typeface, website', de: 'Schrift, Schriftart, Webseite', es: 'tipo de letra, fuente, sitio web' },
    signatures: ['wOF2'],
  }),
  font('eot', 'Embedded OpenType font', 'application/vnd.ms-fontobject', {
    signatures: ['\0\0\x01\0', '\x01\0\x02\0', '\x02\0\x02\0'].map((version) => [
      [8, version],
      [34, 'LP'],
    ]),
  }),
  font('ttc', 'TrueType collection', 'font/collection', { aliases: ['otc'], signatures: ['ttcf\0\x01\0\0', 'ttcf\0\x02\0\0'] }),
  font('dfont', 'Macintosh font', 'application/x-dfont', { looks: isDfont }),
  font('pfa', 'PostScript font, text', 'application/x-font-type1', { signatures: ['%!PS-AdobeFont-1', '%!FontType1-'] }),
  font('pfb', 'PostScript font, binary', 'application/x-font-type1', {
    aliases: ['t1'],
    signatures: ['%!PS-AdobeFont-1', '%!FontType1-'].map((beginning) => [
      [0, '\x80\x01'],
      [6, beginning],
    ]),
  }),
  font('cff', 'Compact Font Format', 'application/x-font-cff', { looks: isBareCff }),
  font('svgf', 'SVG font', 'image/svg+xml'),
  font('ufoz', 'Unified Font Object', 'application/x-ufo+zip', { aliases: ['ufo'] }),
  font('bdf', 'Bitmap font (BDF)', 'application/x-font-bdf', { signatures: ['STARTFONT 2'] }),
  font('pcf', 'X bitmap font', 'application/x-font-pcf', { signatures: ['\x01fcp'] }),
];
