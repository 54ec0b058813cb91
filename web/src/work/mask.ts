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
  // Safari keeps the pixels of a canvas until it is collected.
  canvas.width = 0;
  if (blob === null) throw new Error('no PNG of this size');
  return new File([blob], 'mask.png', { type: 'image/png' });
}
