/**
 * Restores what qpdf drops when it joins PDFs: the outlines of the later files, and their links from page to page.
 *
 *   merge.ts JOINED.pdf UPDATE.json SCRATCH SOURCE.pdf...
 *
 * Writes the input of `qpdf --update-from-json` for JOINED, whose pages are those of all sources in order. Pages stay as they are.
 */
import { writeFileSync } from 'node:fs';
import { isDictionary, PdfDocument, type Value } from './structure/document.ts';
import { annotationsOf, mendLinks } from './structure/links.ts';
import { entriesOf, type OutlineEntry, writeOutlines } from './structure/outlines.ts';

const [file = '', update = '', scratch = '', ...sources] = process.argv.slice(2);
const joined = new PdfDocument(file, scratch);
const objects: Record<string, { readonly value: Value }> = {};
const store = (reference: string, value: Value) => {
  objects[`obj:${reference}`] = { value };
};

const annotated = annotationsOf(joined);
let entries: readonly OutlineEntry[] = [];
let before = 0;
for (const [index, path] of sources.entries()) {
  const source = new PdfDocument(path, scratch);
  const end = before + source.pages.length;
  const places = joined.pages.slice(before, end);
  entries = [...entries, ...entriesOf(source, places)];
  // qpdf added the others to the first file, whose links are intact.
  if (index > 0) mendLinks(source, places, annotated.slice(before, end), store);
  before = end;
}
if (before !== joined.pages.length) throw new Error(`${joined.pages.length} pages of ${before}`);

let last = joined.highest;
const next = () => {
  last++;
  return `${last} 0 R`;
};
const root = joined.readOne(joined.root);
const { '/Outlines': _, ...catalog } = isDictionary(root) ? root : {};
store(joined.root, { ...catalog, ...(entries.length === 0 ? {} : { '/Outlines': writeOutlines(entries, next, store) }) });
const header = { jsonversion: 2, pushedinheritedpageresources: false, calledgetallpages: false, maxobjectid: last };
writeFileSync(update, JSON.stringify({ qpdf: [header, objects] }));
