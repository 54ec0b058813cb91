/** Programs that read PDFs, ours and others', each with what could be its worst case: eight times the size takes eight times the time. */
import { deflateSync } from 'node:zlib';
import { proveLinear, type Reader, times } from './growth.ts';

/** A PDF of these objects, of which the first is its catalog. */
function pdfOf(objects: readonly string[]): string {
  const places: number[] = [];
  const parts = ['%PDF-1.5\n'];
  let at = parts[0]?.length ?? 0;
  for (const [index, object] of objects.entries()) {
    const part = `${index + 1} 0 obj\n${object}\nendobj\n`;
    places.push(at);
    parts.push(part);
    at += part.length;
  }
  const rows = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('');
  parts.push(`xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\n`);
  return `${parts.join('')}startxref\n${at}\n%%EOF\n`;
}

const stream = (entries: string, content: string): string => {
  const bytes = deflateSync(content).toString('latin1');
  return `<< ${entries} /Filter /FlateDecode /Length ${bytes.length} >>\nstream\n${bytes}\nendstream`;
};
const list = (count: number, part: (at: number) => string): readonly string[] => Array.from({ length: count }, (_, at) => part(at));
const FONT = '<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>';
const PAGE = '/Type /Page /Parent 2 0 R /MediaBox [0 0 600 800]';

/** A page of this content, which may name the font F, and objects from number 5 on. */
const onePage = (content: string, { page = '', catalog = '', more = [] as readonly string[] } = {}): string =>
  pdfOf([
    `<< /Type /Catalog /Pages 2 0 R ${catalog} >>`,
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    `<< ${PAGE} /Contents 4 0 R /Resources ${FONT} ${page} >>`,
    stream('', content),
    ...more,
  ]);
/** Pages that share what is said of them: number 3 on, behind objects that have numbers from there. */
const pages = (count: number, shared: string, before: readonly string[] = []): string => {
  const first = 3 + before.length;
  return pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${list(count, (at) => `${first + at} 0 R`).join(' ')}] /Count ${count} >>`,
    ...before,
    ...list(count, () => `<< ${PAGE} ${shared} >>`),
  ]);
};

const FORM = stream('/Type /XObject /Subtype /Form /BBox [0 0 1 1]', '0 0 1 1 re f');
const measured: Reader['args'] = (input) => [input];
const pruned: Reader['args'] = (input, output) => [input, '1', output, '.'];
const merged: Reader['args'] = (input, output) => [input, output, '.', input];
const word = (page: number, line: number, at: number, text: string, { left = 10 * at, top = 12 * line, width = 9 } = {}): string =>
  `5\t${page}\t0\t0\t${line}\t${at}\t${left}\t${top}\t${width}\t10\t100\t${text}\n`;
const asMarkdown = (file: Reader['file'], count: number): Reader => ({
  program: 'pdf/markdown.ts',
  args: (input, output) => [input, output],
  file,
  count,
});
const text = (count: number, part: (at: number) => string): string => onePage(`BT /F 1 Tf ${times(count, part)} ET`);

proveLinear({
  // qpdf looks through all of them for each page, of which there are 2,000 at most.
  'measure: forms that pages share': {
    program: 'pdf/measure.ts',
    args: measured,
    file: (count) =>
      pages(500, '/Contents 4 0 R /Resources 3 0 R', [
        `<< /XObject 5 0 R >>`,
        stream('', '/F0 Do'),
        `<< ${times(count, (at) => `/F${at} 6 0 R `)} >>`,
        FORM,
      ]),
    count: 1_000,
  },
  'measure: pictures that begin and do not end': {
    program: 'pdf/measure.ts',
    args: measured,
    file: (count) => onePage('BI'.repeat(count)),
    count: 500_000,
  },
  'measure: pictures that begin in one another': {
    program: 'pdf/measure.ts',
    args: measured,
    file: (count) => onePage(`${'BI /W 1 '.repeat(100)} ID `.repeat(count)),
    count: 5_000,
  },
  'measure: slashes before nothing': {
    program: 'pdf/measure.ts',
    args: measured,
    file: (count) => onePage(`${'/a'.repeat(count)} Do`, { page: '/Resources << /XObject << /F 5 0 R >> >>', more: [FORM] }),
    count: 1_000_000,
  },
  'measure: streams': {
    program: 'pdf/measure.ts',
    args: measured,
    file: (count) => onePage('', { more: list(count, () => FORM) }),
    count: 1_000,
  },
  'measure: forms within one another': {
    program: 'pdf/measure.ts',
    args: measured,
    file: (count) =>
      onePage('/F Do', {
        page: '/Resources << /XObject << /F 5 0 R >> >>',
        more: list(count, (at) =>
          stream(`/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << /XObject << /F ${6 + at} 0 R >> >>`, '/F Do'),
        ),
      }),
    count: 1_000,
  },
  'prune: a tree of names that is one branch': {
    program: 'pdf/prune.ts',
    args: pruned,
    file: (count) => onePage('', { catalog: '/Names << /Dests 5 0 R >>', more: list(count, (at) => `<< /Kids [${6 + at} 0 R] >>`) }),
    count: 200,
  },
  'prune: names': {
    program: 'pdf/prune.ts',
    args: pruned,
    file: (count) =>
      onePage('', {
        catalog: '/Names << /Dests 5 0 R >>',
        more: [`<< /Names [${times(count, (at) => `(n${String(at).padStart(7, '0')}) [3 0 R /Fit] `)}] >>`],
      }),
    count: 10_000,
  },
  'prune: links': {
    program: 'pdf/prune.ts',
    args: pruned,
    file: (count) =>
      onePage('', {
        page: `/Annots [${times(count, (at) => `${5 + at} 0 R `)}]`,
        more: list(count, () => '<< /Subtype /Link /Rect [0 0 1 1] /Dest [3 0 R /Fit] >>'),
      }),
    count: 5_000,
  },
  'prune: pages': { program: 'pdf/prune.ts', args: pruned, file: (count) => pages(count, ''), count: 2_000 },
  'merge: entries of an outline': {
    program: 'pdf/merge.ts',
    args: merged,
    file: (count) =>
      onePage('', {
        catalog: '/Outlines 5 0 R',
        more: [
          `<< /First 6 0 R /Last ${5 + count} 0 R /Count ${count} >>`,
          ...list(
            count,
            (at) =>
              `<< /Title (t) /Parent 5 0 R /Dest [3 0 R /Fit] ${at > 0 ? `/Prev ${5 + at} 0 R` : ''} ${at + 1 < count ? `/Next ${7 + at} 0 R` : ''} >>`,
          ),
        ],
      }),
    count: 2_000,
  },
  'merge: entries of an outline within one another': {
    program: 'pdf/merge.ts',
    args: merged,
    file: (count) =>
      onePage('', {
        catalog: '/Outlines 5 0 R',
        more: [
          '<< /First 6 0 R /Last 6 0 R /Count 1 >>',
          ...list(count, (at) => `<< /Title (t) /Parent ${5 + at} 0 R /First ${7 + at} 0 R /Last ${7 + at} 0 R /Count 1 >>`),
        ],
      }),
    count: 1_000,
  },
  'Markdown: words of one line': asMarkdown((count) => times(count, (at) => word(1, 1, at, 'ab')), 50_000),
  'Markdown: lines': asMarkdown((count) => times(count, (at) => word(1, at, 0, 'ab.')), 50_000),
  'Markdown: a cell that goes on': asMarkdown(
    (count) =>
      word(1, 0, 0, 'a') +
      word(1, 0, 90, 'b') +
      word(1, 1, 0, 'c') +
      word(1, 1, 90, 'd') +
      times(count, (at) => word(1, 2 + at, 90, 'words', { top: 12 + 10 * (at + 1), width: 50 })),
    20_000,
  ),
  'Markdown: a table': asMarkdown(
    (count) => times(count, (at) => times(60, (column) => word(1, at, column, 'ab', { left: 40 * column }))),
    1_000,
  ),
  'Markdown: bullets': asMarkdown((count) => times(count, (at) => word(1, at, 0, '•') + word(1, at, 1, 'ab')), 20_000),
  'Markdown: headings of all sizes': asMarkdown(
    (count) => times(count, (at) => `5\t${at}\t0\t0\t${at}\t0\t0\t0\t9\t${10 + (at % 1000)}\t100\tab\n`),
    20_000,
  ),
  'Markdown: words from right to left': asMarkdown((count) => times(count, (at) => word(1, at >> 6, at & 63, 'אבג')), 20_000),
  'HTML: paragraphs of one line': {
    program: 'pdf/html.ts',
    args: (input, output) => [input, output],
    file: (count) => times(count, (at) => `<p style="position:absolute;top:1px;left:${at}px;">a</p>\n`),
    count: 20_000,
  },
  'HTML: tags of one line': {
    program: 'pdf/html.ts',
    args: (input, output) => [input, output],
    file: (count) => `<p style="position:absolute;top:1px;left:1px;">\xd7\x90${'<b>\xd7\x90'.repeat(count)}</p>\n`,
    count: 2_000,
  },
  'scan: pages of text': {
    program: 'pdf/scan.ts',
    args: (input, output) => [input, `${output}.txt`, '.', 'eng', '150', '1'],
    file: (count) => pages(count, `/Contents 3 0 R /Resources ${FONT}`, [stream('', 'BT /F 9 Tf (words) Tj ET')]),
    count: 100,
  },
  'qpdf: objects': {
    program: '/usr/bin/qpdf',
    args: (input, output) => ['--object-streams=generate', input, output],
    file: (count) => onePage('', { more: list(count, () => '<< /A [1 2 3] >>') }),
    count: 20_000,
  },
  'qpdf: a table of objects that is damaged': {
    program: '/usr/bin/qpdf',
    args: (input, output) => [input, output],
    file: (count) => onePage('', { more: list(count, () => '<< /A [1 2 3] >>') }).split('xref\n', 1)[0] ?? '',
    count: 10_000,
  },
  'pdftotext: letters in one place': {
    program: '/usr/bin/pdftotext',
    args: (input, output) => [input, output],
    file: (count) => text(count, () => '1 0 0 1 10 10 Tm (a) Tj '),
    count: 2_000,
  },
  // In the order of the page they take the square: so many are never ordered.
  'pdftotext: words of a page, as they are written': {
    program: '/usr/bin/pdftotext',
    args: (input, output) => ['-raw', input, output],
    file: (count) => text(count, (at) => `1 0 0 1 ${(at * 7919) % 590} ${(at * 104_729) % 790} Tm (ab) Tj `),
    count: 100_000,
  },
  'pdftotext: pages': {
    program: '/usr/bin/pdftotext',
    args: (input, output) => [input, output],
    file: (count) => pages(count, `/Contents 3 0 R /Resources ${FONT}`, [stream('', 'BT /F 9 Tf (words) Tj ET')]),
    count: 500,
  },
  'pdftohtml: words of a page': {
    program: '/usr/bin/pdftohtml',
    args: (input, output) => ['-s', '-i', '-noframes', '-enc', 'UTF-8', '-q', input, output],
    file: (count) => text(count, (at) => `1 0 0 1 ${(at * 7) % 590} ${(at * 13) % 790} Tm (a) Tj `),
    count: 2_000,
  },
  'pdftoppm: lines of a page': {
    program: '/usr/bin/pdftoppm',
    args: (input, output) => ['-r', '50', '-png', input, output],
    file: (count) => onePage(times(count, (at) => `${at % 600} 0 m ${(at * 7) % 600} 800 l S\n`)),
    count: 2_000,
  },
  'pdftoppm: one path': {
    program: '/usr/bin/pdftoppm',
    args: (input, output) => ['-r', '50', '-png', input, output],
    file: (count) => onePage(`0 0 m ${times(count, (at) => `${(at * 7919) % 600} ${(at * 104_729) % 800} l\n`)} f`),
    count: 1_000,
  },
  'Ghostscript: lines of a page': {
    program: '/usr/bin/gs',
    args: (input, output) => ['-q', '-dSAFER', '-dBATCH', '-dNOPAUSE', '-sDEVICE=pdfwrite', `-sOutputFile=${output}`, input],
    file: (count) => onePage(times(count, (at) => `${at % 600} 0 m ${(at * 7) % 600} 800 l S\n`)),
    count: 10_000,
  },
});
