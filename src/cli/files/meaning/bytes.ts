/** Names of files that are not UTF-8, as text: each byte that belongs to no character is kept as a lone surrogate, U+DC80 to U+DCFF (PEP 383). */
import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';

const FIRST = 0xdc00;
/** Longest character of UTF-8, bytes. */
const LONGEST = 4;

export function decodeName(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const length = [...Array(LONGEST).keys()].map((more) => more + 1).find((size) => isUtf8(bytes.subarray(at, at + size)));
    text += length === undefined ? String.fromCharCode(FIRST + (bytes[at] ?? 0)) : bytes.toString('utf8', at, at + length);
    at += length ?? 1;
  }
  return text;
}

/** The path as the system knows it. */
export function osPath(path: string): string | Buffer {
  if (path.isWellFormed()) return path;
  return Buffer.concat(
    [...path].map((character) => {
      const code = character.charCodeAt(0);
      return character.isWellFormed() ? Buffer.from(character) : Buffer.of(code - FIRST);
    }),
  );
}

/** @param args of the command line, in which Node replaces what is not UTF-8 @returns the same with their bytes */
export function asGiven(args: readonly string[]): readonly string[] {
  if (args.length === 0 || !args.some((arg) => arg.includes('\ufffd'))) return args;
  const all = readFileSync('/proc/self/cmdline');
  const bytes: Buffer[] = [];
  for (let from = 0, to = all.indexOf(0); to >= 0; from = to + 1, to = all.indexOf(0, from)) bytes.push(all.subarray(from, to));
  const own = bytes.slice(-args.length);
  return args.map((arg, at) => (own[at]?.toString() === arg ? decodeName(own[at]) : arg));
}
