/** Finds tools and formats by everyday words, in the page's language and in English: fetched with the first search. */
import { signal } from '@preact/signals';
import { fits, type SearchTexts } from './matching.ts';
import { language, title, toolName, toolSummary } from './words.ts';

interface Found {
  readonly names: Readonly<Record<string, string>>;
  readonly texts: readonly SearchTexts[];
}

const LANGUAGES: Readonly<Record<string, () => Promise<{ readonly search: SearchTexts }>>> = {
  en: () => import('./search.en.gen.ts'),
  de: () => import('./search.de.gen.ts'),
  es: () => import('./search.es.gen.ts'),
};

const found = signal<Found>({ names: {}, texts: [] });
let asked: Promise<void> | undefined;
/** Once; what cannot be fetched is asked for again with the next search. */
export function loadSearch(): Promise<void> {
  const load = async () => {
    const [{ formatNames }, ...texts] = await Promise.all([
      import('./formats.gen.ts'),
      ...[...new Set(['en', language()])].map((each) => LANGUAGES[each]?.()),
    ]);
    found.value = { names: formatNames, texts: texts.flatMap((each) => (each === undefined ? [] : [each.search])) };
  };
  asked ??= load().catch(() => {
    asked = undefined;
  });
  return asked;
}

/** What a format is called, as long as it is known. */
export const formatName = (format: string): string => found.value.names[format] ?? '';

/** Whether a format's name says more than its extension. */
export const saysMore = (format: string): boolean => formatName(format) !== '' && formatName(format).toLowerCase() !== format;

/** @param words of `wordsIn` */
export const fitsTool = (words: readonly string[], slug: string, summary: string): boolean =>
  // By the English words too, which people know from elsewhere.
  fits(words, [
    title(slug),
    summary,
    toolName(slug).text,
    toolSummary(slug, summary).text,
    ...found.value.texts.map(({ tools }) => tools[slug] ?? ''),
  ]);

/** Those that fit, and first what is called so, by its extension or its name. @param words of `wordsIn` @param aliasesOf other extensions */
export function formatsThatFit(
  words: readonly string[],
  all: readonly string[],
  aliasesOf: (format: string) => readonly string[],
): readonly string[] {
  const wanted = words.join(' ');
  const isCalled = (format: string) => [format, ...aliasesOf(format), formatName(format).toLowerCase()].includes(wanted);
  const found = all.filter((format) => fitsFormat(words, format, aliasesOf(format)));
  return [...found.filter(isCalled), ...found.filter((format) => !isCalled(format))];
}

const fitsFormat = (words: readonly string[], format: string, aliases: readonly string[]): boolean =>
  fits(words, [format, ...aliases, formatName(format), ...found.value.texts.map(({ formats }) => formats[format] ?? '')]);
