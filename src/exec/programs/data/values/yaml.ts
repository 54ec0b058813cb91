/** YAML 1.2; `<<` merges, as in 1.1. */
import { type Document, isScalar, LineCounter, parseAllDocuments, stringify, visit } from 'yaml';
import { asRead, asWritten, duplicateKeyWarning, type Read, readBy, type Syntax, syntaxErrorAt } from './syntax.ts';
import { beyond } from './value.ts';

const MOST_ALIASES = 1000;

/** Several documents become a list. Tags of programs are ignored: the objects that they name are never created. */
function read(text: string): Read {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { intAsBigInt: true, merge: true, uniqueKeys: false, logLevel: 'silent', lineCounter: lines });
  const [error] = documents.flatMap(({ errors }) => errors);
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw syntaxErrorAt('YAML', line, col);
  }
  const duplicates = documents.flatMap((document) => duplicatesIn(document)).map((offset) => lines.linePos(offset).line);
  const values = documents.map((document) => {
    try {
      return document.toJS({ mapAsMap: true, maxAliasCount: MOST_ALIASES }) as unknown;
    } catch (caught) {
      if (!(caught instanceof ReferenceError)) throw caught;
      throw beyond('values that aliases stand for', MOST_ALIASES);
    }
  });
  // An empty text has no document.
  const { value } = asRead(values.length < 2 ? values[0] : values);
  return { value, warnings: duplicates.length === 0 ? [] : [duplicateKeyWarning('YAML', duplicates)] };
}

/** @returns offsets of keys that their object has before; the parser's own check takes time by the square of their number */
function duplicatesIn(document: ReturnType<typeof parseAllDocuments>[number]): readonly number[] {
  const found: number[] = [];
  visit(document as Document, {
    Map(_, { items }) {
      const keys = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key) || key.value === '<<') continue;
        if (keys.has(key.value)) found.push(key.range?.[0] ?? 0);
        keys.add(key.value);
      }
    },
  });
  return found;
}

export const yaml: Syntax = {
  read: (text) => readBy(() => read(text)),
  // Words such as `no` are quoted: readers of YAML 1.1 take them for something else.
  write: (value) => asWritten(stringify(value, { lineWidth: 120, compat: 'yaml-1.1', aliasDuplicateObjects: false })),
};
