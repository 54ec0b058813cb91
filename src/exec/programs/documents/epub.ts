/**
 * Writes an EPUB so that Pandoc reads all of it: its package document is at the top, since Pandoc finds nothing that a package names by `../`, and notes are
 * in the file that refers to them.
 *
 *   epub.ts INPUT OUTPUT
 *
 * A book that needs neither is copied. Prints an answer as residents give. (EPUB 3.3, 3.4 and 5.6.2; OCF, 4.2.6.3.1)
 */
import { copyFileSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { unpackedEntry, type ZipEntry, zipEntries, zipOf } from '../archives/zip.ts';
import { answering } from '../process/answer.ts';
import { writePieces } from '../process/pieces.ts';
import { notesMoved } from './epub/notes.ts';

/** Bytes of all parts together, unpacked. */
const MOST_BYTES = 512 << 20;
const CONTAINER = 'META-INF/container.xml';
const TOP = 'package-at-the-top.opf';

const [input = '', output = ''] = process.argv.slice(2);

await answering(() => {
  const entries = [...zipEntries(readFileSync(input))];
  const textOf = (name: string): string => {
    const entry = entries.find((each) => each.name === name);
    return entry === undefined ? '' : unpackedEntry(entry, MOST_BYTES).toString();
  };
  const path = /\bfull-path\s{0,9}=\s{0,9}["']([^"'<>]{1,1000})["']/.exec(textOf(CONTAINER))?.[1] ?? '';
  const opf = textOf(path);
  const moved = notesMoved(textsOf(entries));
  const isBelow = /\bhref\s{0,9}=\s{0,9}["']\.\.\//.test(opf);
  if (isBelow || moved.size > 0) writePieces(output, zipOf(parts(entries, moved, isBelow ? { path, opf } : undefined)));
  else copyFileSync(input, output);
  return [];
});

/** The texts of the book, by path. */
function textsOf(entries: readonly ZipEntry[]): ReadonlyMap<string, string> {
  let left = MOST_BYTES;
  const texts = new Map<string, string>();
  for (const entry of entries) {
    if (!/\.x?html?$/i.test(entry.name)) continue;
    const bytes = unpackedEntry(entry, left);
    left -= bytes.length;
    texts.set(entry.name, bytes.toString());
  }
  return texts;
}

function* parts(
  entries: readonly ZipEntry[],
  moved: ReadonlyMap<string, string>,
  below: { readonly path: string; readonly opf: string } | undefined,
): Generator<{ readonly name: string; readonly bytes: Buffer }> {
  const replaced = below === undefined ? ['mimetype'] : ['mimetype', CONTAINER, below.path];
  yield { name: 'mimetype', bytes: Buffer.from('application/epub+zip') };
  if (below !== undefined) yield* atTheTop(below);
  let left = MOST_BYTES;
  for (const entry of entries) {
    if (replaced.includes(entry.name)) continue;
    const text = moved.get(entry.name);
    const bytes = text === undefined ? unpackedEntry(entry, left) : Buffer.from(text);
    left -= bytes.length;
    yield { name: entry.name, bytes };
  }
}

function* atTheTop({
  path,
  opf,
}: {
  readonly path: string;
  readonly opf: string;
}): Generator<{ readonly name: string; readonly bytes: Buffer }> {
  const container = `<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="${TOP}" media-type="application/oebps-package+xml"/></rootfiles></container>`;
  yield { name: CONTAINER, bytes: Buffer.from(container) };
  yield { name: TOP, bytes: Buffer.from(fromTheTop(opf, encodeURI(posix.dirname(path)))) };
}

/** What it names, from the top and not from its folder; what lies outside the book stays as it is. */
function fromTheTop(opf: string, folder: string): string {
  const named = /(\bhref\s{0,9}=\s{0,9}["'])([^"'<>:]{1,2000})(?=["'])/g;
  return opf.replace(named, (_, before: string, href: string) => before + posix.join(folder, href));
}
