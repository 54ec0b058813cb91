/** Drawings that stand in a page as SVG: each becomes a file that librsvg draws, and the picture that it drew takes its place in the tree. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lossy } from '../../process/answer.ts';
import { contentOf, itemAt, type Json, typeOf } from './tree.ts';

const DRAWING = /^data:image\/svg\+xml;base64,/;
/** Drawings of one document, and bytes of one: each takes a program's start to draw. */
const [MOST_DRAWINGS, MOST_BYTES] = [40, 2 << 20];
/** Pixels for each of the drawing's own, so that it is sharp in print. */
const SCALE = 2;

const nameOf = (url: string): string => createHash('sha256').update(url).digest('hex').slice(0, 32);

/** Writes those of a tree as `NAME.svg`. @returns the names */
export function drawingsOf(blocks: Json, folder: string): readonly string[] {
  const found = new Map<string, string>();
  const visit = (node: Json): void => {
    if (typeof node !== 'object' || node === null || found.size >= MOST_DRAWINGS) return;
    const url = typeOf(node) === 'Image' ? itemAt(itemAt(contentOf(node), 2), 0) : undefined;
    if (typeof url === 'string' && DRAWING.test(url) && url.length < MOST_BYTES) found.set(nameOf(url), url);
    for (const each of Array.isArray(node) ? node : Object.values(node)) visit(each as Json);
  };
  visit(blocks);
  if (found.size > 0) mkdirSync(folder, { recursive: true });
  for (const [name, url] of found) writeFileSync(join(folder, `${name}.svg`), Buffer.from(url.slice(url.indexOf(',') + 1), 'base64'));
  return [...found.keys()];
}

export interface Drawings {
  /** A drawing as a picture, its width in the page, and the words in it; undefined where it is none, or could not be drawn. */
  readonly inline: (url: string) => { readonly url: string; readonly width: number; readonly text: string } | undefined;
  readonly warnings: () => ReturnType<typeof lossy>;
}

export const NO_DRAWINGS: Drawings = { inline: () => undefined, warnings: () => [] };

/** @param folder with `NAME.png` for those that were drawn */
export function drawnIn(folder: string): Drawings {
  let [shown, missing] = [0, 0];
  return {
    inline(url) {
      if (!DRAWING.test(url)) return undefined;
      const path = join(folder, `${nameOf(url)}.png`);
      if (!existsSync(path)) {
        missing++;
        return undefined;
      }
      const bytes = readFileSync(path);
      shown++;
      // PNG (third edition), 11.2.1: the width is the first number of the header.
      return { url: `data:image/png;base64,${bytes.toString('base64')}`, width: bytes.readUInt32BE(16) / SCALE, text: textIn(url) };
    },
    warnings: () =>
      lossy([
        ...(shown === 0 ? [] : [`Drawings in SVG are pictures of pixels in the result: ${shown}.`]),
        ...(missing === 0 ? [] : [`Drawings in SVG that could not be drawn are left out: ${missing}.`]),
      ]),
  };
}

const MOST_LETTERS = 300;
/** Extensible Markup Language (XML) 1.0, 4.6. */
const REFERENCES: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&apos;': "'", '&amp;': '&' };

/** What stands between its tags, for those who do not see it. */
function textIn(url: string): string {
  const drawing = Buffer.from(url.slice(url.indexOf(',') + 1), 'base64').toString();
  const texts = drawing.split('>').map((piece) => piece.slice(0, Math.max(0, piece.indexOf('<'))).trim());
  return texts
    .filter((text) => text !== '' && !text.includes('{'))
    .join(' ')
    .slice(0, MOST_LETTERS)
    .replace(/&(?:lt|gt|quot|apos|amp);/g, (reference) => REFERENCES[reference] ?? reference);
}
