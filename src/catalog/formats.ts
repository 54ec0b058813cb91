/** The table of all file formats that filemill supports. */

import type { Family } from '../contracts/toolchains.ts';

export interface Format {
  /** Canonical extension, which is also the format's id everywhere in the code. */
  readonly id: string;
  readonly family: Family;
  /** IANA media type, or the usual one. */
  readonly mime: string;
  /** Other extensions of the same format. */
  readonly aliases: readonly string[];
  /** Whether a file contains one picture or page, or many. */
  readonly holds: 'one' | 'many';
  /** No side is longer than 256 px: too small for OCR. */
  readonly tiny?: boolean;
  /** Group of formats whose content cannot be distinguished: within it, the file's name or `from_format` decides. */
  readonly tie?: string;
}

type Traits = Partial<Pick<Format, 'aliases' | 'holds' | 'tie' | 'tiny'>>;

const format = (family: Family, id: string, mime: string, traits: Traits = {}): Format => ({
  id,
  family,
  mime,
  aliases: [],
  holds: 'one',
  ...traits,
});

const image = (id: string, mime: string, traits?: Traits) => format('image', id, mime, traits);
const audio = (id: string, mime: string, traits?: Traits) => format('audio', id, mime, traits);
const video = (id: string, mime: string, traits?: Traits) => format('video', id, mime, traits);
/** Prose in a file with pages or chapters. */
const prose = (id: string, mime: string, traits?: Traits) => format('document', id, mime, { holds: 'many', ...traits });
/** Plain text with markup: detected by content, or by name where that does not suffice. */
const markup = (id: string, mime: string, traits?: Traits) => format('markup', id, mime, { holds: 'many', tie: 'text', ...traits });

const OOXML = 'application/vnd.openxmlformats-officedocument';
const OASIS = 'application/vnd.oasis.opendocument';

const TABLE: readonly Format[] = [
  image('png', 'image/png'),
  image('jpg', 'image/jpeg', { aliases: ['jpeg', 'jpe', 'jfif'] }),
  image('webp', 'image/webp', { holds: 'many' }),
  image('gif', 'image/gif', { holds: 'many' }),
  image('tiff', 'image/tiff', { aliases: ['tif'], holds: 'many' }),
  image('bmp', 'image/bmp', { aliases: ['dib'] }),
  image('avif', 'image/avif'),
  image('heic', 'image/heic', { aliases: ['heif'] }),
  image('jp2', 'image/jp2', { aliases: ['jpf'] }),
  image('jxl', 'image/jxl'),
  image('ico', 'image/vnd.microsoft.icon', { tiny: true }),
  image('cur', 'image/x-win-bitmap', { tiny: true }),
  image('tga', 'image/x-tga', { tie: 'tga' }),
  image('ppm', 'image/x-portable-pixmap', { aliases: ['pnm'] }),
  image('pgm', 'image/x-portable-graymap'),
  image('pbm', 'image/x-portable-bitmap'),
  image('pam', 'image/x-portable-arbitrarymap'),
  image('pcx', 'image/x-pcx'),
  image('psd', 'image/vnd.adobe.photoshop'),
  image('xbm', 'image/x-xbitmap'),
  image('xpm', 'image/x-xpixmap'),
  image('dds', 'image/vnd-ms.dds'),
  image('exr', 'image/x-exr'),
  image('hdr', 'image/vnd.radiance'),
  image('sgi', 'image/x-sgi', { aliases: ['rgb'] }),
  image('ras', 'image/x-sun-raster', { aliases: ['sun'] }),
  image('dpx', 'image/x-dpx'),
  image('fits', 'image/fits', { aliases: ['fit', 'fts'] }),
  image('xcf', 'image/x-xcf'),
  image('pict', 'image/x-pict', { aliases: ['pct'] }),
  format('vector', 'svg', 'image/svg+xml'),

  audio('mp3', 'audio/mpeg'),
  audio('wav', 'audio/wav'),
  audio('flac', 'audio/flac'),
  audio('ogg', 'audio/ogg', { aliases: ['oga'] }),
  audio('opus', 'audio/opus'),
  audio('m4a', 'audio/mp4', { tie: 'm4a' }),
  audio('m4b', 'audio/mp4', { tie: 'm4a' }),
  audio('aac', 'audio/aac'),
  audio('ac3', 'audio/ac3'),
  audio('eac3', 'audio/eac3'),
  audio('aiff', 'audio/aiff', { aliases: ['aif', 'aifc'] }),
  audio('wma', 'audio/x-ms-wma'),
  audio('mka', 'audio/x-matroska'),
  audio('au', 'audio/basic', { aliases: ['snd'] }),
  audio('caf', 'audio/x-caf'),
  audio('amr', 'audio/amr'),
  audio('wv', 'audio/x-wavpack'),
  audio('tta', 'audio/x-tta'),
  audio('mp2', 'audio/mpeg', { tie: 'mp2' }),
  audio('w64', 'audio/x-w64'),
  audio('spx', 'audio/ogg', { tie: 'speex' }),

  video('mp4', 'video/mp4'),
  video('m4v', 'video/x-m4v'),
  video('mov', 'video/quicktime', { aliases: ['qt'] }),
  video('mkv', 'video/x-matroska'),
  video('webm', 'video/webm'),
  video('avi', 'video/x-msvideo'),
  video('flv', 'video/x-flv'),
  video('wmv', 'video/x-ms-wmv', { aliases: ['asf'] }),
  video('mpg', 'video/mpeg', { aliases: ['mpeg', 'vob'] }),
  video('ts', 'video/mp2t', { aliases: ['m2ts', 'mts'] }),
  video('3gp', 'video/3gpp', { aliases: ['3g2'] }),
  video('ogv', 'video/ogg'),

  format('pdf', 'pdf', 'application/pdf', { holds: 'many' }),
  prose('docx', `${OOXML}.wordprocessingml.document`, { aliases: ['docm', 'dotx', 'dotm'] }),
  prose('doc', 'application/msword', { aliases: ['dot'], tie: 'ole' }),
  prose('odt', `${OASIS}.text`, { aliases: ['ott'] }),
  prose('fodt', `${OASIS}.text-flat-xml`),
  prose('rtf', 'application/rtf'),
  prose('epub', 'application/epub+zip'),
  prose('fb2', 'application/x-fictionbook+xml'),
  prose('html', 'text/html', { aliases: ['htm', 'xhtml'], tie: 'text' }),
  format('sheet', 'xlsx', `${OOXML}.spreadsheetml.sheet`, { aliases: ['xlsm', 'xltx'], holds: 'many' }),
  format('sheet', 'xls', 'application/vnd.ms-excel', { aliases: ['xlt'], holds: 'many', tie: 'ole' }),
  format('sheet', 'ods', `${OASIS}.spreadsheet`, { aliases: ['ots'], holds: 'many' }),
  format('sheet', 'fods', `${OASIS}.spreadsheet-flat-xml`, { holds: 'many' }),
  format('sheet', 'csv', 'text/csv', { tie: 'text' }),
  format('sheet', 'tsv', 'text/tab-separated-values', { aliases: ['tab'], tie: 'text' }),
  format('slides', 'pptx', `${OOXML}.presentationml.presentation`, { aliases: ['pptm', 'ppsx', 'potx'], holds: 'many' }),
  format('slides', 'ppt', 'application/vnd.ms-powerpoint', { aliases: ['pps', 'pot'], holds: 'many', tie: 'ole' }),
  format('slides', 'odp', `${OASIS}.presentation`, { aliases: ['otp'], holds: 'many' }),
  format('slides', 'fodp', `${OASIS}.presentation-flat-xml`, { holds: 'many' }),

  markup('txt', 'text/plain', { aliases: ['text', 'log'] }),
  markup('md', 'text/markdown', { aliases: ['mkd', 'mdown'] }),
  markup('rst', 'text/x-rst', { aliases: ['rest'] }),
  markup('tex', 'application/x-tex', { aliases: ['latex', 'ltx'] }),
  markup('org', 'text/x-org'),
  markup('adoc', 'text/asciidoc', { aliases: ['asc'] }),
  markup('wiki', 'text/x-wiki'),
  markup('textile', 'text/x-textile'),
  markup('man', 'text/troff', { aliases: ['roff'] }),
  markup('ipynb', 'application/x-ipynb+json'),
  markup('opml', 'text/x-opml+xml'),
  markup('dbk', 'application/docbook+xml', { aliases: ['xml'] }),
];

export const formats: ReadonlyMap<string, Format> = new Map(TABLE.map((row) => [row.id, row]));

const byExtension: ReadonlyMap<string, Format> = new Map(
  TABLE.flatMap((row) => [row.id, ...row.aliases].map((extension) => [extension, row])),
);

/** @param id canonical, from our own code @throws an Error if there is no such format, which is a bug in the catalog */
export function formatOf(id: string): Format {
  const row = formats.get(id);
  if (row === undefined) throw new Error(`the catalog has no format ${id}`);
  return row;
}

/** The format of an extension, with or without dot, in upper or lower case. */
export const formatByExtension = (extension: string): Format | undefined => byExtension.get(extension.replace(/^\./, '').toLowerCase());

/** The format that a file's name claims: its last extension. */
export function formatByName(filename: string): Format | undefined {
  const dot = filename.lastIndexOf('.');
  return dot < 0 ? undefined : formatByExtension(filename.slice(dot + 1));
}

/** All formats of a tie group, in the order of the table. */
export const tieGroup = (tie: string): readonly Format[] => TABLE.filter((row) => row.tie === tie);
