/** Which tests a change concerns, and which were run again too often. */
import { describe, expect, it } from 'vitest';
import { testsOf } from '../../../scripts/changed-tests.ts';
import { parseUnsteady, tooOften } from '../../../scripts/unsteady.ts';

/** As a module has it. Written so, what looks for imports does not take it for one of this file. */
const importing = (path: string): string => `import { it } from '${path}';`;

const SOURCES = new Map([
  [
    'src/catalog/engines/documents/djvu.ts',
    "export const engine = { binaries: { ddjvu }, conversions: [{ source: 'djvu', target: 'pdf' }], args: ['program:pdf/scan.ts'] };",
  ],
  ['src/catalog/engines.gen.ts', importing('./engines/documents/djvu.ts')],
  ['src/catalog/route.ts', importing('./engines.gen.ts')],
  ['src/exec/programs/pdf/scan.ts', ''],
  ['src/exec/programs/pdf/turn.ts', ''],
  ['src/catalog/planning/turn.ts', "at: ['program:pdf/turn.ts']"],
  ['src/catalog/tools/turn-page.ts', `slug: 'turn-page', ${importing('../planning/turn.ts')}`],
  ['test/integration/catalog/turns.test.ts', "call('turn-page')"],
  ['src/api/mcp/calls.ts', ''],
  ['test/unit/catalog/route.test.ts', `${importing('../../../src/catalog/route.ts')}\nroute('pdf');`],
  ['test/unit/catalog/djvu.test.ts', importing('../../../src/catalog/engines/documents/djvu.ts')],
  ['test/integration/catalog/scans.test.ts', "send('book.djvu');"],
  ['test/integration/mcp/calls.test.ts', ''],
]);

describe('the tests that a change concerns', () => {
  it.each([
    [
      'an engine',
      'src/catalog/engines/documents/djvu.ts',
      ['test/integration/catalog/scans.test.ts', 'test/unit/catalog/djvu.test.ts', 'test/unit/catalog/route.test.ts'],
    ],
    [
      'a program of an engine',
      'src/exec/programs/pdf/scan.ts',
      ['test/integration/catalog/scans.test.ts', 'test/unit/catalog/route.test.ts'],
    ],
    ['a program that a tool reaches by its plan', 'src/exec/programs/pdf/turn.ts', ['test/integration/catalog/turns.test.ts']],
    ['the route', 'src/catalog/route.ts', ['test/unit/catalog/route.test.ts']],
    ['a part of MCP', 'src/api/mcp/calls.ts', ['test/integration/mcp/calls.test.ts']],
    ['a test', 'test/unit/catalog/djvu.test.ts', ['test/unit/catalog/djvu.test.ts']],
    ['a text of the docs', 'docs/README.md', []],
  ])('are those of %s', (_, changed, tests) => expect(testsOf([changed], SOURCES)).toEqual(tests));

  it('are not those that name what many name', () => {
    const many = Array.from({ length: 7 }, (_, at) => [`test/unit/pages-${at}.test.ts`, "to('pdf')"] as const);
    expect(testsOf(['src/catalog/engines/documents/djvu.ts'], new Map([...SOURCES, ...many]))).toEqual([
      'test/integration/catalog/scans.test.ts',
      'test/unit/catalog/djvu.test.ts',
    ]);
  });
});

describe('a member all of whose words are common', () => {
  it('has the tests of the rarest', () => {
    const of = (count: number, word: string) =>
      Array.from({ length: count }, (_, at) => [`test/unit/${word}-${at}.test.ts`, `'${word}'`] as const);
    const sources = new Map([['src/catalog/engines/data/pim.ts', "['vcf', 'json']"] as const, ...of(8, 'vcf'), ...of(20, 'json')]);
    expect(testsOf(['src/catalog/engines/data/pim.ts'], sources)).toEqual(of(8, 'vcf').map(([path]) => path));
  });
});

describe('files that had to be run again', () => {
  const now = new Date('2026-11-29T12:00:00Z');
  it('fail a run when it was twice in a week', () => {
    const list = parseUnsteady('# by day\n2026-11-10 a.test.ts\n2026-11-23 b.test.ts\n2026-11-28 a.test.ts\n2026-11-29 b.test.ts\n');
    expect(tooOften(list, now)).toEqual([
      'b.test.ts had to be run again 2 times in a week: fix it, and take its lines out of test/unsteady.txt',
    ]);
  });

  it('are forgotten after a week', () => {
    expect(tooOften(parseUnsteady('2026-11-20 a.test.ts\n2026-11-22 a.test.ts\n2026-11-29 a.test.ts'), now)).toEqual([]);
  });
});
