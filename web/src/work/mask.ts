/** What was painted over a picture, and the mask that it becomes: white where it was painted, black elsewhere. */

export interface Point {
  readonly x: number;
  readonly y: number;
}
/** In pixels of the picture as it is shown. */
export interface Stroke {
  readonly width: number;
  readonly erases: boolean;
  readonly points: readonly Point[];
}
/** @throws where this browser has no memory for a canvas as large as the picture */
export type MakeMask = () => Promise<File>;

interface Colours {
  readonly paint: string;
  /** Undefined where what was painted is taken away, and what lies below shows again. */
  readonly erase: string | undefined;
}

/**
 * @param from the first point to draw: what is before it was drawn already
 * @param scale from the picture's pixels to the canvas'
 */
export function draw(on: CanvasRenderingContext2D, { width, erases, points }: Stroke, scale: number, colours: Colours, from = 0): void {
  const [start, ...rest] = points.slice(Math.max(0, from - 1));
  if (start === undefined) return;
  on.globalCompositeOperation = erases && colours.erase === undefined ? 'destination-out' : 'source-over';
  on.strokeStyle = erases ? (colours.erase ?? colours.paint) : colours.paint;
  on.lineCap = 'round';
  on.lineJoin = 'round';
  on.lineWidth = Math.max(1, width * scale);
  on.beginPath();
  on.moveTo(start.x * scale, start.y * scale);
  // A dot is a line to where it began.
  for (const { x, y } of rest.length === 0 ? [start] : rest) on.lineTo(x * scale, y * scale);
  on.stroke();
}

/** What the service fills at most (docs/ai.md), px; its own count decides. */
const MOST_FILLED = 500_000;
/** What a patch reaches around what is painted, px. */
const MARGIN = 3;
/** Side of the canvas on which strokes are measured, px. */
const MEASURED = 800;

const mostOf = (width: number, height: number): number => Math.min(MOST_FILLED, Math.floor((width * height) / 2));

/** @returns how much of what may be filled a rectangle takes, with its margin: more than 1 is too much */
export function shareOfBox(box: { x: number; y: number; w: number; h: number }, width: number, height: number): number {
  const side = (from: number, length: number, whole: number) =>
    Math.max(0, Math.min(whole, from + length + MARGIN) - Math.max(0, from - MARGIN));
  return (side(box.x, box.w, width) * side(box.y, box.h, height)) / mostOf(width, height);
}

/** The same of what is painted, within some hundredths. */
export function shareOfStrokes(strokes: readonly Stroke[], width: number, height: number): number {
  const scale = Math.min(1, MEASURED / Math.max(width, height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const on = canvas.getContext('2d', { willReadFrequently: true });
  if (on === null) return 0;
  // The margin of an erased part stays.
  for (const stroke of strokes)
    draw(on, { ...stroke, width: Math.max(0, stroke.width + (stroke.erases ? -2 : 2) * MARGIN) }, scale, {
      paint: '#fff',
      erase: undefined,
    });
  const { data } = on.getImageData(0, 0, canvas.width, canvas.height);
  let sum = 0;
  for (let at = 3; at < data.length; at += 4) sum += data[at] ?? 0;
  // Safari keeps the pixels of a canvas until it is collected.
  canvas.width = 0;
  return sum / 255 / scale ** 2 / mostOf(width, height);
}

/** A PNG exactly as large as the picture is shown. Browsers encode it beside the page's own thread. */
export async function maskOf(strokes: readonly Stroke[], width: number, height: number): Promise<File> {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  const whole = canvas.getContext('2d', { alpha: false });
  if (whole === null) throw new Error('no canvas of this size');
  whole.fillRect(0, 0, width, height);
  for (const stroke of strokes) draw(whole, stroke, 1, { paint: '#fff', erase: '#000' });
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'));
  canvas.width = 0;
  if (blob === null) throw new Error('no PNG of this size');
  return new File([blob], 'mask.png', { type: 'image/png' });
}
