/**
 * Measures a PDF before anything is drawn: a kilobyte can declare pictures and pages that take minutes and gigabytes to decode.
 *
 *   measure.ts INPUT.pdf [PASSWORD-FILE]
 *   measure.ts --text INPUT.pdf [PASSWORD-FILE]   without its pictures, for programs that read text alone
 *
 * Prints the output of pdfinfo, then one line of JSON: `{"units", "largest", "total", "forms", "bytes", "strings"}`. `units` has the `UserUnit` of each page,
 * by page number, if it is not 1 (ISO 32000-1, table 30); `largest` and `total` are the declared pixels of the largest picture and of all together;
 * `forms` is how often forms are drawn, and `bytes` how much content is interpreted for that; `strings` how many strings one page shows at most, where
 * its content was read: that of a file without forms is for `--text` alone. No picture is decoded: sizes are in dictionaries and
 * in the first bytes of streams. If a command fails, exits with its status.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { MAX_PAGES } from '../../../catalog/bounds.ts';
import { type Drawn, drawnBy } from './measure/forms.ts';
import { type Content, listObjects, type PdfListing, type Stream } from './measure/objects.ts';
import { pixelsOf } from './measure/pictures.ts';
import { decrypt, dumpStreams, type Pdf, run } from './measure/qpdf.ts';

/** Content that is looked through, as stored: a file that has more has earned more time by its size. */
const MOST_CONTENT_BYTES = 4 << 20;

async function main([first = '', ...others]: readonly string[]): Promise<void> {
  const isText = first === '--text';
  const [input = '', passwordFile] = isText ? others : [first, ...others];
  const folder = mkdtempSync(`${process.cwd()}/measure-`);
  process.once('exit', () => rmSync(folder, { recursive: true }));
  const pdf: Pdf = { input: passwordFile === undefined ? input : decrypt(input, passwordFile, folder), folder };
  // Before qpdf, which reports a missing password as a wrong one.
  const info = `${folder}/pdfinfo.txt`;
  run('pdfinfo', ['-f', '1', '-l', String(MAX_PAGES), pdf.input], { stdoutTo: info });
  const told = readFileSync(info, 'latin1');
  // The title is printed first and may look like this line: the last match counts. A file with too many pages is read no further, as qpdf looks through
  // the resources of each.
  if (Number([...told.matchAll(/^Pages:\s{1,40}(\d{1,10})$/gm)].at(-1)?.[1] ?? 0) > MAX_PAGES) {
    process.stdout.write(`${told}\n${JSON.stringify({ units: {}, largest: 0, total: 0, forms: 0, bytes: 0, strings: 0 })}\n`, 'latin1');
    return;
  }
  const { units, streams, ...drawing } = await listObjects(pdf, isText);
  const pixels = await measure(pdf, isText ? [] : streams);
  const drawn = count(pdf, drawing);
  process.stdout.write(`${told}\n${JSON.stringify({ units, ...pixels, ...drawn })}\n`, 'latin1');
}

function count(pdf: Pdf, { contents, pageContents }: Pick<PdfListing, 'contents' | 'pageContents'>): Drawn {
  const read = new Map<string, Content>();
  let left = MOST_CONTENT_BYTES;
  for (const [name, content] of contents) {
    // A large one hides none of those behind it.
    if (content.bytes > left) continue;
    left -= content.bytes;
    read.set(name, content);
  }
  const objects = [...read.values()].map(({ object }) => object);
  return drawnBy(read, pageContents, dumpStreams(pdf, objects, 'generalized'));
}

async function measure(pdf: Pdf, streams: readonly Stream[]): Promise<{ largest: number; total: number }> {
  let largest = 0;
  let total = 0;
  const dumped = dumpStreams(
    pdf,
    streams.map(({ object }) => object),
  );
  for (const stream of streams) {
    for (const pixels of await pixelsOf(stream, dumped(stream.object))) {
      largest = Math.max(largest, pixels);
      total += pixels;
    }
  }
  return { largest, total };
}

await main(process.argv.slice(2));
