/** XML 1.0: attributes begin with `@`, text beside them is `#text`, and all values are text. */
import { XMLBuilder, XMLParser, XMLValidator } from 'fast-xml-parser';
import { asRead, asWritten, damaged, readBy, type Syntax, type WrittenText } from './syntax.ts';
import { type Datum, type Entries, fieldsFrom, isList, isTable, MOST_LEVELS } from './value.ts';

const FORM = { ignoreAttributes: false, attributeNamePrefix: '@', textNodeName: '#text' };

/** External entities are not read. */
function read(text: string): unknown {
  const valid = XMLValidator.validate(text, { allowBooleanAttributes: false });
  if (valid !== true) throw damaged(`${valid.err.msg} (line ${valid.err.line})`);
  const parser = new XMLParser({
    ...FORM,
    ignoreDeclaration: true,
    ignorePiTags: true,
    parseTagValue: false,
    parseAttributeValue: false,
    trimValues: true,
    processEntities: true,
    maxNestedTags: MOST_LEVELS,
  });
  return attributesFirst(parser.parse(text) as unknown);
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
