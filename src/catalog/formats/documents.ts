/** Documents, sheets and slides. Main parts may be numbered (`word/document2.xml`); a binary workbook (`.bin`, xlsb) is another format. */
import { isKindle8, isMobipocket } from '../looks/book.ts';
import { isDbase } from '../looks/dbase.ts';
import { type Format, format, type Traits } from './format.ts';

const OOXML = 'application/vnd.openxmlformats-officedocument';
const OASIS = 'application/vnd.oasis.opendocument';

/** Prose in a file with pages or chapters. */
const prose = (id: string, name: string, mime: string, traits?: Traits) => format('document', id, name, mime, { holds: 'many', ...traits });

export const documents: readonly Format[] = [
  format('pdf', 'pdf', 'Portable Document Format', 'application/pdf', {
    search: {
      en: 'document, acrobat, adobe, print, scan',
      de: 'Dokument, Acrobat, Adobe, Druck, Scan',
      es: 'documento, Acrobat, Adobe, imprimir, escaneo',
    },
    holds: 'many',
    use: 'common',
    carries: 'documents',
  }),
  prose('docx', 'Microsoft Word', `${OOXML}.wordprocessingml.document`, {
    search: { en: 'document, letter, office, google docs', de: 'Dokument, Brief, Office', es: 'documento, carta, Office' },
    aliases: ['docm', 'dotx', 'dotm'],
    zip: /^\/?word[/\\]document\d{0,4}\.xml$/i,
    use: 'common',
    carries: 'documents',
  }),
  prose('doc', 'Microsoft Word 97 to 2003', 'application/msword', {
    search: { en: 'document, letter, office', de: 'Dokument, Brief, Office', es: 'documento, carta, Office' },
    aliases: ['dot'],
    tie: 'ole',
  }),
  prose('odt', 'OpenDocument text', `${OASIS}.text`, {
    search: { en: 'libreoffice, writer', de: 'LibreOffice, Writer', es: 'LibreOffice, Writer' },
    aliases: ['ott'],
    use: 'common',
    zip: 'mimetype',
    carries: 'documents',
  }),
  prose('fodt', 'OpenDocument text, flat XML', `${OASIS}.text-flat-xml`),
  prose('rtf', 'Rich Text Format', 'application/rtf', { signatures: ['{\\rtf'] }),
  prose('sxw', 'OpenOffice 1 text', 'application/vnd.sun.xml.writer', { aliases: ['stw'], use: 'rare', zip: 'mimetype' }),
  prose('abw', 'AbiWord', 'application/x-abiword', { use: 'rare' }),
  prose('wpd', 'WordPerfect', 'application/vnd.wordperfect', {
    aliases: ['wp5', 'wp6'],
    use: 'rare',
    unproven: true,
    signatures: ['\xffWPC'],
  }),
  prose('wps', 'Microsoft Works', 'application/vnd.ms-works', { use: 'rare', unproven: true }),
  prose('pub', 'Microsoft Publisher', 'application/x-mspublisher', { use: 'rare', unproven: true }),
  prose('djvu', 'DjVu', 'image/vnd.djvu', { aliases: ['djv'], signatures: ['AT&TFORM'] }),
  prose('epub', 'EPUB book', 'application/epub+zip', {
    search: { en: 'e-book, ebook, kobo, reader', de: 'E-Book, Buch, Kobo, Tolino', es: 'libro electrónico, Kobo' },
    aliases: ['epub3'],
    use: 'common',
    zip: 'mimetype',
    carries: 'documents',
  }),
  prose('fb2', 'FictionBook', 'application/x-fictionbook+xml', { aliases: ['fbz', 'fb2.zip'] }),
  prose('mobi', 'Mobipocket book (Kindle)', 'application/x-mobipocket-ebook', {
    search: { en: 'e-book, ebook, amazon', de: 'E-Book, Buch, Amazon', es: 'libro electrónico, Amazon' },
    aliases: ['azw'],
    kin: 'kindle',
    looks: isMobipocket,
  }),
  prose('azw3', 'Kindle book', 'application/vnd.amazon.mobi8-ebook', {
    search: { en: 'e-book, ebook, amazon', de: 'E-Book, Buch, Amazon', es: 'libro electrónico, Amazon' },
    aliases: ['kf8'],
    kin: 'kindle',
    looks: isKindle8,
  }),
  prose('prc', 'Palm book', 'application/vnd.palm', { aliases: ['pdoc'], use: 'rare', kin: 'kindle', signatures: [[[60, 'TEXtREAd']]] }),
  prose('lit', 'Microsoft Reader book', 'application/x-ms-reader', { use: 'rare', signatures: ['ITOLITLS'] }),
  prose('lrf', 'Sony Reader book', 'application/x-sony-bbeb', { use: 'rare', signatures: ['L\0R\0F\0'] }),
  prose('rb', 'Rocket eBook', 'application/x-rocketbook', { use: 'rare', signatures: ['\xb0\x0c\xb0\x0c'] }),
  prose('tcr', 'Psion book', 'application/x-tcr-ebook', { use: 'rare', signatures: ['!!8-Bit!!'] }),
  // ZIPs, told apart by what is in them (sniff/zip.ts).
  prose('pmlz', 'Palm markup book', 'application/x-pml+zip', { use: 'rare' }),
  prose('htmlz', 'Book as zipped HTML', 'application/x-htmlz', { use: 'rare' }),
  prose('txtz', 'Book as zipped text', 'application/x-txtz', { use: 'rare' }),
  prose('html', 'Web page', 'text/html', {
    search: { en: 'website, browser', de: 'Webseite, Internetseite, Browser', es: 'página web, navegador' },
    aliases: ['htm', 'xhtml', 'xht', 'shtml'],
    tie: 'text',
    use: 'common',
    carries: 'documents',
  }),
  prose('eml', 'E-mail message', 'message/rfc822', {
    search: { en: 'mail, outlook, thunderbird', de: 'Mail, E-Mail, Thunderbird', es: 'correo, Thunderbird' },
    kin: 'mail',
  }),
  prose('msg', 'Outlook message', 'application/vnd.ms-outlook', {
    search: { en: 'mail, email', de: 'Mail, E-Mail', es: 'correo' },
    tie: 'ole',
  }),
  prose('mbox', 'Mailbox', 'application/mbox', {
    search: { en: 'mail, email, gmail, thunderbird', de: 'Postfach, E-Mail, Thunderbird', es: 'buzón, correo, Thunderbird' },
    aliases: ['mbx'],
  }),
  prose('vcf', 'vCard contacts', 'text/vcard', {
    search: { en: 'address book, contact, phone', de: 'Adressbuch, Kontakte, Handy', es: 'libreta de direcciones, contactos, móvil' },
    aliases: ['vcard'],
    structured: true,
  }),
  prose('ics', 'iCalendar', 'text/calendar', {
    search: { en: 'calendar, appointment', de: 'Kalender, Termine', es: 'calendario, citas' },
    aliases: ['ical', 'icalendar'],
    structured: true,
  }),
  prose('mhtml', 'Web page in one file', 'multipart/related', { aliases: ['mht'], kin: 'mail' }),
  format('sheet', 'xlsx', 'Microsoft Excel', `${OOXML}.spreadsheetml.sheet`, {
    search: { en: 'spreadsheet, table, google sheets', de: 'Tabelle, Office', es: 'hoja de cálculo, tabla' },
    aliases: ['xlsm', 'xltx', 'xltm'],
    use: 'common',
    holds: 'many',
    zip: /^\/?xl[/\\]workbook\d{0,4}\.xml$/i,
  }),
  format('sheet', 'xls', 'Microsoft Excel 97 to 2003', 'application/vnd.ms-excel', {
    search: { en: 'spreadsheet, table', de: 'Tabelle, Office', es: 'hoja de cálculo, tabla' },
    aliases: ['xlt', 'xlw'],
    holds: 'many',
    tie: 'ole',
  }),
  format('sheet', 'xlsb', 'Microsoft Excel, binary', 'application/vnd.ms-excel.sheet.binary.macroenabled.12', {
    holds: 'many',
    use: 'rare',
    zip: /^\/?xl[/\\]workbook\d{0,4}\.bin$/i,
  }),
  format('sheet', 'ods', 'OpenDocument spreadsheet', `${OASIS}.spreadsheet`, {
    search: { en: 'libreoffice, calc, table', de: 'LibreOffice, Calc, Tabelle', es: 'LibreOffice, Calc, hoja de cálculo, tabla' },
    aliases: ['ots'],
    use: 'common',
    holds: 'many',
    zip: 'mimetype',
  }),
  format('sheet', 'fods', 'OpenDocument spreadsheet, flat XML', `${OASIS}.spreadsheet-flat-xml`, { holds: 'many' }),
  format('sheet', 'csv', 'Comma-separated values', 'text/csv', {
    search: { en: 'table, spreadsheet, data', de: 'Tabelle, Daten', es: 'tabla, datos, hoja de cálculo' },
    use: 'common',
    tie: 'text',
  }),
  format('sheet', 'tsv', 'Tab-separated values', 'text/tab-separated-values', { aliases: ['tab'], tie: 'text' }),
  format('sheet', 'slk', 'Symbolic Link table', 'application/x-sylk', { aliases: ['sylk'], use: 'rare', structured: true }),
  format('sheet', 'dif', 'Data Interchange Format', 'application/x-dif', { use: 'rare', structured: true }),
  format('sheet', 'dbf', 'dBase table', 'application/vnd.dbf', { looks: isDbase }),
  format('sheet', 'sxc', 'OpenOffice 1 spreadsheet', 'application/vnd.sun.xml.calc', {
    aliases: ['stc'],
    holds: 'many',
    use: 'rare',
    zip: 'mimetype',
  }),
  format('slides', 'pptx', 'Microsoft PowerPoint', `${OOXML}.presentationml.presentation`, {
    search: { en: 'slides, presentation, keynote', de: 'Folien, Präsentation', es: 'diapositivas, presentación' },
    aliases: ['pptm', 'ppsx', 'potx', 'ppsm', 'potm'],
    use: 'common',
    holds: 'many',
    zip: /^\/?ppt[/\\]presentation\d{0,4}\.xml$/i,
  }),
  format('slides', 'ppt', 'Microsoft PowerPoint 97 to 2003', 'application/vnd.ms-powerpoint', {
    search: { en: 'slides, presentation', de: 'Folien, Präsentation', es: 'diapositivas, presentación' },
    aliases: ['pps', 'pot'],
    holds: 'many',
    tie: 'ole',
  }),
  format('slides', 'odp', 'OpenDocument presentation', `${OASIS}.presentation`, {
    search: { en: 'slides, libreoffice, impress', de: 'Folien, Präsentation, LibreOffice', es: 'diapositivas, presentación, LibreOffice' },
    aliases: ['otp'],
    use: 'common',
    holds: 'many',
    zip: 'mimetype',
  }),
  format('slides', 'sxi', 'OpenOffice 1 presentation', 'application/vnd.sun.xml.impress', {
    aliases: ['sti'],
    holds: 'many',
    use: 'rare',
    zip: 'mimetype',
  }),
  format('slides', 'sxd', 'OpenOffice 1 drawing', 'application/vnd.sun.xml.draw', {
    aliases: ['std'],
    holds: 'many',
    use: 'rare',
    zip: 'mimetype',
  }),
  format('slides', 'odg', 'OpenDocument drawing', `${OASIS}.graphics`, { aliases: ['otg'], holds: 'many', use: 'rare', zip: 'mimetype' }),
  format('slides', 'fodg', 'OpenDocument drawing, flat XML', `${OASIS}.graphics-flat-xml`, { holds: 'many', use: 'rare' }),
  format('slides', 'vsdx', 'Microsoft Visio', 'application/vnd.ms-visio.drawing.main+xml', {
    search: { en: 'diagram, flowchart', de: 'Diagramm, Flussdiagramm', es: 'diagrama, diagrama de flujo' },
    aliases: ['vsdm', 'vstx'],
    holds: 'many',
    use: 'rare',
    zip: /^\/?visio[/\\]document\.xml$/i,
  }),
  format('slides', 'vsd', 'Microsoft Visio 2003', 'application/vnd.visio', {
    aliases: ['vst'],
    holds: 'many',
    use: 'rare',
    unproven: true,
  }),
  format('slides', 'fodp', 'OpenDocument presentation, flat XML', `${OASIS}.presentation-flat-xml`, { holds: 'many' }),
];
