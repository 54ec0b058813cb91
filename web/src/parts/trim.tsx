/** A range of time, taken from the playing file: it fills the fields of the form. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { t } from '../words/words.ts';
import type { Values } from './options.tsx';

export function Trim({ file, values }: { file: File; values: Values }) {
  const player = useRef<HTMLVideoElement>(null);
  const url = useSignal<string | undefined>(undefined);
  useEffect(() => {
    const made = URL.createObjectURL(file);
    url.value = made;
    return () => URL.revokeObjectURL(made);
  }, [file]);
  const take = (name: string) => () => {
    values.value = { ...values.value, [name]: (player.current?.currentTime ?? 0).toFixed(3) };
  };
  if (url.value === undefined) return null;
  return (
    <div class="trim">
      <p class="quiet">{t('trimHint')}</p>
      {/* biome-ignore lint/a11y/useMediaCaption: the file is the visitor's own */}
      <video ref={player} controls src={url.value} aria-label={file.name} />
      <div class="ways">
        <button type="button" class="button" onClick={take('start_time')}>
          {t('takeStart')}
        </button>
        <button type="button" class="button" onClick={take('end_time')}>
          {t('takeEnd')}
        </button>
      </div>
    </div>
  );
}
