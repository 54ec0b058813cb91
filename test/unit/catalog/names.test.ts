/** Names in one archive stay apart wherever it is unpacked. */
import { describe, expect, it } from 'vitest';
import { numbered } from '../../../src/api/batches/zip.ts';
import { cleanName, distinctNames } from '../../../src/catalog/names.ts';
import { partNames } from '../../../src/worker/conversion/output.ts';

describe('names that some file systems take for one', () => {
  it.each([
    ['case', 'Plan.pdf', 'pLAN.PDF'],
    ['the sharp s and two s', 'straße.pdf', 'STRASSE.pdf'],
    ['the capital sharp s', 'STRAẞE.pdf', 'strasse.pdf'],
    ['a ligature', 'ﬁle.pdf', 'FILE.pdf'],
    ['a separate accent and a composed letter', 'é.pdf', 'e\u0301.pdf'],
    ['both lower-case sigmas', 'λόγος.pdf', 'ΛΌΓΟΣ.pdf'],
    ['full-width letters', 'ＡＢ.pdf', 'ab.pdf'],
  ])('differ in an archive: %s', (_, first, second) => {
    const [one, two] = numbered([first, second]);
    expect(one).toBe(first);
    expect(two).toBe(second.replace(/(\.pdf)$/i, '-2$1'));
  });

  it('do not take the name of the report of failed files', () => {
    expect(numbered(['Errors.JSON'])).toEqual(['Errors-2.JSON']);
  });
});

it.each([
  ['con.png', '_con.png'],
  ['CONIN$', '_CONIN$'],
  ['conout$.tar.gz', '_conout$.tar.gz'],
  ['COM¹.txt', '_COM¹.txt'],
  ['lpt0 .txt', '_lpt0.txt'],
  ['console.png', 'console.png'],
  ['com10.txt', 'com10.txt'],
])('a name that Windows has for a device is none any more: %s', (sent, name) => {
  expect(cleanName(sent)).toBe(name);
});

it('a sheet that is called as another one was renamed gets a number too', () => {
  const labels = ['A-003', 'a', 'A', 'A-003-003'].map((label) => ({ label }));
  expect(partNames('book', labels, 'csv')).toEqual(['A-003.csv', 'a.csv', 'A-003-2.csv', 'A-003-003.csv']);
});

it('parts that an engine only numbers get the number of their page', () => {
  expect(
    partNames(
      'scan',
      [
        { label: 'page-1', page: 4 },
        { label: 'page-2', page: 12 },
      ],
      'png',
    ),
  ).toEqual(['scan-004.png', 'scan-012.png']);
});

it('candidates that end are an error, not a name given twice', () => {
  const take = distinctNames(['a']);
  expect(() => take(['A'])).toThrow('no name is free');
});
