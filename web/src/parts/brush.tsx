/** A brush on the picture itself: what is painted over becomes the mask of what is to go. */
import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { percent, t } from '../words/words.ts';
import { draw, type MakeMask, maskOf, type Point, type Stroke, shareOfBox, shareOfStrokes } from '../work/mask.ts';

/** Width of the brush, per cent of the picture's shorter side. */
const [SMALLEST, LARGEST, USUAL] = [1, 40, 8];
/** Shares are counted to some hundredths: above this one the service's own count is too much, too. */
const CERTAIN = 1.05;
/** Longest side of the canvas that is shown, px; the mask is as large as the picture. */
const MOST_SHOWN = 1600;
const SHOWN = { paint: '#d53dff', erase: undefined };
/** The other end of a pen (Pointer Events, 10.1: the fifth bit of `buttons`). */
const PEN_ERASER = 32;

interface Given {
  readonly file: File;
  /** Is set while something is painted. */
  readonly mask: Signal<MakeMask | undefined>;
  /** Is set where the service would refuse it. */
  readonly isTooMuch: Signal<boolean>;
  /** Values of the form: a rectangle that was typed. */
  readonly values: Signal<Readonly<Record<string, string>>>;
}

export function Brush({ file, mask, isTooMuch, values }: Given) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const ring = useRef<HTMLDivElement>(null);
  const url = useSignal<string | undefined>(undefined);
  /** Sides of the picture, upright, px: 0 until it is shown; `undefined` where this browser cannot show it. */
  const size = useSignal<{ width: number; height: number } | undefined>({ width: 0, height: 0 });
  const strokes = useSignal<readonly Stroke[]>([]);
  const brushSize = useSignal(USUAL);
  /** Share of what may be painted. */
  const painted = useSignal(0);
  const erasing = useSignal(false);
  /** The stroke that is being drawn: it joins the others when the pointer is lifted. */
  const open = useRef<{ pointer: number; width: number; erases: boolean; points: Point[] } | undefined>(undefined);
  const { width, height } = size.value ?? { width: 0, height: 0 };
  const shown = Math.min(1, MOST_SHOWN / Math.max(width, height, 1));
  const brush = (Math.min(width, height) * brushSize.value) / 100;
  useEffect(() => {
    const made = URL.createObjectURL(file);
    url.value = made;
    return () => {
      URL.revokeObjectURL(made);
      mask.value = undefined;
      isTooMuch.value = false;
    };
  }, [file]);

  const keep = (some: readonly Stroke[]) => {
    strokes.value = some;
    mask.value = some.some(({ erases }) => !erases) ? () => maskOf(some, width, height) : undefined;
    painted.value = shareOfStrokes(some, width, height);
    const on = canvas.current?.getContext('2d');
    if (on === null || on === undefined) return;
    on.clearRect(0, 0, on.canvas.width, on.canvas.height);
    for (const stroke of some) draw(on, stroke, shown, SHOWN);
  };
  const pointOf = (event: PointerEvent): Point => {
    const box = canvas.current?.getBoundingClientRect();
    if (box === undefined || box.width === 0) return { x: 0, y: 0 };
    return { x: ((event.clientX - box.left) / box.width) * width, y: ((event.clientY - box.top) / box.height) * height };
  };
  /** Shows how large the brush is, in shares of the picture: the policy of the page allows no style in markup. */
  const placeRing = ({ x, y }: Point, diameter = brush) => {
    const { style } = ring.current ?? {};
    style?.setProperty('--x', `${(100 * x) / width}%`);
    style?.setProperty('--y', `${(100 * y) / height}%`);
    style?.setProperty('--d', `${(100 * diameter) / width}%`);
  };
  const end = (event: PointerEvent) => {
    const stroke = open.current;
    if (stroke?.pointer !== event.pointerId) return;
    open.current = undefined;
    // The user did not mean what the browser takes for a gesture.
    keep(event.type === 'pointercancel' ? strokes.value : [...strokes.value, stroke]);
  };
  const none = strokes.value.length === 0;
  const [x, y, w, h] = ['x', 'y', 'w', 'h'].map((name) => Number(values.value[name] ?? 0)) as [number, number, number, number];
  const share = mask.value !== undefined || width === 0 ? painted.value : w > 0 && h > 0 ? shareOfBox({ x, y, w, h }, width, height) : 0;
  useEffect(() => {
    isTooMuch.value = share > CERTAIN;
  }, [share]);
  if (size.value === undefined) return <p class="notice">{t('brushNoPicture')}</p>;
  return (
    <div class="brush">
      <p class="quiet" id="brush-hint">
        {t('brushHint')}
      </p>
      <div class="canvas">
        {url.value !== undefined && (
          <img
            src={url.value}
            alt={file.name}
            draggable={false}
            onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => {
              size.value = { width: naturalWidth, height: naturalHeight };
            }}
            onError={() => {
              size.value = undefined;
            }}
          />
        )}
        {width > 0 && (
          <canvas
            ref={canvas}
            role="img"
            aria-label={t('brushArea', { n: strokes.value.length })}
            aria-describedby="brush-hint"
            width={Math.round(width * shown)}
            height={Math.round(height * shown)}
            onPointerDown={(event) => {
              // A second finger, or another button, draws nothing.
              if (open.current !== undefined || (event.button !== 0 && event.button !== 5)) return;
              event.preventDefault();
              event.currentTarget.setPointerCapture(event.pointerId);
              const erases = erasing.value || (event.buttons & PEN_ERASER) !== 0;
              open.current = { pointer: event.pointerId, width: brush, erases, points: [pointOf(event)] };
              const on = event.currentTarget.getContext('2d');
              if (on !== null) draw(on, open.current, shown, SHOWN);
            }}
            onPointerMove={(event) => {
              placeRing(pointOf(event));
              const stroke = open.current;
              const on = event.currentTarget.getContext('2d');
              if (stroke?.pointer !== event.pointerId || on === null) return;
              const from = stroke.points.length;
              // All that a fast pen went through since the last frame.
              const moves = event.getCoalescedEvents?.() ?? [];
              stroke.points.push(...(moves.length > 0 ? moves : [event]).map(pointOf));
              draw(on, stroke, shown, SHOWN, from);
            }}
            onPointerUp={end}
            onPointerCancel={end}
          />
        )}
        <div ref={ring} class="ring" />
      </div>
      <div class="painted">
        <p role="status">{share > 0 && t(mask.value === undefined ? 'brushShareBox' : 'brushShare', { share: percent(share) })}</p>
        <meter min={0} max={1} high={0.9} optimum={0} value={Math.min(1, share)} aria-hidden="true" />
        {share > 1 && (
          <p class="notice" role="alert">
            {t(mask.value === undefined ? 'boxTooMuch' : 'brushTooMuch')}
          </p>
        )}
      </div>
      <div class="brush-tools">
        <div class="ways" role="group" aria-label={t('brushMode')}>
          {([false, true] as const).map((erases) => (
            <button
              key={String(erases)}
              type="button"
              class="chip"
              aria-pressed={erasing.value === erases}
              onClick={() => {
                erasing.value = erases;
              }}
            >
              {t(erases ? 'brushErase' : 'brushPaint')}
            </button>
          ))}
        </div>
        <label>
          {t('brushSize')}
          <input
            type="range"
            min={SMALLEST}
            max={LARGEST}
            value={brushSize.value}
            onInput={({ currentTarget }) => {
              brushSize.value = Number(currentTarget.value);
              placeRing({ x: width / 2, y: height / 2 }, (Math.min(width, height) * brushSize.value) / 100);
            }}
          />
        </label>
        <div class="ways">
          <button type="button" class="button" disabled={none} onClick={() => keep(strokes.value.slice(0, -1))}>
            {t('brushUndo')}
          </button>
          <button type="button" class="button" disabled={none} onClick={() => keep([])}>
            {t('brushClear')}
          </button>
        </div>
      </div>
    </div>
  );
}
