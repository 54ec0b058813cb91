/** Runs the programs that read a PDF's structure. Uses files for their output: Node's pipes are sockets, which confined programs may not open. */
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';

export interface Pdf {
  /** Needs no password. */
  readonly input: string;
  /** Folder for the output files. */
  readonly folder: string;
}

/** If the command fails, ends this program with its status. */
export function run(
  program: string,
  args: readonly string[],
  { succeeds = [0], stdoutTo }: { readonly succeeds?: readonly number[]; readonly stdoutTo?: string } = {},
): void {
  const stdout = stdoutTo === undefined ? 'ignore' : openSync(stdoutTo, 'w');
  const { status, signal, error } = spawnSync(`/usr/bin/${program}`, args, { stdio: ['ignore', stdout, 'inherit'] });
  if (typeof stdout === 'number') closeSync(stdout);
  if (error !== undefined) throw error;
  if (status === null) throw new Error(`${program} ended by ${signal}`);
  if (!succeeds.includes(status)) process.exit(status);
}

/** 3: warnings about damage that was repaired (qpdf manual, "Exit Status"). */
const SUCCEEDS = [0, 3];

/** Writes qpdf's JSON about the file to `output`. */
export function askQpdf({ input }: Pdf, args: readonly string[], output: string): void {
  run('qpdf', ['--json=2', '--no-warn', ...args, input, output], { succeeds: SUCCEEDS });
}

/** @returns path of the same file without encryption */
export function decrypt(input: string, passwordFile: string, folder: string): string {
  const output = `${folder}/decrypted.pdf`;
  run('qpdf', [`--password-file=${passwordFile}`, '--decrypt', '--no-warn', input, output], { succeeds: SUCCEEDS });
  return output;
}

/** Writes the streams as they are stored, or decoded but for pictures. @returns the path of each */
export function dumpStreams(pdf: Pdf, objects: readonly number[], decode: 'none' | 'generalized' = 'none'): (object: number) => string {
  const prefix = `${pdf.folder}/stream-${decode}`;
  if (objects.length > 0) {
    const list = `${prefix}.wanted.txt`;
    writeFileSync(list, objects.map((object) => `--json-object=${object}\n`).join(''));
    const raw = ['--json-key=qpdf', '--json-stream-data=file', `--json-stream-prefix=${prefix}`, `--decode-level=${decode}`, `@${list}`];
    askQpdf(pdf, raw, `${prefix}.json`);
  }
  return (object) => `${prefix}-${object}`;
}
