/** Draws a text, to be laid over a picture in one of nine positions. Pango uses any installed font, so that every script is shown. */
import { PictureRefusal, type PixelSize, type TextMark } from './request.ts';
import type { Image, ImageHeader, Properties, Session, Talk } from './session.ts';

/** Between the text and the edges, as a share of the shorter side. */
const MARGIN = 0.03;
/** How often a text that is too tall for the picture is made smaller. */
const MOST_TRIES = 8;

export interface Overlay {
  readonly image: Image;
  readonly left: number;
  readonly top: number;
}

/** @param size px, of the picture as it comes out @returns undefined if nothing of it would be visible */
export function* drawWatermark(
  session: Session,
  size: PixelSize,
  { text, position, opacity, size: percent, color }: TextMark,
): Talk<Overlay | undefined> {
  const shorter = Math.min(size.width, size.height);
  const margin = Math.round(shorter * MARGIN);
  const room = { width: size.width - 2 * margin, height: size.height - 2 * margin };
  const column = position.endsWith('left') ? 0 : position.endsWith('right') ? 1 : 0.5;
  const row = position.startsWith('top') ? 0 : position.startsWith('bottom') ? 1 : 0.5;
  const drawn = yield* fitted(session, text, color, Math.max(1, (shorter * percent) / 100), room, column);
  if (drawn === undefined) return undefined;
  // Set on the alpha channel, so that coloured letters such as emoji fade too. `uchar` cuts fractions off.
  const faded = session.run('linear', { in: drawn.image, a: [1, 1, 1, opacity / 100], b: [0.5, 0.5, 0.5, 0.5], uchar: true });
  const left = margin + Math.round((room.width - drawn.header.width) * column);
  const top = margin + Math.round((room.height - drawn.header.height) * row);
  return { image: faded, left, top };
}

/** Breaks lines at the picture's width, and makes text that is too tall smaller. @returns undefined if nothing of it would be visible */
function* fitted(
  session: Session,
  text: string,
  color: string,
  height: number,
  room: PixelSize,
  column: number,
): Talk<{ image: Image; header: ImageHeader } | undefined> {
  const align = column === 0 ? 'low' : column === 1 ? 'high' : 'centre';
  let px = height;
  for (let tries = 0; ; tries++) {
    const letters = { text: markup(text, color), font: `sans ${px.toFixed(2)}px`, dpi: 72, rgba: true, align, wrap: 'word-char' };
    const drawn = yield* draw(session, { ...letters, width: room.width });
    if (drawn === undefined) return undefined;
    const over = Math.max(drawn.header.height / room.height, drawn.header.width / room.width);
    if (over <= 1) return drawn;
    if (tries === MOST_TRIES) return undefined;
    // Smaller letters also need fewer lines: the height is proportional to their square.
    px = Math.max(0.5, Math.min(px * 0.95, px / Math.sqrt(over)));
  }
}

/** If no font has the characters, libvips has nothing to draw. */
function* draw(session: Session, letters: Properties): Talk<{ image: Image; header: ImageHeader } | undefined> {
  yield* session.send();
  try {
    const image = session.run('text', letters);
    return { image, header: yield* session.look(image) };
  } catch (error) {
    if (error instanceof PictureRefusal && /no text to render|bad dimensions/i.test(error.message)) return undefined;
    throw error;
  }
}

/** The text is Pango markup: escapes every special character. */
function markup(text: string, color: string): string {
  const literal = text.replace(/[&<>'"]/g, (character) => `&#${character.charCodeAt(0)};`);
  return `<span foreground="${color}">${literal}</span>`;
}
