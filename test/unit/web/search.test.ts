/** What people type into a search leads to the tool or the format that they mean, in each language of the page. */
import { describe, expect, it } from 'vitest';
import { type Format, formats } from '../../../src/catalog/formats.ts';
import { absentTools, tools } from '../../../src/catalog/tools.ts';
import { SEARCH_LANGUAGES } from '../../../src/contracts/search-words.ts';
import { catalog as germanWords } from '../../../web/src/words/catalog.de.ts';
import { catalog as spanishWords } from '../../../web/src/words/catalog.es.ts';
import { fits, wordsIn } from '../../../web/src/words/matching.ts';
import { search as german } from '../../../web/src/words/search.de.gen.ts';
import { search as english } from '../../../web/src/words/search.en.gen.ts';
import { search as spanish } from '../../../web/src/words/search.es.gen.ts';

const all = [...tools, ...absentTools];

describe('words to search by', () => {
  it.each(SEARCH_LANGUAGES)('are there in %s for every tool, at least two', (language) => {
    const few = all.filter(({ search }) => search[language].split(', ').filter((phrase) => phrase.trim() !== '').length < 2);
    expect(few.map(({ slug }) => slug)).toEqual([]);
  });
  it('are no more than a line for a tool or a format', () => {
    const texts = [...all, ...formats.values()].flatMap(({ search }) => (search === undefined ? [] : Object.values(search)));
    expect(texts.filter((text) => text.length > 130 || /[<>&{}]/.test(text))).toEqual([]);
  });
  it('name every format', () => {
    const names = [...formats.values()].map(({ name }) => name);
    expect(names.filter((name) => name === '' || name.length > 36)).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
  });
});

const LANGUAGES = {
  en: { said: undefined, texts: [english] },
  de: { said: germanWords, texts: [english, german] },
  es: { said: spanishWords, texts: [english, spanish] },
} as const;
/** As the page puts it together (web/src/words/search.ts). */
function searchIn(language: keyof typeof LANGUAGES) {
  const { said, texts } = LANGUAGES[language];
  const wordsOfTool = ({ slug, summary }: (typeof all)[number]) => [
    slug.replaceAll('-', ' '),
    summary,
    ...(said?.tools[slug] ?? []),
    ...texts.map(({ tools: words }) => words[slug] ?? ''),
  ];
  const wordsOfFormat = ({ id, aliases, name }: Format) => [id, ...aliases, name, ...texts.map(({ formats: words }) => words[id] ?? '')];
  return {
    tools: (text: string) => all.filter((tool) => fits(wordsIn(text), wordsOfTool(tool))).map(({ slug }) => slug),
    formats: (text: string) => [...formats.values()].filter((format) => fits(wordsIn(text), wordsOfFormat(format))).map(({ id }) => id),
  };
}

describe('a search', () => {
  it.each([
    ['en', 'cut out background', 'remove-background'],
    ['en', 'extract pages', 'split-pdf'],
    ['en', 'reorder', 'organize-pdf'],
    ['en', 'transparent', 'remove-background'],
    ['en', 'shrink', 'compress-pdf'],
    ['en', 'Black  and white', 'grayscale-image'],
    ['en', 'merge', 'merge-pdf'],
    ['de', 'Hintergrund freistellen', 'remove-background'],
    ['de', 'Reihenfolge', 'organize-pdf'],
    ['de', 'verkleinern', 'compress-image'],
    ['de', 'kurzen', 'trim-video'],
    ['de', 'shrink', 'compress-video'],
    ['de', 'Untertitel', 'speech-to-text'],
    ['es', 'recortar fondo', 'remove-background'],
    ['es', 'reordenar', 'organize-pdf'],
    ['es', 'extraer paginas', 'split-pdf'],
    ['es', 'contraseña', 'protect-pdf'],
  ] as const)('in %s for "%s" finds %s', (language, text, slug) => {
    expect(searchIn(language).tools(text)).toContain(slug);
  });
  it.each([
    ['en', 'photoshop', ['psd', 'psb']],
    ['en', 'jpeg', ['jpg']],
    ['en', 'kindle', ['mobi', 'azw3']],
    ['en', '.docx', ['docx']],
    ['en', 'fax', ['g3']],
    ['de', 'Tabelle', ['xlsx', 'csv']],
    ['de', 'Hörbuch', ['m4b']],
    ['es', 'diapositivas', ['pptx']],
    ['es', 'libro electronico', ['epub']],
  ] as const)('in %s for "%s" finds the formats %j', (language, text, ids) => {
    expect(searchIn(language).formats(text)).toEqual(expect.arrayContaining([...ids]));
  });
  it('finds nothing for what there is not, however long it is', () => {
    const { tools: found, formats: ids } = searchIn('en');
    expect([found('photographer wallpaper'), found('zzz '.repeat(50_000)), ids('no such thing')]).toEqual([[], [], []]);
  });
});
