import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { Engine, Plan, ProcessStep, Task } from '../../../src/catalog/engine.ts';
import { tableSteps } from '../../../src/catalog/engines/documents/libreoffice/tables.ts';
import { engine as pandoc } from '../../../src/catalog/engines/documents/pandoc.ts';
import { engine as ghostscript } from '../../../src/catalog/engines/pdf/ghostscript.ts';
import { engine as pdftotext } from '../../../src/catalog/engines/pdf/pdftotext.ts';
import { engine as poppler } from '../../../src/catalog/engines/pdf/poppler.ts';
import { engine as qpdf } from '../../../src/catalog/engines/pdf/qpdf.ts';
import { engine as scans } from '../../../src/catalog/engines/pdf/scans.ts';
import { engine as tesseract } from '../../../src/catalog/engines/pdf/tesseract.ts';
import { readPing } from '../../../src/catalog/engines/pictures/imagemagick/inspect.ts';
import { shownSizes } from '../../../src/catalog/planning/documents/pdf.ts';
import { Failure } from '../../../src/errors.ts';

const engines: readonly Engine[] = [ghostscript, pandoc, pdftotext, poppler, qpdf, scans, tesseract];
const readers: readonly Engine[] = [ghostscript, pdftotext, poppler, qpdf, scans];

const aTask = (change: Partial<Task> = {}): Task => ({
  source: 'pdf',
  target: 'pdf',
  options: {},
  input: '/job/input.pdf',
  output: '/job/out',
  scratch: '/job/scratch',
  passwordFile: undefined,
  facts: { pages: 9 },
  ...change,
});

/** What the looks of a plan say, of a PDF whose first page is a picture. */
const SAID: Readonly<Record<string, string>> = {
  awk: '1\nof 9, 500 words\n',
  measure: 'Pages:           9\n{"units":{},"largest":1,"total":1,"forms":0,"bytes":0}\n',
};
const commandsOf = ({ steps, next }: Plan): readonly ProcessStep[] => [
  ...steps.map((step) => {
    if (!('run' in step)) throw new Error('no resident serves documents here');
    return step;
  }),
  ...(next === undefined ? [] : [next.look, ...commandsOf(next.plan(SAID[next.look.run] ?? ''))]),
];
const commands = (engine: Engine, change: Partial<Task> = {}): readonly ProcessStep[] => commandsOf(engine.plan(aTask(change)));
const lines = (engine: Engine, change: Partial<Task> = {}): string[] =>
  commands(engine, change).map(({ run, args }) => [run, ...args].join(' '));

describe.each(engines)('$id', (engine) => {
  it('runs only programs that it declares', () => {
    for (const { source, target } of engine.conversions)
      for (const { run } of commands(engine, { source, target })) expect(Object.keys(engine.binaries)).toContain(run);
  });

  it('writes its result into the output folder', () => {
    for (const { source, target } of engine.conversions)
      expect(commands(engine, { source, target }).at(-1)?.args.join(' '), `${source} to ${target}`).toContain('/job/out/');
  });
});

describe.each(readers)('$id on a locked PDF', (engine) => {
  const locked = { options: { password: 'open sesame' }, passwordFile: '/job/password' } as const;

  it('never puts the password on a command line', () => {
    for (const { target } of engine.conversions)
      for (const line of lines(engine, { ...locked, target })) expect(line).not.toContain('sesame');
    const asked = { ...aTask(locked), target: 'pdf' };
    const step = engine.inspect?.step('/job/input.pdf', asked);
    expect([step?.run, ...(step?.args ?? [])].join(' ')).toBe(
      engine === scans || engine.binaries['measure'] === undefined
        ? 'qpdf --password-file=/job/password --show-npages /job/input.pdf'
        : 'measure /job/input.pdf /job/password',
    );
  });

  it('opens it with qpdf first', () => {
    for (const { target } of engine.conversions)
      expect(lines(engine, { ...locked, target })[0]).toMatch(/^qpdf --password-file=\/job\/password --decrypt \/job\/input\.pdf /);
  });
});

describe('text of a PDF', () => {
  const looks = (engine: Engine, target: string, said: string): readonly string[] => {
    const first = engine.plan(aTask({ target }));
    const second = first.next?.plan(said);
    return [...first.steps, first.next?.look, ...(second?.steps ?? []), second?.next?.look].flatMap((step) =>
      step !== undefined && 'run' in step ? step.run : [],
    );
  };
  it.each([
    ['txt', 'of 9, 20000 words\n', ['pdftotext', 'awk', 'pdftotext']],
    ['txt', 'of 9, 20001 words\n', ['pdftotext', 'awk']],
    ['md', 'of 9, 500 words\n', ['pdftotext', 'awk', 'pdftotext', 'markdown']],
    ['txt', '4\nof 9, 500 words\n', ['pdftotext', 'awk', 'measure']],
    // A page whose text is missing altogether.
    ['md', 'of 8, 500 words\n', ['pdftotext', 'awk', 'measure']],
  ])('as %s, where the look at its pages says %j', (target, said, runs) => expect(looks(scans, target, said)).toEqual(runs));

  it('is blank where a page has spaces of any kind alone', () => {
    const layer = 'a word\n\f \u00a0\t\u3000\n\f\f\ufeff\n\f\u00e9\f';
    const { look } = scans.plan(aTask({ target: 'txt' })).next ?? {};
    const said = execFileSync('/usr/bin/mawk', [look?.args[0] ?? ''], { input: layer, encoding: 'utf8' });
    expect(said).toBe('2\n3\n4\nof 5, 2 words\n');
  });
});

describe('the pages of a PDF', () => {
  const pages = (...ranges: [number, number][]) => ({ options: { pages: ranges } });

  const cases: Record<string, [ranges: [number, number][], chosen: string | undefined]> = {
    'one page': [[[3, 3]], '3'],
    'ranges in the order asked for': [
      [
        [8, 9],
        [2, 4],
      ],
      '8-9,2-4',
    ],
    'each page once': [
      [
        [2, 3],
        [3, 5],
      ],
      '2-5',
    ],
    'what reaches beyond the end': [[[7, 40]], '7-9'],
    'all pages, which needs no selection': [[[1, 2000]], undefined],
  };
  for (const [sentence, [ranges, chosen]] of Object.entries(cases))
    it(`are taken by qpdf: ${sentence}`, () => {
      const kept = chosen?.split(',').flatMap((range) => {
        const [first = 0, last = first] = range.split('-').map(Number);
        return Array.from({ length: last - first + 1 }, (_, index) => first + index);
      });
      const pruned = '/job/scratch/pruned.json';
      const selection = chosen === undefined ? '' : ` --update-from-json=${pruned} --pages . ${chosen} --`;
      expect(lines(qpdf, pages(...ranges))).toEqual([
        ...(kept === undefined ? [] : [`prune /job/input.pdf ${kept} ${pruned} /job/scratch`]),
        `qpdf /job/input.pdf${selection} /job/out/document.pdf`,
      ]);
    });

  it('are drawn from the selection alone', () => {
    const [first, second] = lines(poppler, { ...pages([2, 3]), target: 'png' });
    expect(first).toBe('qpdf /job/input.pdf --pages . 2-3 -- /job/scratch/opened.pdf');
    expect(second).toContain('-png /job/scratch/opened.pdf /job/out/page');
  });

  it('are refused when the file has none of them', () => {
    expect(() => qpdf.plan(aTask(pages([10, 12])))).toThrow(Failure);
  });

  it('beyond the end are mentioned, but not when all were asked for', () => {
    expect(qpdf.plan(aTask(pages([7, 40]))).warnings).toMatchObject([{ code: 'pages_beyond_end' }]);
    expect(qpdf.plan(aTask(pages([1, 2000]))).warnings).toEqual([]);
  });
});

describe('what pdfinfo says', () => {
  const read = (engine: Engine, stdout: string, change: Partial<Task> = {}) => engine.inspect?.read(stdout, aTask(change));

  it('is the count of pages, whatever the title claims', () => {
    expect(read(qpdf, 'Title: x\nPages: 7777\nPages:           3\n')).toEqual({ pages: 3, encrypted: false });
  });

  it('is refused above 2000 pages', () => {
    expect(() => read(qpdf, 'Pages:           2001\n')).toThrow(/pages 2001, at most 2000/);
    expect(read(qpdf, 'Pages:           2000\n')).toEqual({ pages: 2000, encrypted: false });
  });
});

describe('the sizes of pages', () => {
  it.each([
    [
      'whatever the title claims',
      'Title: x\nPage 1 size: 9 x 9 pts\nPage 7 size: . x e pts\nPage    1 size:  10 x 20 pts\nPage    1 rot:   90\n',
      [[20, 10]],
    ],
    [
      'tiny ones too',
      'Page    1 size:  1e-05 x 20 pts (A4)\nPage    2 size:  10 x 20 pts\n',
      [
        [1e-5, 20],
        [10, 20],
      ],
    ],
    [
      'one that is not told is as the one before',
      'Page    1 size:  10 x 20 pts\nPage    2 size:  inf x 0 pts\n',
      [
        [10, 20],
        [10, 20],
      ],
    ],
    [
      'the first one is A4',
      'Page    2 size:  10 x 20 pts\n',
      [
        [595.28, 841.89],
        [10, 20],
      ],
    ],
  ] as const)('are one for each: %s', (_, stdout, sizes) => expect(shownSizes(stdout, sizes.length)).toEqual(sizes));
});

describe('a table of a document', () => {
  it('goes to LibreOffice with a separator that is not guessed', () => {
    const [written, asked] = tableSteps('/job/scratch/found.json', aTask({ target: 'xlsx' }));
    expect([written, asked]).toMatchObject([
      { args: ['/job/scratch/found.json', '/job/scratch/between.tsv'] },
      { request: { source: 'tsv', input: '/job/scratch/between.tsv' } },
    ]);
  });
});

describe('what a PDF declares', () => {
  const read = (stdout: string, change: Partial<Task> = {}) => poppler.inspect?.read(stdout, aTask({ target: 'png', ...change }));
  const measured = (more: object, pages = 2, side = 7200) =>
    [
      `Pages:           ${pages}`,
      'Page    1 size:  100 x 100 pts',
      `Page    2 size:  ${side} x ${side} pts`,
      JSON.stringify({ units: {}, largest: 0, total: 0, ...more }),
    ].join('\n');
  const at = (dpi: number) => ({ options: { dpi } });

  it('is refused where a page to be drawn has more than 100 megapixels at the resolution asked for', () => {
    expect(read(measured({}), at(100))).toMatchObject({ pages: 2 });
    expect(() => read(measured({}), at(101))).toThrow(Failure);
    expect(read(measured({}), { options: { dpi: 101, pages: [[1, 1]] } })).toMatchObject({ pages: 2 });
    expect(read(measured({}), { target: 'svg' })).toMatchObject({ pages: 2 });
  });

  it('is refused where all pages to be drawn have more than 20,000 megapixels together', () => {
    const lines = (pages: number) => Array.from({ length: pages }, (_, index) => `Page ${index + 1} size: 7200 x 7200 pts`);
    const large = (pages: number) =>
      [`Pages:           ${pages}`, ...lines(pages), JSON.stringify({ units: {}, largest: 0, total: 0 })].join('\n');
    expect(read(large(200), at(100))).toMatchObject({ pages: 200 });
    expect(() => read(large(201), at(100))).toThrow(/pixels of all pages at 100 dpi 20100000000, at most 20000000000/);
    expect(read(large(2000), { options: { dpi: 100, pages: [[1, 200]] } })).toMatchObject({ pages: 2000 });
    const frames = (count: number) => readPing('10000 10000 72 Undefined True TopLeft \n'.repeat(count));
    expect(() => frames(200)).not.toThrow();
    expect(() => frames(201)).toThrow(/pixels of all frames/);
  });

  it('is refused where the unit of a page makes it that large', () => {
    expect(read(measured({ units: { 2: 10 } }, 2, 720), at(100))).toMatchObject({ pages: 2, largestUnit: 10 });
    expect(() => read(measured({ units: { 2: 10 } }, 2, 720), at(101))).toThrow(/pixels of page 2 at 101 dpi/);
  });

  it('is refused where one picture has more than 100 megapixels, or all have more than pages of that kind could', () => {
    expect(read(measured({ largest: 1e8, total: 1.2e9 }), at(36))).toMatchObject({ pages: 2 });
    expect(() => read(measured({ largest: 1e8 + 1, total: 1e8 + 1 }), at(36))).toThrow(/pixels of a picture/);
    expect(() => read(measured({ largest: 1e8, total: 1.2e9 + 1 }), at(36))).toThrow(
      /pixels of all pictures 1200000001, at most 1200000000/,
    );
  });
});

describe('pandoc', () => {
  it('never reads the file outside its sandbox', () => {
    for (const { source, target } of pandoc.conversions) {
      const steps = commands(pandoc, { source, target, input: '/job/input.x' });
      // Our own programs may look first, or copy a book without what leads out of it; what Pandoc reads outside its sandbox is a tree made from that.
      const copies = ['/job/scratch/book.epub', `/job/scratch/ready.${source}`];
      const seeing = steps.filter(({ args }) => args.includes('/job/input.x') || copies.some((copy) => args.includes(copy)));
      const [run, ...more] = seeing.filter(({ run }) => run === 'pandoc');
      expect(more).toEqual([]);
      expect(run?.args).toContain('--sandbox');
    }
  });

  it('writes packages only from a tree that was cleaned', () => {
    for (const target of ['docx', 'odt', 'epub']) {
      const [read, clean, write] = commands(pandoc, { source: 'md', target });
      expect(read?.args).toContain('--sandbox');
      const language = target === 'epub' ? ['--language', 'und', '--titled'] : [];
      expect(clean?.args).toEqual(['/job/scratch/found.json', '/job/scratch/clean.json', ...language]);
      expect(write?.args.at(-1)).toBe('/job/scratch/clean.json');
    }
  });

  it('takes wrappers out of a tree that it can read in its memory, and converts a larger one as it is', () => {
    const { steps, next } = pandoc.plan(aTask({ source: 'html', target: 'md' }));
    expect(steps).toHaveLength(1);
    expect(next?.look.args).toEqual(['--plain', '/job/scratch/found.json', '/job/scratch/clean.json']);
    const [small, large] = ['{"ok":true,"warnings":[]}', '{"ok":true,"left":true}'].map((said) => next?.plan(said).steps[0]);
    expect([small, large].map((step) => step !== undefined && 'args' in step && step.args.at(-1))).toEqual([
      '/job/scratch/clean.json',
      '/job/input.pdf',
    ]);
  });

  it('bounds the heap of every run', () => {
    for (const { source, target } of pandoc.conversions)
      for (const { run, args } of commands(pandoc, { source, target })) if (run === 'pandoc') expect(args).toContain('-M768m');
  });
});

describe('Ghostscript', () => {
  it('sees only what qpdf wrote, and may touch no other file', () => {
    for (const target of ['pdf', 'tiff']) {
      const [first, second] = commands(ghostscript, { target });
      expect(first?.run).toBe('qpdf');
      expect(second?.args).toContain('-dSAFER');
      expect(second?.args.at(-1)).toBe(first?.args.at(-1));
    }
  });

  it.each([
    [0, '/screen'],
    [25, '/screen'],
    [26, '/ebook'],
    [50, '/ebook'],
    [51, '/printer'],
    [76, '/prepress'],
  ])('takes quality %i for its preset %s', (quality, preset) => {
    expect(lines(ghostscript, { options: { img_quality: quality } })[1]).toContain(`-dPDFSETTINGS=${preset} `);
  });
});

describe('words of a failure', () => {
  it.each([
    [poppler, 'Command Line Error: Incorrect password', 'password_required'],
    [qpdf, 'qpdf: input.pdf: invalid password', 'wrong_password'],
    [scans, 'Error opening data file /usr/share/tessdata/xyz.traineddata', 'engine_missing'],
    [ghostscript, 'Unrecoverable error: VMerror in .installpagedevice', 'memory'],
  ] as const)('of %o: %s', (engine, words, reason) => {
    expect(engine.explain?.(words, 1)).toBe(reason);
  });

  it('that say nothing are left to others', () => {
    for (const engine of engines) expect(engine.explain?.('Syntax Error (18): Illegal character', 1)).toBeUndefined();
  });
});
