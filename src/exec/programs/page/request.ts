/** What the page program is asked, what it answers, and the bounds that it holds pages to. */

export interface PageRequest {
  /** `html`: the input is the page. `url`: the input is a line of text that says where the page is. */
  readonly source: 'html' | 'url';
  /** Absolute path. */
  readonly input: string;
  /** Absolute path of the file to be made. */
  readonly output: string;
  readonly target: 'pdf' | 'png';
  /** Sides of a sheet, in. A size that the page itself asks for goes before where `ownSize` says so. */
  readonly sheet: { readonly width: number; readonly height: number };
  readonly ownSize: boolean;
  readonly landscape: boolean;
  /** A page that has not loaded by then is taken as it is, ms. */
  readonly loadMs: number;
  /** After the page has loaded, ms. */
  readonly waitMs: number;
  readonly background: boolean;
}

export interface Warning {
  readonly code: string;
  readonly message: string;
}

/** What ended a request, with the reason as clients know it. */
export class Refusal extends Error {
  readonly answer: object;
  constructor(reason: string, message: string, details?: { readonly limit: string; readonly max: number; readonly received: number }) {
    super(message);
    this.answer = { reason, words: message, details };
  }
}

/** @throws Refusal `input_limit` */
export const bound = (limit: string, max: number, received: number): void => {
  if (received > max) throw new Refusal('input_limit', `${limit} ${received}, at most ${max}`, { limit, max, received });
};

export function refusalOf(error: unknown): { readonly ok: false } {
  if (error instanceof Refusal) return { ok: false, ...error.answer };
  return { ok: false, ...new Refusal('output_invalid', String(error).slice(0, 500)).answer };
}
