/** The page's other languages say all that the service says of its tools, options and warnings, and nothing else. */
import { glob, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { engines } from '../../../src/catalog/engines.gen.ts';
import { formOptionNames, optionSchemas } from '../../../src/catalog/options/options.ts';
import { describedSchema } from '../../../src/catalog/options/texts.ts';
import { absentTools, tools } from '../../../src/catalog/tools.ts';
import { errorTable, reasonTable } from '../../../src/errors.ts';
import { catalog as german } from '../../../web/src/words/catalog.de.ts';
import { catalog as spanish } from '../../../web/src/words/catalog.es.ts';
import { texts as germanTexts } from '../../../web/src/words/texts.de.ts';
import { texts as spanishTexts } from '../../../web/src/words/texts.es.ts';
import { translate } from '../../../web/src/words/warnings.ts';

const schemas = [
  ...formOptionNames.map((name) => [name, describedSchema(name, optionSchemas[name])] as const),
  ...tools.flatMap((tool) => Object.entries(tool.input.shape).map(([name, field]) => [name, describedSchema(name, field, tool)] as const)),
];
/** What the page makes of a description (web/src/parts/options.tsx). */
const said = schemas.map(([, { description = '' }]) => {
  const [means = '', rest = ''] = description.split(/\s?Takes /);
  const takes = (rest.split(/\. (?:Default|Has an effect|Required)/)[0] ?? '').replace(/\.$/, '').replace(/^(integer|number), /, '');
  return { means, takes };
});
/** Those that are lists of values, and ranges of numbers, need no words. */
const NO_WORDS = /^one of|true, false|#rrggbb|^[\d.]+ to [\d.]+( px| Hz| kbit\/s| %| ms)?$/;
/** Values that are names in every language, or that the browser names. */
const NAMES = ['video_codec', 'format', 'language', 'country', 'page_size'];
const values = schemas.flatMap(([name, { enum: values = [] }]) =>
  NAMES.includes(name) ? [] : values.filter((value) => /[a-z]/.test(String(value))),
);
const distinct = (texts: Iterable<unknown>): unknown[] => [...new Set(texts)].toSorted();

/** All codes of warnings in the sources, which alone are in small letters. */
async function codes(): Promise<string[]> {
  const found = new Set<string>();
  for await (const path of glob('src/**/*.{ts,py}'))
    for (const [, code = ''] of (await readFile(path, 'utf8')).matchAll(/\b(?:code"?: ?|warn\()['"]([a-z_]+)['"]/g)) found.add(code);
  // A mistake of zod's.
  found.delete('custom');
  return [...found];
}

/** Whole sentences of the warning `lossy`, as the page knows them: numbers are places. */
async function remarks(): Promise<string[]> {
  const found = new Set<string>();
  const note = (sentence = '') => {
    let place = 0;
    if (!sentence.startsWith('This conversion from ')) found.add(sentence.replaceAll(/\$\{[^}]*\}|\d+/g, () => `{${++place}}`));
  };
  for await (const path of glob('src/catalog/**/*.ts'))
    for (const [, , sentence] of (await readFile(path, 'utf8')).matchAll(/code: 'lossy', message: (['`])(.*?)\1/g)) note(sentence);
  for await (const path of glob('src/exec/programs/**/*.ts')) {
    const source = await readFile(path, 'utf8');
    // In these every sentence is one, but for those of refusals.
    if (!/\blossy\(|\basWritten\(|\bwarnings: is/.test(source)) continue;
    for (const [, , sentence] of source.replaceAll(/new FileRefused\([^)]*\)/g, '').matchAll(/(['`])([A-Z][^'`\n]*\.)\1/g)) note(sentence);
  }
  return [...found];
}

describe.each([
  ['German', german, germanTexts],
  ['Spanish', spanish, spanishTexts],
])('the words of the catalogue in %s', (_, catalog, texts) => {
  it('are those of each tool', () => {
    expect(Object.keys(catalog.tools).toSorted()).toEqual([...tools, ...absentTools].map(({ slug }) => slug).toSorted());
    expect(Object.keys(texts.reasons)).toEqual(expect.arrayContaining(distinct(absentTools.map(({ reason }) => reason))));
  });
  it('are those of each option', () => {
    const fields = tools.flatMap((tool) => Object.keys(tool.input.shape));
    expect(Object.keys(catalog.options).toSorted()).toEqual([...new Set([...formOptionNames, ...fields])].toSorted());
  });
  it('are those of what each option does, takes, and has as values', () => {
    expect(Object.keys(texts.does).toSorted()).toEqual(distinct(said.map(({ means }) => means)));
    expect(Object.keys(texts.takes).toSorted()).toEqual(distinct(said.map(({ takes }) => takes).filter((takes) => !NO_WORDS.test(takes))));
    expect(Object.keys(texts.values)).toEqual(expect.arrayContaining(distinct(values)));
  });
  it('are those of each warning, and of what conversions lose', async () => {
    expect(Object.keys(texts.warnings).toSorted()).toEqual((await codes()).toSorted());
    expect(Object.keys(texts.losses)).toEqual(
      expect.arrayContaining(distinct(engines.flatMap(({ conversions }) => conversions.flatMap(({ loses = [] }) => loses)))),
    );
    expect(Object.keys(texts.remarks).toSorted()).toEqual((await remarks()).toSorted());
  });
});

/** What the page waits for, and what it never asks for. */
const NEVER_SHOWN = ['BANNED', 'RATE_LIMITED', 'OVERLOADED', 'NOT_FOUND', 'METHOD_NOT_ALLOWED', 'NOT_ACCEPTABLE'];
NEVER_SHOWN.push('JOB_NOT_READY', 'PRECONDITION_FAILED', 'RANGE_NOT_SATISFIABLE');

it('the page has a sentence for each code of an error, and each reason of a failure', async () => {
  const own = await readFile('web/src/parts/failure.ts', 'utf8');
  const all = [...Object.keys(errorTable), ...Object.keys(reasonTable)].filter((each) => !NEVER_SHOWN.includes(each));
  for (const { failures } of [germanTexts, spanishTexts])
    expect(all.filter((each) => failures[each] === undefined && !own.includes(`  ${each}: '`))).toEqual([]);
});

describe('a warning', () => {
  const inGerman = (code: string, message: string) => translate({ code, message }, german, germanTexts, 'de');
  it('keeps what its sentence tells', () => {
    expect(
      inGerman('lossy', 'This conversion from xml does not keep: comments, and the order of elements that have different names, text.'),
    ).toBe('Bei der Umwandlung aus XML geht Folgendes verloren: Kommentare und die Reihenfolge verschieden benannter Elemente, Text.');
    expect(inGerman('option_ignored', 'The option dpi has no effect on this conversion.')).toBe(
      'Die Option „Auflösung“ hat hier keine Wirkung.',
    );
  });
  it.each([
    ['Attached files are listed, but not included in the result: 1200.', 'Angehängte Dateien sind genannt, aber nicht im Ergebnis: 1.200.'],
    ['Pictures beyond 16 MiB in all are left out: 3.', 'Bilder jenseits von zusammen 16 MiB fehlen im Ergebnis: 3.'],
    ['Names that XML does not allow were changed.', 'Namen, die XML nicht erlaubt, wurden geändert.'],
  ])('of a program is known but for its numbers: %s', (message, expected) => {
    expect(inGerman('lossy', message)).toBe(expected);
  });
  it.each([
    ['charset_guessed', 'The text is not UTF-8 and does not name its encoding: it was read as windows-1251.', 'als windows-1251 gelesen.'],
    ['content_differs', 'The file was read as png, based on its content; its name says jpg.', 'als PNG gelesen'],
    ['end_past_end', 'The recording ends after 12.5 seconds: end_time is after its end.', 'endet nach 12,5 Sekunden'],
    ['entries_dropped', 'Not in the result: links: 3, special files: 1.', 'im Ergebnis: Links: 3, Gerätedateien: 1.'],
    ['format_assumed', 'The text was read as csv; to change that, pass "from_format" or "filename".', 'als CSV gelesen.'],
    ['language_detected', 'The language was detected: Spanish (es), 98 % sure.', 'Erkannte Sprache: Spanisch, zu 98 % sicher.'],
    ['length_unknown', 'The length of the file is unknown: at most its first 300 seconds are used.', 'ersten 300 Sekunden'],
    ['low_resolution', 'The head is small in the photo: it was enlarged 2.4 times.', '2,4-fach'],
    ['option_unknown', 'There is no option "dpj". Did you mean dpi?', 'keine Option „dpj“'],
    ['page_incomplete', 'The page had not finished loading after 30 seconds; the result shows it as it was then.', 'nach 30 Sekunden'],
    ['pages_beyond_end', 'The document has 5 pages; requested pages after the last one were ignored.', 'hat 5 Seiten'],
    ['tables_left_out', 'The document has 12 tables, and the first of them is in the result: worksheet …', 'hat 12 Tabellen'],
    [
      'zip_of_pages',
      'One png file can contain only one page: the 3 parts are in a ZIP.',
      'Eine PNG-Datei fasst nur eine Seite: Die 3 Teile',
    ],
  ])('has the parts of %s', (code, message, part) => {
    expect(inGerman(code, message)).toContain(part);
  });
  it('has the names of fonts as they are', () => {
    const message =
      'Fonts that are neither installed nor in the document were replaced, so lines may break elsewhere: "Georgia", "Stand by Me" by DejaVu Serif; and 3 more.';
    expect(inGerman('font_substituted', message)).toMatch(/: "Georgia", "Stand by Me" → DejaVu Serif; \+ 3\.$/);
  });
  it('stays as the service says it where it is not known', () => {
    expect(inGerman('lossy', 'Something new of 2 files.')).toBeUndefined();
    expect(inGerman('of_tomorrow', 'Something new.')).toBeUndefined();
  });
});
