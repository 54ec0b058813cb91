/** Draws a text over a picture, in one of nine positions. Pango uses any installed font, so that every script is shown. */
import { type Sharp, sharp } from './libvips.ts';
import type { Size, TextMark } from './request.ts';

/** Between the text and the edges, as a share of the shorter side. */
const MARGIN = 0.03;
/** How often a text that is too tall for the picture is made smaller. */
const MOST_TRIES = 8;

/** @param size px, of the picture as it comes out */
export async function drawWatermark(
  picture: Sharp,
  size: Size,
  { text, position, opacity, size: percent, color }: TextMark,
): Promise<Sharp> {
  const shorter = Math.min(size.width, size.height);
  const margin = Math.round(shorter * MARGIN);
  const room = { width: size.width - 2 * margin, height: size.height - 2 * margin };
  const column = position.endsWith('left') ? 0 : position.endsWith('right') ? 1 : 0.5;
  const row = position.startsWith('top') ? 0 : position.startsWith('bottom') ? 1 : 0.5;
  const drawn = await fitted(text, color, Math.max(1, (shorter * percent) / 100), room, column);
  if (drawn === undefined) return picture;
  const { data, info } = drawn;
  // Set on the alpha channel, so that coloured letters such as emoji fade too.
  for (let at = 3; at < data.length; at += 4) data[at] = Math.round(((data[at] ?? 0) * opacity) / 100);
  const left = margin + Math.round((room.width - info.width) * column);
  const top = margin + Math.round((room.height - info.height) * row);
  return picture.composite([{ input: data, raw: { width: info.width, height: info.height, channels: 4 }, left, top }]);
}

/** Breaks lines at the picture's width, and makes text that is too tall smaller. @returns undefined if nothing of it would be visible */
async function fitted(text: string, color: string, height: number, room: Size, column: number) {
  const align = column === 0 ? 'left' : column === 1 ? 'right' : 'centre';
  let px = height;
  for (let tries = 0; ; tries++) {
    const letters = { text: markup(text, color), font: `sans ${px.toFixed(2)}px`, dpi: 72, rgba: true, width: room.width, align } as const;
    const drawn = await sharp({ text: { ...letters, wrap: 'word-char' } })
      .raw()
      .toBuffer({ resolveWithObject: true })
      .catch((error: unknown) => invisible(error));
    if (drawn === undefined) return undefined;
    const over = Math.max(drawn.info.height / room.height, drawn.info.width / room.width);
    if (over <= 1) return drawn;
    if (tries === MOST_TRIES) return undefined;
    // Smaller letters also need fewer lines: the height is proportional to their square.
    px = Math.max(0.5, Math.min(px * 0.95, px / Math.sqrt(over)));
  }
}

/** If no font has the characters, libvips has nothing to draw. */
function invisible(error: unknown): undefined {
  if (error instanceof Error && /no text to render|bad dimensions/i.test(error.message)) return undefined;
  throw error;
}

/** sharp's text is Pango markup: escapes every special character. */
function markup(text: string, color: string): string {
  const literal = text.replace(/[&<>'"]/g, (character) => `&#${character.charCodeAt(0)};`);
  return `<span foreground="${color}">${literal}</span>`;
}
