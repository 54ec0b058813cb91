/** JSON (RFC 8259), and JSON Lines: a value a line. */
import { asRead, asWritten, readBy, type Syntax } from './syntax.ts';
import { type Datum, isList } from './value.ts';

/** TC39's proposal "JSON.parse source text access", which V8 has and TypeScript's library does not. */
declare global {
  interface JSON {
    parse(text: string, reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown;
    rawJSON(text: string): unknown;
  }
}

/** A whole number keeps its digits, whatever their number (RFC 8259, 6). */
const parse = (text: string): unknown =>
  readBy(() =>
    JSON.parse(text, (_: string, value: unknown, { source }: { readonly source?: string }) =>
      typeof value === 'number' && source !== undefined && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value,
    ),
  );

/** Infinities and the like have no form in JSON: null, as JavaScript writes them. */
const format = (value: Datum, indent?: number): string =>
  JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? JSON.rawJSON(String(each)) : each), indent);

export const json: Syntax = {
  read: (text) => asRead(parse(text)),
  write: (value) => asWritten(format(value, 2)),
};

export const jsonl: Syntax = {
  read: (text) =>
    asRead(
      text
        .split(/\r?\n/)
        .filter((line) => line.trim() !== '')
        .map(parse),
    ),
  write: (value) => asWritten((isList(value) ? value : [value]).map((each) => format(each)).join('\n')),
};
