/** The requests and answers of the page program, and the bounds that it enforces. */

export interface PageRequest {
  /** `html`: the input is the page. `url`: the input is a text file with the page's URL. */
  readonly source: 'html' | 'url';
  /** Absolute path. */
  readonly input: string;
  /** Absolute path of the file to create. */
  readonly output: string;
  readonly target: 'pdf' | 'png';
  /** Size of a sheet, inches. With `ownSize`, a size that the page itself sets takes precedence. */
  readonly sheet: { readonly width: number; readonly height: number };
  readonly ownSize: boolean;
  readonly landscape: boolean;
  /** A page that has not loaded by then is rendered as it is, ms. */
  readonly loadMs: number;
  /** Waits so long after the page has loaded, ms. */
  readonly waitMs: number;
  readonly background: boolean;
}

export interface PageWarning {
  readonly code: string;
  readonly message: string;
}

/** A failed request, with the reason that the API reports. */
export class PageRefusal extends Error {
  readonly answer: object;
  constructor(reason: string, message: string, details?: { readonly limit: string; readonly max: number; readonly received: number }) {
    super(message);
    this.answer = { reason, words: message, details };
  }
}

/** @throws PageRefusal `input_limit` */
export const boundPage = (limit: string, max: number, received: number): void => {
  if (received > max) throw new PageRefusal('input_limit', `${limit} ${received}, at most ${max}`, { limit, max, received });
};

export function pageFailure(error: unknown): { readonly ok: false } {
  if (error instanceof PageRefusal) return { ok: false, ...error.answer };
  return { ok: false, ...new PageRefusal('output_invalid', String(error).slice(0, 500)).answer };
}
