/** What the service says of its tools and options, in another language than its own. */
export interface CatalogWords {
  /** Name and summary by slug. */
  readonly tools: Readonly<Record<string, readonly [name: string, summary: string]>>;
  /** Labels by name. */
  readonly options: Readonly<Record<string, string>>;
}

/** Sentences by the service's own: one that changes has to be translated again. */
export interface CatalogTexts {
  /** What options do. Empty where the label says it. */
  readonly does: Readonly<Record<string, string>>;
  /** What options take, but for plain ranges. */
  readonly takes: Readonly<Record<string, string>>;
  /** Values that are words. */
  readonly values: Readonly<Record<string, string>>;
  /** Warnings by code: `{1}` and `{2}` are parts of the service's sentence (`partsOf`). */
  readonly warnings: Readonly<Record<string, string>>;
  /** Refusals by code, and failures by reason, that have no sentence in the page's own words; `{option}` is one's label. */
  readonly failures: Readonly<Record<string, string>>;
  /** Why a tool is not there. */
  readonly reasons: Readonly<Record<string, string>>;
  /** What a conversion does not keep. */
  readonly losses: Readonly<Record<string, string>>;
  /** What a program says of its result: whole sentences, with `{1}` and `{2}` in place of their numbers. */
  readonly remarks: Readonly<Record<string, string>>;
}

/** A text, and its language where that is not the page's. */
export interface Told {
  readonly text: string;
  readonly lang: 'en' | undefined;
}
