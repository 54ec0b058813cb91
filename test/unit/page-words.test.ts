/** The page's other languages say all that the service says of its tools, options and warnings, and nothing else. */
import { glob, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { engines } from '../../src/catalog/engines.gen.ts';
import { formOptionNames, optionSchemas } from '../../src/catalog/options/options.ts';
import { describedSchema } from '../../src/catalog/options/texts.ts';
import { absentTools, tools } from '../../src/catalog/tools.ts';
import { reasonTable } from '../../src/errors.ts';
import { catalog as german } from '../../web/src/words/catalog.de.ts';
import { catalog as spanish } from '../../web/src/words/catalog.es.ts';
import { texts as germanTexts } from '../../web/src/words/texts.de.ts';
import { texts as spanishTexts } from '../../web/src/words/texts.es.ts';
import { translate } from '../../web/src/words/warnings.ts';

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
  });
});

it('the page has a sentence for each reason of a failure', async () => {
  const own = await readFile('web/src/parts/failure.ts', 'utf8');
  for (const { failures } of [germanTexts, spanishTexts])
    expect(Object.keys(reasonTable).filter((reason) => failures[reason] === undefined && !own.includes(`  ${reason}: '`))).toEqual([]);
});

describe('a warning', () => {
  const inGerman = (code: string, message: string) => translate({ code, message }, german, germanTexts);
  it('keeps what its sentence tells', () => {
    expect(
      inGerman('lossy', 'This conversion from xml does not keep: comments, and the order of elements that have different names, text.'),
    ).toBe('Bei der Umwandlung aus xml geht verloren: Kommentare und die Reihenfolge verschieden benannter Elemente, Text.');
    expect(inGerman('option_ignored', 'The option dpi has no effect on this conversion.')).toBe(
      'Die Option „Auflösung“ hat hier keine Wirkung.',
    );
  });
  it('has the names of fonts as they are', () => {
    const message =
      'Fonts that are neither installed nor in the document were replaced, so lines may break elsewhere: "Georgia", "Stand by Me" by DejaVu Serif; and 3 more.';
    expect(inGerman('font_substituted', message)).toMatch(/: "Georgia", "Stand by Me" → DejaVu Serif; \+ 3\.$/);
  });
  it('stays as the service says it where it is not known', () => {
    expect(inGerman('lossy', 'Attached files are named, and not part of the result: 2.')).toBeUndefined();
    expect(inGerman('of_tomorrow', 'Something new.')).toBeUndefined();
  });
});
