/** XML 1.0: attributes begin with `@`, text beside them is `#text`, and all values are text. */
import { XMLBuilder, XMLParser, XMLValidator } from 'fast-xml-parser';
import { asRead, asWritten, damaged, readBy, type Syntax, type WrittenText } from './syntax.ts';
import { type Datum, type Entries, fieldsFrom, isList, isTable, MOST_LEVELS, Unfit } from './value.ts';

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

/** @throws Unfit */
function requireValid(text: string): void {
  const valid = XMLValidator.validate(text, { allowBooleanAttributes: false });
  if (valid !== true) throw damaged(`${valid.err.msg} (line ${valid.err.line})`);
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
  const nameOf = (key: string): string => {
    if (XML_NAME.test(key)) return key;
    renamed++;
    const name = key.replace(/[^\p{L}\p{N}_.-]/gu, '_').slice(0, 200);
    return /^[\p{L}_]/u.test(name) ? name : `_${name}`;
  };
  const textOf = (each: Datum): string => (each === null ? '' : String(each).replace(FORBIDDEN, ''));
  // A list in a list has an element for each.
  const shaped = (each: Datum): Datum => {
    if (isList(each)) return each.map((one) => shaped(isList(one) ? { item: one } : one));
    if (!isTable(each)) return textOf(each);
    return fieldsFrom(
      Object.entries(each).map(([key, one]) => {
        if (key === '#text') return [key, textOf(isList(one) || isTable(one) ? null : one)];
        if (key.startsWith('@') && !isList(one) && !isTable(one)) return [`@${nameOf(key.slice(1))}`, textOf(one)];
        return [nameOf(key), shaped(one)];
      }),
    );
  };
  const builder = new XMLBuilder({ ...FORM, format: true, suppressEmptyNode: true, suppressBooleanAttributes: false });
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n${builder.build(shaped(inOneElement(value)))}`;
  return renamed === 0 ? asWritten(text) : asWritten(text, 'Names that XML does not allow were changed.');
}

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

/** A document as text with marks, where order counts. @returns its outer element @throws Unfit also for entities that it declares */
export function elementsIn(text: string): readonly XmlElement[] {
  if (/<!ENTITY\b/.test(text)) throw new Unfit('unsupported_variant', 'The file declares entities, which are not read.');
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
