/** A brush on the picture itself: what is painted over becomes a mask, white where it was painted, as large as the picture is shown. */
import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { t } from '../words/words.ts';

interface Point {
  readonly x: number;
  readonly y: number;
}
/** In pixels of the picture. */
interface Stroke {
  readonly width: number;
  readonly points: readonly Point[];
}
export type MakeMask = () => Promise<File>;

/** Of the shorter side, per cent. */
const [SMALLEST, LARGEST, USUAL] = [1, 40, 8];

/** @param mask is set while something is painted */
export function Brush({ file, mask }: { file: File; mask: Signal<MakeMask | undefined> }) {
  const image = useRef<HTMLImageElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const url = useSignal<string | undefined>(undefined);
  const size = useSignal({ width: 0, height: 0 });
  const strokes = useSignal<readonly Stroke[]>([]);
  const percent = useSignal(USUAL);
  const { width, height } = size.value;
  useEffect(() => {
    const made = URL.createObjectURL(file);
    url.value = made;
    return () => {
      URL.revokeObjectURL(made);
      mask.value = undefined;
    };
  }, [file]);
  useEffect(() => {
    const shown = canvas.current?.getContext('2d');
    if (shown === null || shown === undefined || canvas.current === null || width === 0) return;
    const scale = canvas.current.width / width;
    shown.clearRect(0, 0, canvas.current.width, canvas.current.height);
    paint(shown, strokes.value, scale, '#d53dff');
  });
  const keep = (some: readonly Stroke[]) => {
    strokes.value = some;
    mask.value = some.length === 0 ? undefined : () => maskOf(some, width, height);
  };
  const pointOf = (event: PointerEvent): Point => {
    const box = image.current?.getBoundingClientRect();
    if (box === undefined || box.width === 0) return { x: 0, y: 0 };
    return { x: ((event.clientX - box.left) / box.width) * width, y: ((event.clientY - box.top) / box.height) * height };
  };
  const drawing = useRef(false);
  return (
    <div class="brush">
      <p class="quiet" id="brush-hint">
        {t('brushHint')}
      </p>
      <div class="canvas">
        {url.value !== undefined && (
          <img
            ref={image}
            src={url.value}
            alt={file.name}
            draggable={false}
            onLoad={({ currentTarget }) => {
              size.value = { width: currentTarget.naturalWidth, height: currentTarget.naturalHeight };
            }}
          />
        )}
        {width > 0 && (
          <canvas
            ref={canvas}
            role="img"
            aria-label={t('brushArea', { n: strokes.value.length })}
            aria-describedby="brush-hint"
            width={Math.min(width, MOST_SHOWN)}
            height={Math.round((height * Math.min(width, MOST_SHOWN)) / width)}
            onPointerDown={(event) => {
              event.preventDefault();
              event.currentTarget.setPointerCapture(event.pointerId);
              drawing.current = true;
              keep([...strokes.value, { width: (Math.min(width, height) * percent.value) / 100, points: [pointOf(event)] }]);
            }}
            onPointerMove={(event) => {
              const last = strokes.value.at(-1);
              if (!drawing.current || last === undefined) return;
              keep([...strokes.value.slice(0, -1), { ...last, points: [...last.points, pointOf(event)] }]);
            }}
            onPointerUp={() => {
              drawing.current = false;
            }}
            onPointerCancel={() => {
              drawing.current = false;
            }}
          />
        )}
      </div>
      <div class="brush-tools">
        <label>
          {t('brushSize')}
          <input
            type="range"
            min={SMALLEST}
            max={LARGEST}
            value={percent.value}
            onInput={({ currentTarget }) => {
              percent.value = Number(currentTarget.value);
            }}
          />
        </label>
        <button type="button" class="button" disabled={strokes.value.length === 0} onClick={() => keep(strokes.value.slice(0, -1))}>
          {t('brushUndo')}
        </button>
        <button type="button" class="button" disabled={strokes.value.length === 0} onClick={() => keep([])}>
          {t('brushClear')}
        </button>
      </div>
    </div>
  );
}

/** Wide enough for any screen, px. */
const MOST_SHOWN = 2000;

/** @param scale from the picture's pixels to the canvas' */
function paint(on: CanvasRenderingContext2D, strokes: readonly Stroke[], scale: number, colour: string): void {
  on.strokeStyle = colour;
  on.lineCap = 'round';
  on.lineJoin = 'round';
  for (const { width, points } of strokes) {
    on.lineWidth = Math.max(1, width * scale);
    const [first, ...more] = points;
    if (first === undefined) continue;
    on.beginPath();
    on.moveTo(first.x * scale, first.y * scale);
    // A dot is a line to where it began.
    for (const { x, y } of more.length === 0 ? [first] : more) on.lineTo(x * scale, y * scale);
    on.stroke();
  }
}

async function maskOf(strokes: readonly Stroke[], width: number, height: number): Promise<File> {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  const whole = canvas.getContext('2d');
  if (whole === null) throw new Error(t('brushFailed'));
  whole.fillRect(0, 0, width, height);
  paint(whole, strokes, 1, '#fff');
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'));
  if (blob === null) throw new Error(t('brushFailed'));
  return new File([blob], 'mask.png', { type: 'image/png' });
}
