/** A rectangle, drawn on the picture itself, or moved by keys: it fills the fields of the form. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { t } from '../words/words.ts';
import type { Values } from './options.tsx';

interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export function Crop({ file, values }: { file: File; values: Values }) {
  const image = useRef<HTMLImageElement>(null);
  const mark = useRef<HTMLDivElement>(null);
  const from = useRef<{ x: number; y: number } | undefined>(undefined);
  const url = useSignal<string | undefined>(undefined);
  const size = useSignal({ w: 0, h: 0 });
  useEffect(() => {
    const made = URL.createObjectURL(file);
    url.value = made;
    return () => URL.revokeObjectURL(made);
  }, [file]);
  const { w: width, h: height } = size.value;
  const read = (name: string, preset: number) => Number(values.value[`img_crop_${name}`] ?? preset);
  const now: Rectangle = { x: read('x', 0), y: read('y', 0), w: read('w', width - read('x', 0)), h: read('h', height - read('y', 0)) };
  useEffect(() => {
    const { style } = mark.current ?? {};
    if (style === undefined || width === 0 || height === 0) return;
    // Where it is drawn, in shares of the picture: the policy of the page allows no style in markup, and properties of an element it does.
    style.setProperty('--x', `${(100 * now.x) / width}%`);
    style.setProperty('--y', `${(100 * now.y) / height}%`);
    style.setProperty('--w', `${(100 * now.w) / width}%`);
    style.setProperty('--h', `${(100 * now.h) / height}%`);
  });
  const set = ({ x, y, w, h }: Rectangle) => {
    const within = (value: number, least: number, most: number) => Math.round(Math.min(most, Math.max(least, value)));
    const [left, top] = [within(x, 0, width - 1), within(y, 0, height - 1)];
    values.value = {
      ...values.value,
      img_crop_x: String(left),
      img_crop_y: String(top),
      img_crop_w: String(within(w, 1, width - left)),
      img_crop_h: String(within(h, 1, height - top)),
    };
  };
  const pointOf = (event: PointerEvent) => {
    const box = image.current?.getBoundingClientRect();
    if (box === undefined || box.width === 0) return { x: 0, y: 0 };
    const share = (at: number, start: number, length: number) => Math.min(1, Math.max(0, (at - start) / length));
    return { x: share(event.clientX, box.left, box.width) * width, y: share(event.clientY, box.top, box.height) * height };
  };
  const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, -1],
    ArrowDown: [0, 1],
  };
  return (
    <div class="crop">
      <p class="quiet">{t('cropHint')}</p>
      <div
        class="canvas"
        onPointerDown={(event) => {
          event.preventDefault();
          event.currentTarget.setPointerCapture(event.pointerId);
          from.current = pointOf(event);
        }}
        onPointerMove={(event) => {
          const start = from.current;
          if (start === undefined) return;
          const end = pointOf(event);
          set({ x: Math.min(start.x, end.x), y: Math.min(start.y, end.y), w: Math.abs(end.x - start.x), h: Math.abs(end.y - start.y) });
        }}
        onPointerUp={() => {
          from.current = undefined;
        }}
      >
        {url.value !== undefined && (
          <img
            ref={image}
            src={url.value}
            alt={file.name}
            draggable={false}
            onLoad={(event) => {
              size.value = { w: event.currentTarget.naturalWidth, h: event.currentTarget.naturalHeight };
            }}
          />
        )}
        {width > 0 && (
          <div
            ref={mark}
            class="mark"
            role="application"
            tabIndex={0}
            aria-label={`${t('cropArea')}: ${now.x}, ${now.y}, ${now.w} × ${now.h}`}
            onKeyDown={(event) => {
              const arrow = ARROWS[event.key];
              if (arrow === undefined) return;
              event.preventDefault();
              const step = Math.max(1, Math.round(Math.max(width, height) / 100));
              const [x, y] = [arrow[0] * step, arrow[1] * step];
              set(
                event.shiftKey
                  ? { ...now, w: now.w + x, h: now.h + y }
                  : { ...now, x: Math.min(now.x + x, width - now.w), y: Math.min(now.y + y, height - now.h) },
              );
            }}
          />
        )}
      </div>
    </div>
  );
}
