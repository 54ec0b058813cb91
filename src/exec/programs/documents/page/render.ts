/** Renders one page as PDF or as a picture. */
import { type FileHandle, open, writeFile } from 'node:fs/promises';
import { MAX_PAGES } from '../../../../catalog/bounds.ts';
import type { Chromium } from './chromium.ts';
import type { Payload } from './devtools.ts';
import { load } from './load.ts';
import { type Renderers, rendererStarted } from './renderers.ts';
import { boundPage, type PageRequest, type PageWarning } from './request.ts';
import { openTab, type Tab, VIEW } from './tab.ts';

interface Rendered {
  readonly ok: true;
  readonly warnings: readonly PageWarning[];
}

/** CSS px per inch (CSS Values and Units 3, 5.2). */
const PX = 96;
/** Px; Chromium draws no larger picture. */
const MOST = { width: 4096, height: 16_384 };

/** @param earlier renderers of earlier pages, none of which may be this one's @throws PageRefusal */
export async function render({ devtools, home }: Chromium, request: PageRequest, earlier: Renderers): Promise<Rendered> {
  const tab = await openTab(devtools);
  try {
    await rendererStarted(home, earlier);
    const warnings = await load(tab, request);
    const { cssContentSize } = await tab.alive(tab.send('Page.getLayoutMetrics'));
    const size = cssContentSize as { readonly width: number; readonly height: number };
    const more = await tab.alive(request.target === 'pdf' ? print(tab, request, size.height) : picture(tab, request, size));
    return { ok: true, warnings: [...warnings, ...more] };
  } finally {
    await tab.close();
  }
}

async function print(tab: Tab, { output, sheet, ownSize, landscape, background }: PageRequest, height: number): Promise<PageWarning[]> {
  boundPage('pages', MAX_PAGES, Math.ceil(height / (Math.max(sheet.width, sheet.height) * PX)));
  const { stream } = await tab.send('Page.printToPDF', {
    paperWidth: sheet.width,
    paperHeight: sheet.height,
    preferCSSPageSize: ownSize,
    landscape,
    printBackground: background,
    transferMode: 'ReturnAsStream',
  });
  await using file = await open(output, 'wx');
  await drain(tab, stream, file);
  return [];
}

async function drain(tab: Tab, handle: unknown, file: FileHandle): Promise<void> {
  for (;;) {
    const { data, eof } = (await tab.send('IO.read', { handle, size: 1 << 20 })) as Payload & { data: string; eof: boolean };
    // One call of `write` may write less than it is given: this one goes on.
    await file.appendFile(Buffer.from(data, 'base64'));
    if (eof) return;
  }
}

async function picture(tab: Tab, { output }: PageRequest, size: { width: number; height: number }): Promise<PageWarning[]> {
  const width = Math.min(MOST.width, Math.max(VIEW.width, Math.ceil(size.width)));
  const height = Math.min(MOST.height, Math.max(1, Math.ceil(size.height)));
  const clip = { x: 0, y: 0, width, height, scale: 1 };
  const { data } = await tab.send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true, clip });
  await writeFile(output, Buffer.from(String(data), 'base64'), { flag: 'wx' });
  const message = `The page is larger than ${MOST.width} x ${MOST.height} pixels: the picture shows only its beginning.`;
  return size.height > height || size.width > width ? [{ code: 'page_cut', message }] : [];
}
