/** What was built of the page for browsers (web/), as the service serves it. */

/** What a browser without JavaScript is shown, in one language: HTML with addresses that begin at `/`. Names between `@@` are filled in. */
export interface PlainViews {
  readonly form: string;
  /** `@@name@@`. */
  readonly working: string;
  /** `@@href@@`, `@@name@@`, `@@size@@`. */
  readonly done: string;
  /** `@@text@@`. */
  readonly failed: string;
  /** The sentence for a failure, by its code or reason; where there is none, the service's own is shown. */
  readonly sentences: Readonly<Record<string, string>>;
}

/** What the head of the document says of each view, in one language (web/src/first.tsx). Names between `@@` are filled in. */
export interface PageHeads {
  readonly start: PageHead;
  /** `@@to@@` and `@@toName@@`. */
  readonly to: PageHead;
  /** `@@from@@` and `@@fromName@@`, too. */
  readonly pair: PageHead;
  readonly tools: PageHead;
  readonly jobs: PageHead;
  readonly job: PageHead;
  readonly missing: PageHead;
  /** By slug; in the service's own language the description is its summary. */
  readonly tool: Readonly<Record<string, PageHead>>;
}

export interface PageHead {
  readonly title: string;
  readonly description: string;
}

/** The page for browsers, as it was built. */
export interface PageFiles {
  /** HTML with `<base href="/">` and an empty `<div id="app">`. */
  readonly document: string;
  /** By language: what that element shows at `/`, with addresses that begin at `/`. */
  readonly firstViews: ReadonlyMap<string, string>;
  /** By language: what the head of the document says of each view. */
  readonly heads: ReadonlyMap<string, PageHeads>;
  /** Whether search engines may list it. */
  readonly searchable: boolean;
  /** By language. */
  readonly plainViews: ReadonlyMap<string, PlainViews>;
  /** By name, below `/assets/`: a file whose content changes gets another name. */
  readonly assets: ReadonlyMap<string, PageAsset>;
}

export interface PageAsset {
  readonly contentType: string;
  readonly bytes: Buffer;
  /** By coding, as it was compressed when it was built: that takes longer than all else at a start. */
  readonly packed: ReadonlyMap<string, Buffer>;
}
