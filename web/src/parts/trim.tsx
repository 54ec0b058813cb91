/** A range of time, chosen on the recording itself: on its waveform, or where it plays. It fills the fields of the form, and follows them. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { t } from '../words/words.ts';
import { peaksOf, soundOf } from '../work/wave.ts';
import type { Values } from './options.tsx';

type Field = 'start_time' | 'end_time';

/** Pixels of the canvas, however wide it is shown. */
const [PARTS, HEIGHT] = [1200, 96] as const;
/** A step of the arrow keys, seconds; Page Up and Page Down go ten times as far. */
const stepOf = (seconds: number): number => (seconds > 120 ? 0.5 : seconds > 20 ? 0.1 : 0.01);

export function Trim({ file, values }: { file: File; values: Values }) {
  const player = useRef<HTMLVideoElement>(null);
  const range = useRef<HTMLDivElement>(null);
  const wave = useRef<HTMLCanvasElement>(null);
  const url = useSignal<string | undefined>(undefined);
  const length = useSignal(0);
  const sound = useSignal<AudioBuffer | undefined>(undefined);
  const peaks = useSignal<Float32Array | undefined>(undefined);
  const failed = useSignal(false);
  const isSound = useSignal(false);
  useEffect(() => {
    const made = URL.createObjectURL(file);
    url.value = made;
    return () => URL.revokeObjectURL(made);
  }, [file]);
  const seconds = length.value;
  useEffect(() => {
    const gone = new AbortController();
    const hear = async () => {
      // Once, though a browser may correct the length while it reads.
      sound.value ??= await soundOf(file, seconds);
      const found = sound.value === undefined ? undefined : await peaksOf(sound.value, seconds, PARTS, gone.signal);
      if (!gone.signal.aborted) peaks.value = found;
    };
    // What is not drawn can be heard.
    if (seconds > 0) hear().catch(() => {});
    return () => gone.abort();
  }, [file, seconds]);
  useEffect(() => draw(wave.current, peaks.value), [peaks.value]);
  const at: Record<Field, number> = {
    start_time: within(secondsOf(values.value['start_time']) ?? 0, seconds || Number.POSITIVE_INFINITY),
    end_time: within(secondsOf(values.value['end_time']) ?? seconds, seconds || Number.POSITIVE_INFINITY),
  };
  useEffect(() => {
    // As for the rectangle of a picture: no style in markup.
    range.current?.style.setProperty('--from', `${(100 * at.start_time) / (seconds || 1)}%`);
    range.current?.style.setProperty('--to', `${(100 * at.end_time) / (seconds || 1)}%`);
  });
  const set = (name: Field, time: number) => {
    // A part has a length: one end stops at the other. The browser does not know where some recordings end.
    const end = seconds > 0 || values.value['end_time'] !== undefined ? at.end_time : Number.POSITIVE_INFINITY;
    const kept = name === 'start_time' ? Math.min(time, end - 0.01) : Math.max(time, at.start_time + 0.01);
    values.value = { ...values.value, [name]: Math.max(0, kept).toFixed(3) };
  };
  const handle = (name: Field) => (
    <input
      type="range"
      min={0}
      max={seconds}
      step={stepOf(seconds)}
      value={at[name]}
      aria-label={t(name === 'start_time' ? 'trimStart' : 'trimEnd')}
      aria-valuetext={clock(at[name])}
      onInput={(event) => {
        set(name, Number(event.currentTarget.value));
        // It cannot go past the other.
        event.currentTarget.value = String(values.value[name]);
        if (player.current !== null) player.current.currentTime = Number(values.value[name]);
      }}
    />
  );
  if (url.value === undefined) return null;
  if (failed.value) return <p class="quiet">{t('trimNoPlayer')}</p>;
  return (
    <div class="trim">
      <p class="quiet">{t('trimHint')}</p>
      {/* biome-ignore lint/a11y/useMediaCaption: the file is the visitor's own */}
      <video
        ref={player}
        controls
        src={url.value}
        // Sound alone has no picture to make room for.
        class={isSound.value ? 'sound' : undefined}
        aria-label={file.name}
        onError={() => {
          failed.value = true;
        }}
        onDurationChange={(event) => {
          const { duration, videoWidth } = event.currentTarget;
          length.value = Number.isFinite(duration) ? duration : 0;
          isSound.value = videoWidth === 0;
        }}
      />
      {seconds > 0 && (
        <div class="range" ref={range} dir="ltr">
          <canvas ref={wave} width={PARTS} height={HEIGHT} hidden={peaks.value === undefined} />
          <div class="chosen" />
          {handle('start_time')}
          {handle('end_time')}
        </div>
      )}
      {seconds > 0 && (
        <p class="quiet" aria-live="polite">
          {t('trimChosen', { from: clock(at.start_time), to: clock(at.end_time), length: clock(at.end_time - at.start_time) })}
        </p>
      )}
      <div class="ways">
        <button type="button" class="button" onClick={() => set('start_time', player.current?.currentTime ?? 0)}>
          {t('takeStart')}
        </button>
        <button type="button" class="button" onClick={() => set('end_time', player.current?.currentTime ?? 0)}>
          {t('takeEnd')}
        </button>
      </div>
    </div>
  );
}

const within = (time: number, most: number): number => Math.min(most, Math.max(0, time));

/** As the API reads it: seconds, or hours, minutes and seconds. */
function secondsOf(text: string | undefined): number | undefined {
  const [, hours, minutes, seconds] = /^(?:(\d{1,2}):([0-5]?\d):)?(\d{1,6}(?:\.\d{1,3})?)$/.exec(text?.trim() ?? '') ?? [];
  return seconds === undefined ? undefined : Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds);
}

/** `1:02:03.4`, hours only where there are some. */
function clock(time: number): string {
  const tenths = Math.round(time * 10);
  const [hours, minutes, rest] = [Math.floor(tenths / 36_000), Math.floor(tenths / 600) % 60, (tenths % 600) / 10];
  const seconds = rest.toFixed(1).padStart(4, '0');
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${seconds}` : `${minutes}:${seconds}`;
}

function draw(canvas: HTMLCanvasElement | null, peaks: Float32Array | undefined): void {
  const context = canvas?.getContext('2d');
  if (!canvas || !context || peaks === undefined) return;
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = getComputedStyle(canvas).color;
  for (const [part, level] of peaks.entries()) {
    const height = Math.max(1, level * canvas.height);
    context.fillRect(part, (canvas.height - height) / 2, 1, height);
  }
}
