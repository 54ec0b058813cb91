/** The pages of a visitor's PDF, drawn by PDF.js: fetched only where such a file is chosen. */

import { getDocument, PasswordException, PasswordResponses, PDFDataRangeTransport, PDFWorker } from 'pdfjs-dist/legacy/build/pdf.mjs';
import THREAD from './pdf-worker.ts?worker&url';

export interface Pages {
  readonly count: number;
  /**
   * One page after the other, in the order asked for.
   * @param side of the square that the page fits into, px of the canvas
   * @returns undefined where it was no longer wanted when its turn came
   * @throws where the page cannot be drawn
   */
  readonly draw: (page: number, side: number, wanted: () => boolean) => Promise<HTMLCanvasElement | undefined>;
  /** Where there are several files: which one a page is from, and its number there. */
  readonly nameOf?: (page: number) => { readonly name: string; readonly page: number } | undefined;
  readonly close: () => void;
}
export type Refused = 'locked' | 'wrongPassword' | 'damaged';

/** Several files as one, whose pages are counted through all. @returns the name of one that cannot be shown, if any */
export async function openPdfs(files: readonly File[]): Promise<Pages | { readonly notShown: string }> {
  const opened: { readonly pages: Pages; readonly name: string; readonly before: number }[] = [];
  const close = () => {
    for (const { pages } of opened) pages.close();
  };
  let count = 0;
  try {
    for (const file of files) {
      const pages = await openPdf(file, undefined);
      if (typeof pages === 'string') {
        close();
        return { notShown: file.name };
      }
      opened.push({ pages, name: file.name, before: count });
      count += pages.count;
    }
  } catch (error) {
    close();
    throw error;
  }
  const placeOf = (page: number) => opened.findLast(({ before }) => before < page);
  return {
    count,
    draw: async (page, side, wanted) => {
      const place = placeOf(page);
      return place?.pages.draw(page - place.before, side, wanted);
    },
    nameOf(page) {
      const place = placeOf(page);
      return place === undefined ? undefined : { name: place.name, page: page - place.before };
    },
    close,
  };
}

/** Pixels of an embedded picture; a larger one is left out of the thumbnail. */
const LARGEST_PICTURE = 40_000_000;
/** Embedded pictures with more are decoded at half their sides, a quarter, …: JPEG 2000 takes seconds otherwise, px. */
const ENOUGH = 500_000;

/** Reads what is needed of a file, however large it is. */
class FileRange extends PDFDataRangeTransport {
  readonly #file: File;
  constructor(file: File) {
    super(file.size, null);
    this.#file = file;
  }
  override requestDataRange(begin: number, end: number): void {
    this.#file
      .slice(begin, end)
      .arrayBuffer()
      .then(
        (bytes) => this.onDataRange(begin, new Uint8Array(bytes)),
        () => this.onDataRange(begin, null),
      );
  }
}

/** The page's policy lets a script make a worker by this rule alone, and of this file alone. */
const rule = window.trustedTypes?.createPolicy('filemill', {
  createScriptURL(url) {
    if (url !== THREAD) throw new TypeError(`no worker is made of ${url}`);
    return url;
  },
});

/** A thread for each document: what a file does to it ends with it. */
function startThread(): Worker {
  return new Worker((rule?.createScriptURL(THREAD) ?? THREAD) as string, { type: 'module' });
}

export async function openPdf(file: File, password: string | undefined): Promise<Pages | Refused> {
  const thread = startThread();
  // Its types leave the port out.
  const worker = new PDFWorker({ port: thread as unknown as null });
  // It could not be fetched, or PDF.js fell over the file.
  const broken = new Promise<never>((_, reject) => thread.addEventListener('error', (event) => reject(new Error(event.message))));
  broken.catch(() => {});
  const opening = getDocument({
    worker,
    range: new FileRange(file),
    ...(password === undefined ? {} : { password }),
    disableAutoFetch: true,
    disableStream: true,
    // The policy of the page forbids WebAssembly: the same decoders are there as scripts.
    useWasm: false,
    useWorkerFetch: false,
    maxImageSize: LARGEST_PICTURE,
    canvasMaxAreaInBytes: 4 * ENOUGH,
    verbosity: 0,
  });
  const close = () => {
    void opening.destroy();
    worker.destroy();
    thread.terminate();
  };
  try {
    const pdf = await Promise.race([opening.promise, broken]);
    let turn: Promise<unknown> = Promise.resolve();
    const drawn = async (number: number, side: number) => {
      const page = await Promise.race([pdf.getPage(number), broken]);
      const { width, height } = page.getViewport({ scale: 1 });
      const viewport = page.getViewport({ scale: side / Math.max(width, height, 1) });
      const canvas = document.createElement('canvas');
      canvas.width = Math.max(1, Math.round(viewport.width));
      canvas.height = Math.max(1, Math.round(viewport.height));
      await Promise.race([page.render({ canvas, viewport }).promise, broken]);
      page.cleanup();
      return canvas;
    };
    return {
      count: pdf.numPages,
      draw(page, side, wanted) {
        const mine = turn.then(async () => {
          if (!wanted()) return undefined;
          // Keys and clicks come first.
          await new Promise((resolve) => setTimeout(resolve));
          return drawn(page, side);
        });
        turn = mine.catch(() => {});
        return mine;
      },
      close,
    };
  } catch (error) {
    close();
    if (!(error instanceof PasswordException)) return 'damaged';
    return error.code === PasswordResponses.INCORRECT_PASSWORD ? 'wrongPassword' : 'locked';
  }
}
