/** Fonts. */
import { isBareCff, isBitmapFont, isCffFont, isDfont, isTrueType } from '../looks/font.ts';
import { type Format, format, type Traits } from './format.ts';

const font = (id: string, mime: string, traits?: Traits) => format('font', id, mime, { kin: 'font', ...traits });

export const fonts: readonly Format[] = [
  font('otb', 'font/sfnt', { looks: isBitmapFont }),
  font('ttf', 'font/ttf', { looks: isTrueType }),
  font('otf', 'font/otf', { looks: isCffFont }),
  font('woff', 'font/woff', { signatures: ['wOFF'] }),
  font('woff2', 'font/woff2', { signatures: ['wOF2'] }),
  font('eot', 'application/vnd.ms-fontobject', {
    signatures: ['\0\0\x01\0', '\x01\0\x02\0', '\x02\0\x02\0'].map((version) => [
      [8, version],
      [34, 'LP'],
    ]),
  }),
  font('ttc', 'font/collection', { aliases: ['otc'], signatures: ['ttcf\0\x01\0\0', 'ttcf\0\x02\0\0'] }),
  font('dfont', 'application/x-dfont', { looks: isDfont }),
  font('pfa', 'application/x-font-type1', { signatures: ['%!PS-AdobeFont-1', '%!FontType1-'] }),
  font('pfb', 'application/x-font-type1', {
    aliases: ['t1'],
    signatures: ['%!PS-AdobeFont-1', '%!FontType1-'].map((beginning) => [
      [0, '\x80\x01'],
      [6, beginning],
    ]),
  }),
  font('cff', 'application/x-font-cff', { looks: isBareCff }),
  font('svgf', 'image/svg+xml'),
  font('ufoz', 'application/x-ufo+zip', { aliases: ['ufo'] }),
  font('bdf', 'application/x-font-bdf', { signatures: ['STARTFONT 2'] }),
  font('pcf', 'application/x-font-pcf', { signatures: ['\x01fcp'] }),
];
