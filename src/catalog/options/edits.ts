/** Edits that tools make of a picture: options to engines and routes, which no form of a conversion names. */

/** Where a watermark stands: one of nine places, edges kept free. */
export const POSITIONS = ['top-left', 'top', 'top-right', 'left', 'center', 'right', 'bottom-left', 'bottom', 'bottom-right'] as const;

export interface Watermark {
  /** Every character stands for itself; a line feed begins a line. */
  readonly text: string;
  readonly position: (typeof POSITIONS)[number];
  /** 0 to 100. */
  readonly opacity: number;
  /** Of the letters, % of the picture's shorter side. */
  readonly size: number;
  /** `#rrggbb` */
  readonly color: string;
}

export interface Edits {
  readonly grayscale?: true | undefined;
  /** Standard deviation of a Gaussian, px, as in CSS (Filter Effects 1, blur()). */
  readonly blur?: number | undefined;
  readonly watermark?: Watermark | undefined;
  /** How a picture of another shape comes into a size of which both sides are given; unset, it is stretched. */
  readonly fit?: 'cover' | 'contain' | undefined;
  /** 0 to 100: as few bytes as this quality needs, also where a format keeps every pixel otherwise. */
  readonly compress?: number | undefined;
}

export const editNames = ['grayscale', 'blur', 'watermark', 'fit', 'compress'] as const satisfies readonly (keyof Edits)[];
/** Those that every format can show. */
export const SHOWN = ['grayscale', 'blur', 'watermark', 'fit'] as const satisfies readonly (keyof Edits)[];
