/** JSON (RFC 8259), and JSON Lines: a value a line. */
import { isJson } from '../../../../catalog/looks/json.ts';
import { type JsonScan, placeOf, scanJson } from './json-scan.ts';
import {
  asWritten,
  duplicateKeyWarning,
  type Read,
  readBy,
  type Syntax,
  syntaxErrorAt,
  syntaxErrorIn,
  type WrittenText,
} from './syntax.ts';
import { asValue, type Datum, isList } from './value.ts';

/** TC39's proposal "JSON.parse source text access", which V8 has and TypeScript's library does not. */
declare global {
  interface JSON {
    parse(text: string, reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown;
    rawJSON(text: string): unknown;
  }
}

/** Characters of a text that is checked for duplicate keys: that takes as long as reading it. */
const MOST_SCANNED = 8 << 20;

interface Found {
  readonly value: unknown;
  readonly warnings: readonly string[];
}

/** A whole number keeps all its digits (RFC 8259, 6); any other number becomes a double. */
function parse(text: string): Found {
  let beyondDouble: string | undefined;
  const value = readBy(() =>
    JSON.parse(text, (_: string, each: unknown, { source }: { readonly source?: string }) => {
      if (typeof each !== 'number' || source === undefined) return each;
      if (!Number.isSafeInteger(each) && /^-?\d+$/.test(source)) return BigInt(source);
      if (Number.isFinite(each)) return each;
      beyondDouble = source;
      return source;
    }),
  );
  return {
    value,
    warnings:
      beyondDouble === undefined
        ? []
        : [`A number is larger than any that programs read, and is kept as text: ${beyondDouble.slice(0, 40)}.`],
  };
}

/** Also a JSON with `NaN` and infinities, and values a line in a file that is called JSON. @throws FileRefused */
function readJson(text: string): Found {
  const scan = text.length <= MOST_SCANNED || !isJson(text) ? scanJson(text) : undefined;
  if (scan === undefined) return parse(text);
  const { errorAt, end, duplicates, bare } = scan;
  const rest = text.slice(end).search(/\S/);
  if (errorAt !== undefined || (rest >= 0 && !isLine(text.slice(0, end)))) throw syntaxErrorIn('JSON', text, errorAt ?? end + rest);
  if (rest >= 0) {
    const { value, warnings } = readLines(text);
    return { value, warnings: ['The file is JSON Lines, and was read as the list of its values.', ...warnings] };
  }
  const { value, warnings } = parse(withoutBare(text, bare));
  const [first] = duplicates;
  return {
    value,
    warnings: [
      ...warnings,
      ...(bare.length === 0 ? [] : [`JSON has no ${[...new Set(bare.map(({ token }) => token))].join(', ')}: read as null.`]),
      ...(first === undefined
        ? []
        : [
            duplicateKeyWarning(
              'JSON',
              duplicates.map((offset) => placeOf(text, offset).line),
            ),
          ]),
    ],
  };
}

const isLine = (text: string): boolean => !text.trim().includes('\n');

function withoutBare(text: string, bare: JsonScan['bare']): string {
  const pieces: string[] = [];
  let done = 0;
  for (const { at, token } of bare) {
    pieces.push(text.slice(done, at), 'null');
    done = at + token.length;
  }
  return bare.length === 0 ? text : [...pieces, text.slice(done)].join('');
}

function readLines(text: string): Found {
  const warnings: string[] = [];
  const values = text.split(/\r?\n/).flatMap((line, at) => {
    if (line.trim() === '') return [];
    if (isJson(line)) {
      const { value, warnings: own } = parse(line);
      warnings.push(...own);
      return [value];
    }
    const { errorAt, end, bare } = scanJson(line);
    const rest = line.slice(end).search(/\S/);
    if (errorAt !== undefined || rest >= 0) throw syntaxErrorAt('JSON', at + 1, (errorAt ?? end + rest) + 1);
    const found = parse(withoutBare(line, bare));
    warnings.push(...found.warnings, 'JSON has no NaN and no infinities: read as null.');
    return [found.value];
  });
  return { value: values, warnings: [...new Set(warnings)] };
}

const asJson = ({ value, warnings }: Found): Read => ({ value: asValue(value), warnings });

/** @param indent undefined for one line */
function format(value: Datum, indent?: number): WrittenText {
  let isLost = false;
  const text = JSON.stringify(
    value,
    (_, each: unknown) => {
      if (typeof each === 'number' && !Number.isFinite(each)) isLost = true;
      return typeof each === 'bigint' ? JSON.rawJSON(String(each)) : each;
    },
    indent,
  );
  return { text, warnings: isLost ? ['JSON has no infinities and no "not a number": they are null.'] : [] };
}

export const json: Syntax = {
  read: (text) => asJson(readJson(text)),
  write: (value) => {
    const { text, warnings } = format(value, 2);
    return asWritten(text, ...warnings);
  },
};

export const jsonl: Syntax = {
  read: (text) => asJson(readLines(text)),
  write: (value) => {
    const lines = (isList(value) ? value : [value]).map((each) => format(each));
    return asWritten(lines.map(({ text }) => text).join('\n'), ...new Set(lines.flatMap(({ warnings }) => warnings)));
  },
};
