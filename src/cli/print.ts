/** Where all commands print. What comes from outside, as an argument or a file's name, has no power over a terminal. */
import { inspect } from 'node:util';
import { printableJson, printableLines } from '../printable.ts';

/** A result. */
export const print = (text: string): void => void process.stdout.write(`${printableLines(text)}\n`);

export const printJson = (value: unknown): void => void process.stdout.write(`${printableJson(JSON.stringify(value))}\n`);

/** What a person should know. @param said an error with its stack */
export const tell = (said: unknown): void =>
  void process.stderr.write(`${printableLines(typeof said === 'string' ? said : inspect(said))}\n`);
