/** What the service says of its tools and options, in another language than its own. */
export interface CatalogWords {
  /** Name and summary by slug. */
  readonly tools: Readonly<Record<string, readonly [name: string, summary: string]>>;
  /** Labels by name. */
  readonly options: Readonly<Record<string, string>>;
}

/** A text, and its language where that is not the page's. */
export interface Told {
  readonly text: string;
  readonly lang: 'en' | undefined;
}
