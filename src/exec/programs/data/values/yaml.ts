/** YAML 1.2; `<<` merges, as in 1.1. */
import { parseAllDocuments, stringify } from 'yaml';
import { asRead, asWritten, damaged, readBy, type Syntax } from './syntax.ts';
import { beyond } from './value.ts';

const MOST_ALIASES = 1000;

/** Several documents become a list. Tags of programs are ignored: the objects that they name are never created. */
function read(text: string): unknown {
  const documents = parseAllDocuments(text, { intAsBigInt: true, merge: true, uniqueKeys: false, logLevel: 'silent' });
  const [error] = documents.flatMap(({ errors }) => errors);
  if (error !== undefined) throw damaged(error.code);
  const values = documents.map((document) => {
    try {
      return document.toJS({ mapAsMap: true, maxAliasCount: MOST_ALIASES }) as unknown;
    } catch (caught) {
      if (!(caught instanceof ReferenceError)) throw caught;
      throw beyond('values that aliases stand for', MOST_ALIASES);
    }
  });
  // An empty text has no document.
  return values.length < 2 ? values[0] : values;
}

export const yaml: Syntax = {
  read: (text) => asRead(readBy(() => read(text))),
  // Words such as `no` are quoted: readers of YAML 1.1 take them for something else.
  write: (value) => asWritten(stringify(value, { lineWidth: 120, compat: 'yaml-1.1', aliasDuplicateObjects: false })),
};
