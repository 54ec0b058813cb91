/** The metadata of a document: title and author, by Dublin Core (ECMA-376, part 2, 8.3; ODF 1.3, part 3, 4.3), and its language. */
import { unpackedEntry, type ZipEntry, zipEntries } from '../../archives/zip.ts';

export interface DocumentProperties {
  readonly title?: string;
  readonly author?: string;
  /** As BCP 47 has it. */
  readonly language?: string;
}

const PART = /^(?:docProps\/core|meta)\.xml$/;
/** Both name the language of a text that names none first (ECMA-376, part 1, 17.7.5; ODF 1.3, part 3, 16.4). */
const STYLES = /^(?:word\/)?styles\.xml$/;
const TAG = /^[a-z]{2,3}(?:-[a-z0-9]{2,8})?$/i;
const [MOST_BYTES, MOST_STYLES] = [1 << 20, 8 << 20];
/** Characters. */
const LONGEST = 500;

export function propertiesOf(document: Buffer): DocumentProperties {
  let properties: DocumentProperties = {};
  for (const entry of zipEntries(document)) {
    if (PART.test(entry.name)) properties = { ...properties, ...named(entry) };
    else if (STYLES.test(entry.name)) properties = { ...properties, ...languageIn(entry) };
  }
  return properties;
}

function named(entry: ZipEntry): DocumentProperties {
  const xml = unpackedEntry(entry, MOST_BYTES).toString();
  const [title, author] = [textIn(xml, 'dc:title'), textIn(xml, 'meta:initial-creator') || textIn(xml, 'dc:creator')];
  return { ...(title !== '' && { title }), ...(author !== '' && { author }) };
}

function languageIn(entry: ZipEntry): DocumentProperties {
  const xml = unpackedEntry(entry, MOST_STYLES).toString();
  const word = xml.indexOf('<w:lang ');
  const language = word < 0 ? quoted(xml, 'fo:language') : quoted(xml.slice(word, xml.indexOf('>', word)), 'w:val');
  return TAG.test(language) && !['none', 'zxx'].includes(language) ? { language } : {};
}

function quoted(xml: string, attribute: string): string {
  const start = xml.indexOf(`${attribute}="`);
  const value = start + attribute.length + 2;
  return start < 0 ? '' : xml.slice(value, Math.min(xml.indexOf('"', value), value + LONGEST));
}

function textIn(xml: string, element: string): string {
  const start = xml.indexOf(`<${element}>`);
  const end = xml.indexOf(`</${element}>`, start);
  if (start < 0 || end < 0) return '';
  const text = xml.slice(start + element.length + 2, end).slice(0, LONGEST);
  return text.replace(/&(?:lt|gt|quot|apos|amp);/g, (reference) => REFERENCES[reference] ?? reference).trim();
}

const REFERENCES: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&apos;': "'", '&amp;': '&' };
