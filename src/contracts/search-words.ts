/** Everyday words for tools and formats, by which people look for them on the page. */

/** In each language of the page, phrases with commas between them. English ones are found in every language. */
export interface SearchWords {
  readonly en: string;
  readonly de: string;
  readonly es: string;
}

export const SEARCH_LANGUAGES = ['en', 'de', 'es'] as const satisfies readonly (keyof SearchWords)[];
