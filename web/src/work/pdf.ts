/** The pages of a visitor's PDF, drawn by PDF.js: fetched only where such a file is chosen. */

// It runs in the page's own thread: the policy of the page (`trusted-types 'none'`) lets no script make a worker.
import 'pdfjs-dist/legacy/build/pdf.worker.mjs';
import { getDocument, PasswordException, PasswordResponses, PDFDataRangeTransport } from 'pdfjs-dist/legacy/build/pdf.mjs';

export interface Pages {
  readonly count: number;
  /**
   * One page after the other, in the order asked for.
   * @param side of the square that the page fits into, px of the canvas
   * @returns undefined where it was no longer wanted when its turn came
   * @throws where the page cannot be drawn
   */
  readonly draw: (page: number, side: number, wanted: () => boolean) => Promise<HTMLCanvasElement | undefined>;
  readonly close: () => void;
}
export type Refused = 'locked' | 'wrongPassword' | 'damaged';

/** Of an embedded picture; a larger one is left out of the thumbnail, px. */
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

export async function openPdf(file: File, password: string | undefined): Promise<Pages | Refused> {
  const opening = getDocument({
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
  try {
    const pdf = await opening.promise;
    let turn: Promise<unknown> = Promise.resolve();
    const drawn = async (number: number, side: number) => {
      const page = await pdf.getPage(number);
      const { width, height } = page.getViewport({ scale: 1 });
      const viewport = page.getViewport({ scale: side / Math.max(width, height, 1) });
      const canvas = document.createElement('canvas');
      canvas.width = Math.max(1, Math.round(viewport.width));
      canvas.height = Math.max(1, Math.round(viewport.height));
      await page.render({ canvas, viewport }).promise;
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
      close: () => void opening.destroy(),
    };
  } catch (error) {
    void opening.destroy();
    if (!(error instanceof PasswordException)) return 'damaged';
    return error.code === PasswordResponses.INCORRECT_PASSWORD ? 'wrongPassword' : 'locked';
  }
}
