/** XML 1.0: attributes begin with `@`, text beside them is `#text`, and all values are text. */
import { XMLBuilder, XMLParser, XMLValidator } from 'fast-xml-parser';
import { asRead, asWritten, readBy, type Syntax, syntaxErrorAt, type WrittenText } from './syntax.ts';
import { type Datum, type Entries, FileRefused, fieldsFrom, isList, isTable, MOST_LEVELS } from './value.ts';

/** How XML is read, whatever becomes of it. */
const PARSED = {
  ignoreAttributes: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
  parseTagValue: false,
  parseAttributeValue: false,
  processEntities: true,
  // The parser has those by number among them.
  htmlEntities: true,
  maxNestedTags: MOST_LEVELS,
};
const FORM = { ignoreAttributes: false, attributeNamePrefix: '@', textNodeName: '#text' };

/** External entities are not read. */
function read(text: string): unknown {
  requireValid(text);
  return attributesFirst(new XMLParser({ ...PARSED, ...FORM, trimValues: true }).parse(text) as unknown);
}

/** @throws FileRefused */
function requireValid(text: string): void {
  const valid = XMLValidator.validate(text, { allowBooleanAttributes: false });
  if (valid !== true) throw syntaxErrorAt('XML', valid.err.line, valid.err.col);
}

/** As the file has them; the parser puts them behind the elements inside. */
function attributesFirst(found: unknown): unknown {
  if (Array.isArray(found)) return found.map(attributesFirst);
  if (typeof found !== 'object' || found === null) return found;
  const isAttribute = ([key]: readonly [string, unknown]) => key.startsWith('@');
  const entries = Object.entries(found).map(([key, each]) => [key, attributesFirst(each)] as const);
  return new Map([...entries.filter(isAttribute), ...entries.filter((entry) => !isAttribute(entry))]);
}

/** Not in any XML 1.0 document (2.2), escaped or not. */
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;
const XML_NAME = /^[\p{L}_][\p{L}\p{N}_.-]{0,200}(?::[\p{L}_][\p{L}\p{N}_.-]{0,200})?$/u;

function write(value: Datum): WrittenText {
  let renamed = 0;
  /** How many of the elements that are open declare a prefix. */
  const prefixes = new Map([
    ['xml', 1],
    ['xmlns', 1],
  ]);
  const declare = (names: readonly string[], by: 1 | -1): void => {
    for (const name of names) prefixes.set(name, (prefixes.get(name) ?? 0) + by);
  };
  const nameOf = (key: string): string => {
    const prefix = key.includes(':') ? key.slice(0, key.indexOf(':')) : undefined;
    if (XML_NAME.test(key) && (prefix === undefined || (prefixes.get(prefix) ?? 0) > 0)) return key;
    renamed++;
    const name = key.replace(/[^\p{L}\p{N}_.-]/gu, '_').slice(0, 200);
    return /^[\p{L}_]/u.test(name) ? name : `_${name}`;
  };
  const textOf = (each: Datum): string => (each === null ? '' : String(each).replace(FORBIDDEN, ''));
  // A list in a list has an element for each.
  const shaped = (each: Datum): Datum => {
    if (isList(each)) return each.map((one) => shaped(isList(one) ? { item: one } : one));
    if (!isTable(each)) return textOf(each);
    const own = declaredIn(each);
    declare(own, 1);
    const fields = new Map<string, Datum>();
    /** By names that several keys have become. */
    const merged = new Map<string, Datum[]>();
    const numbered = numberedNames(fields);
    for (const [key, one] of Object.entries(each)) {
      if (key === '#text') fields.set(key, textOf(isList(one) || isTable(one) ? null : one));
      else if (key.startsWith('@') && !isList(one) && !isTable(one)) {
        const name = `@${nameOf(key.slice(1))}`;
        // An element has each attribute once.
        if (fields.has(name)) renamed++;
        fields.set(numbered(name), textOf(one));
      } else {
        const [name, value] = [nameOf(key), shaped(one)];
        const other = fields.get(name);
        if (other === undefined) fields.set(name, value);
        else {
          const all = merged.get(name) ?? (isList(other) ? [...other] : [other]);
          for (const some of isList(value) ? value : [value]) all.push(some);
          merged.set(name, all);
          fields.set(name, all);
        }
      }
    }
    declare(own, -1);
    return fieldsFrom(fields);
  };
  const builder = new XMLBuilder({ ...FORM, format: true, suppressEmptyNode: true, suppressBooleanAttributes: false });
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n${builder.build(shaped(inOneElement(value)))}`;
  return renamed === 0 ? asWritten(text) : asWritten(text, 'Names that XML does not allow were changed.');
}

/** @returns the name, or with a number behind it where the fields have that name already */
function numberedNames(fields: ReadonlyMap<string, Datum>): (name: string) => string {
  const last = new Map<string, number>();
  return (name) => {
    let [free, number] = [name, last.get(name) ?? 1];
    while (fields.has(free)) free = `${name}-${++number}`;
    if (number > 1) last.set(name, number);
    return free;
  };
}

/** A prefix means something only where an attribute names its name space (Namespaces in XML 1.0, 3). */
const declaredIn = (element: Entries): readonly string[] =>
  Object.entries(element).flatMap(([key, value]) =>
    key.startsWith('@xmlns:') && typeof value === 'string' && value !== '' ? [key.slice('@xmlns:'.length)] : [],
  );

/** A document has one element outside. */
function inOneElement(value: Datum): Entries {
  if (!isTable(value)) return { root: { item: isList(value) ? value : [value] } };
  const keys = Object.keys(value);
  const [only = ''] = keys;
  return keys.length === 1 && !only.startsWith('@') && only !== '#text' && !isList(value[only]) ? value : { root: value };
}

export const xml: Syntax = { read: (text) => asRead(readBy(() => read(text))), write };

export interface XmlElement {
  /** Without the prefix of its name space; so are those of its attributes. */
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Text and elements in their order. */
  readonly inside: readonly (string | XmlElement)[];
}

/** A document as text with marks, where order counts. @returns its outer element @throws FileRefused also for entities that it declares */
export function elementsIn(text: string): readonly XmlElement[] {
  if (/<!ENTITY\b/.test(text)) throw new FileRefused('unsupported_variant', 'The file declares entities, which are not read.');
  return readBy(() => {
    requireValid(text);
    const parser = new XMLParser({ ...PARSED, trimValues: false, preserveOrder: true, removeNSPrefix: true, attributeNamePrefix: '' });
    return asElements(parser.parse(text)).filter((each) => typeof each !== 'string');
  });
}

/** As the parser tells them: `{ p: […], ':@': { begin: '1s' } }` and `{ '#text': '…' }`. */
function asElements(nodes: unknown): readonly (string | XmlElement)[] {
  return (nodes as readonly Readonly<Record<string, unknown>>[]).flatMap((node): readonly (string | XmlElement)[] => {
    const [name] = Object.keys(node).filter((key) => key !== ':@');
    if (name === undefined) return [];
    if (name === FORM.textNodeName) return [String(node[name])];
    return [{ name, attributes: (node[':@'] ?? {}) as XmlElement['attributes'], inside: asElements(node[name]) }];
  });
}
