/** Documents, sheets and slides. Main parts may be numbered (`word/document2.xml`); a binary workbook (`.bin`, xlsb) is another format. */
import { isKindle8, isMobipocket } from '../looks/book.ts';
import { isDbase } from '../looks/dbase.ts';
import { type Format, format, type Traits } from './format.ts';

const OOXML = 'application/vnd.openxmlformats-officedocument';
const OASIS = 'application/vnd.oasis.opendocument';

/** Prose in a file with pages or chapters. */
const prose = (id: string, mime: string, traits?: Traits) => format('document', id, mime, { holds: 'many', ...traits });

export const documents: readonly Format[] = [
  format('pdf', 'pdf', 'application/pdf', { holds: 'many', use: 'common', carries: 'documents' }),
  prose('docx', `${OOXML}.wordprocessingml.document`, {
    aliases: ['docm', 'dotx', 'dotm'],
    zip: /^\/?word[/\\]document\d{0,4}\.xml$/i,
    use: 'common',
    carries: 'documents',
  }),
  prose('doc', 'application/msword', { aliases: ['dot'], tie: 'ole' }),
  prose('odt', `${OASIS}.text`, { aliases: ['ott'], use: 'common', zip: 'mimetype', carries: 'documents' }),
  prose('fodt', `${OASIS}.text-flat-xml`),
  prose('rtf', 'application/rtf', { signatures: ['{\\rtf'] }),
  prose('sxw', 'application/vnd.sun.xml.writer', { aliases: ['stw'], use: 'rare', zip: 'mimetype' }),
  prose('abw', 'application/x-abiword', { use: 'rare' }),
  prose('wpd', 'application/vnd.wordperfect', { aliases: ['wp5', 'wp6'], use: 'rare', unproven: true, signatures: ['\xffWPC'] }),
  prose('wps', 'application/vnd.ms-works', { use: 'rare', unproven: true }),
  prose('pub', 'application/x-mspublisher', { use: 'rare', unproven: true }),
  prose('djvu', 'image/vnd.djvu', { aliases: ['djv'], signatures: ['AT&TFORM'] }),
  prose('epub', 'application/epub+zip', { aliases: ['epub3'], use: 'common', zip: 'mimetype', carries: 'documents' }),
  prose('fb2', 'application/x-fictionbook+xml', { aliases: ['fbz', 'fb2.zip'] }),
  prose('mobi', 'application/x-mobipocket-ebook', { aliases: ['azw'], kin: 'kindle', looks: isMobipocket }),
  prose('azw3', 'application/vnd.amazon.mobi8-ebook', { aliases: ['kf8'], kin: 'kindle', looks: isKindle8 }),
  prose('prc', 'application/vnd.palm', { aliases: ['pdoc'], use: 'rare', kin: 'kindle', signatures: [[[60, 'TEXtREAd']]] }),
  prose('lit', 'application/x-ms-reader', { use: 'rare', signatures: ['ITOLITLS'] }),
  prose('lrf', 'application/x-sony-bbeb', { use: 'rare', signatures: ['L\0R\0F\0'] }),
  prose('rb', 'application/x-rocketbook', { use: 'rare', signatures: ['\xb0\x0c\xb0\x0c'] }),
  prose('tcr', 'application/x-tcr-ebook', { use: 'rare', signatures: ['!!8-Bit!!'] }),
  // ZIPs, told apart by what is in them (sniff/zip.ts).
  prose('pmlz', 'application/x-pml+zip', { use: 'rare' }),
  prose('htmlz', 'application/x-htmlz', { use: 'rare' }),
  prose('txtz', 'application/x-txtz', { use: 'rare' }),
  prose('html', 'text/html', { aliases: ['htm', 'xhtml', 'xht', 'shtml'], tie: 'text', use: 'common', carries: 'documents' }),
  prose('eml', 'message/rfc822', { kin: 'mail' }),
  prose('msg', 'application/vnd.ms-outlook', { tie: 'ole' }),
  prose('mbox', 'application/mbox', { aliases: ['mbx'] }),
  prose('vcf', 'text/vcard', { aliases: ['vcard'], structured: true }),
  prose('ics', 'text/calendar', { aliases: ['ical', 'icalendar'], structured: true }),
  prose('mhtml', 'multipart/related', { aliases: ['mht'], kin: 'mail' }),
  format('sheet', 'xlsx', `${OOXML}.spreadsheetml.sheet`, {
    aliases: ['xlsm', 'xltx', 'xltm'],
    use: 'common',
    holds: 'many',
    zip: /^\/?xl[/\\]workbook\d{0,4}\.xml$/i,
  }),
  format('sheet', 'xls', 'application/vnd.ms-excel', { aliases: ['xlt', 'xlw'], holds: 'many', tie: 'ole' }),
  format('sheet', 'xlsb', 'application/vnd.ms-excel.sheet.binary.macroenabled.12', {
    holds: 'many',
    use: 'rare',
    zip: /^\/?xl[/\\]workbook\d{0,4}\.bin$/i,
  }),
  format('sheet', 'ods', `${OASIS}.spreadsheet`, { aliases: ['ots'], use: 'common', holds: 'many', zip: 'mimetype' }),
  format('sheet', 'fods', `${OASIS}.spreadsheet-flat-xml`, { holds: 'many' }),
  format('sheet', 'csv', 'text/csv', { use: 'common', tie: 'text' }),
  format('sheet', 'tsv', 'text/tab-separated-values', { aliases: ['tab'], tie: 'text' }),
  format('sheet', 'slk', 'application/x-sylk', { aliases: ['sylk'], use: 'rare', structured: true }),
  format('sheet', 'dif', 'application/x-dif', { use: 'rare', structured: true }),
  format('sheet', 'dbf', 'application/vnd.dbf', { looks: isDbase }),
  format('sheet', 'sxc', 'application/vnd.sun.xml.calc', { aliases: ['stc'], holds: 'many', use: 'rare', zip: 'mimetype' }),
  format('slides', 'pptx', `${OOXML}.presentationml.presentation`, {
    aliases: ['pptm', 'ppsx', 'potx', 'ppsm', 'potm'],
    use: 'common',
    holds: 'many',
    zip: /^\/?ppt[/\\]presentation\d{0,4}\.xml$/i,
  }),
  format('slides', 'ppt', 'application/vnd.ms-powerpoint', { aliases: ['pps', 'pot'], holds: 'many', tie: 'ole' }),
  format('slides', 'odp', `${OASIS}.presentation`, { aliases: ['otp'], use: 'common', holds: 'many', zip: 'mimetype' }),
  format('slides', 'sxi', 'application/vnd.sun.xml.impress', { aliases: ['sti'], holds: 'many', use: 'rare', zip: 'mimetype' }),
  format('slides', 'sxd', 'application/vnd.sun.xml.draw', { aliases: ['std'], holds: 'many', use: 'rare', zip: 'mimetype' }),
  format('slides', 'odg', `${OASIS}.graphics`, { aliases: ['otg'], holds: 'many', use: 'rare', zip: 'mimetype' }),
  format('slides', 'fodg', `${OASIS}.graphics-flat-xml`, { holds: 'many', use: 'rare' }),
  format('slides', 'vsdx', 'application/vnd.ms-visio.drawing.main+xml', {
    aliases: ['vsdm', 'vstx'],
    holds: 'many',
    use: 'rare',
    zip: /^\/?visio[/\\]document\.xml$/i,
  }),
  format('slides', 'vsd', 'application/vnd.visio', { aliases: ['vst'], holds: 'many', use: 'rare', unproven: true }),
  format('slides', 'fodp', `${OASIS}.presentation-flat-xml`, { holds: 'many' }),
];
