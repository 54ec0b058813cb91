/** Reads single objects out of a PDF, in the notation of qpdf's JSON. (qpdf manual, "qpdf JSON") */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

/** References are `12 0 R`, names begin with `/`, texts with `u:`, other strings are hexadecimal after `b:`. */
export type Value = null | boolean | number | string | readonly Value[] | Dictionary;
export interface Dictionary {
  readonly [key: string]: Value;
}

/** An outline entry in qpdf's JSON: named destinations are resolved, and entries without a target have none. */
export interface JsonObjects {
  readonly object: Value;
  readonly title: string;
  readonly open: boolean;
  readonly dest: Value;
  readonly destpageposfrom1: number | null;
  readonly kids: readonly JsonObjects[];
}

interface Listing {
  readonly outlines: readonly JsonObjects[];
  readonly pages: readonly { readonly object: string }[];
  readonly qpdf: readonly [{ readonly maxobjectid: number }, Readonly<Record<string, { readonly value?: Value }>>];
}

export const isReference = (value: Value | undefined): value is string => typeof value === 'string' && /^\d+ \d+ R$/.test(value);
export const isDictionary = (value: Value | undefined): value is Dictionary =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const listOf = (value: Value | undefined): readonly Value[] => (Array.isArray(value) ? value : []);

/** Whether the value contains a reference: the object has another number, or none, in another file. */
export function refers(value: Value): boolean {
  return isReference(value) || (typeof value === 'object' && value !== null && Object.values(value).some(refers));
}

export class PdfDocument {
  readonly root: string;
  /** Their references, in order. */
  readonly pages: readonly string[];
  readonly outlines: readonly JsonObjects[];
  readonly highest: number;
  readonly #file: string;
  readonly #scratch: string;
  readonly #password: readonly string[];
  readonly #known = new Map<string, Value>();

  /** @param passwordFile of a file that needs one */
  constructor(file: string, scratch: string, passwordFile?: string) {
    this.#file = file;
    this.#scratch = scratch;
    this.#password = passwordFile === undefined ? [] : [`--password-file=${passwordFile}`];
    const { outlines, pages, qpdf } = this.#list(
      ['outlines', 'pages', 'qpdf'].map((key) => `--json-key=${key}`),
      '--json-object=trailer',
    );
    const trailer = qpdf[1]['trailer']?.value;
    this.root = String(isDictionary(trailer) ? trailer['/Root'] : '');
    this.pages = pages.map(({ object }) => object);
    this.outlines = outlines;
    this.highest = qpdf[0].maxobjectid;
  }

  /** Resolves the references among these values with one read; other values stay as they are, and a stream becomes null. */
  read(values: readonly (Value | undefined)[]): readonly (Value | undefined)[] {
    const wanted = new Set(values.filter((value) => isReference(value) && !this.#known.has(value)) as string[]);
    if (wanted.size > 0) {
      const list = `${this.#scratch}/wanted.txt`;
      writeFileSync(list, [...wanted].map((reference) => `--json-object=${reference.replace(' R', '').replace(' ', ',')}\n`).join(''));
      const found = this.#list(['--json-key=qpdf'], `@${list}`).qpdf[1];
      for (const reference of wanted) this.#known.set(reference, found[`obj:${reference}`]?.value ?? null);
    }
    return values.map((value) => (isReference(value) ? this.#known.get(value) : value));
  }

  readOne(value: Value | undefined): Value | undefined {
    return this.read([value])[0];
  }

  /** qpdf exits with 3 for damage that it repaired. Uses files for output: Node's pipes are sockets, which confined programs may not open. */
  #list(keys: readonly string[], ...more: readonly string[]): Listing {
    const answer = `${this.#scratch}/answer.json`;
    const args = ['--json=2', ...this.#password, ...keys, ...more, this.#file, answer];
    const { status, error } = spawnSync('/usr/bin/qpdf', args, { stdio: ['ignore', 'ignore', 'inherit'] });
    if (error !== undefined) throw error;
    if (status !== 0 && status !== 3) process.exit(status ?? 1);
    return JSON.parse(readFileSync(answer, 'utf8')) as Listing;
  }
}
