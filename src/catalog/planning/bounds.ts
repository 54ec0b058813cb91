/** What one file of a tool may have: published with the tool, and checked before it is decoded. */
import { MAX_PAGES, MAX_PIXELS, MAX_SECONDS } from '../bounds.ts';
import type { Facts } from '../engine.ts';
import type { ToolFamily } from '../listed-tool.ts';
import type { FileBounds, Tool } from '../tool.ts';

const OF_FAMILY: Readonly<Record<ToolFamily, FileBounds>> = {
  image: { maxPixels: MAX_PIXELS },
  audio_video: { maxSeconds: MAX_SECONDS },
  pdf: { maxPages: MAX_PAGES },
  ai: {},
};

/** The tool's own bounds replace those of its family; a web page is no file. */
export const boundsOf = ({ family, bounds, takesPage }: Pick<Tool, 'family' | 'bounds' | 'takesPage'>): FileBounds =>
  takesPage === true ? {} : { ...OF_FAMILY[family], ...bounds };

/** Pixels of the largest frame, where the engine's inspection tells sizes. */
export function largestFrame({ frames }: Facts): number | undefined {
  if (!Array.isArray(frames)) return undefined;
  const sizes = (frames as readonly { readonly width?: unknown; readonly height?: unknown }[]).map(
    ({ width, height }) => Number(width) * Number(height),
  );
  return sizes.reduce<number | undefined>((most, pixels) => (pixels > (most ?? 0) ? pixels : most), undefined);
}
