/** Targets with options that have a name in this browser: chosen by a press, made of what is chosen, and taken away again. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { t } from '../words/words.ts';
import { dropPreset, type Preset, presets, savePreset } from '../work/choices.ts';
import { Icon } from './icon.tsx';
import type { Values } from './options.tsx';

interface Given {
  /** What the files can become. */
  readonly all: readonly string[];
  /** Undefined where they become different ones: then there is nothing to name. */
  readonly chosen: string | undefined;
  readonly values: Values;
  readonly choose: (target: string) => void;
}

const isSame = (preset: Preset, target: string | undefined, options: Values['value']): boolean =>
  preset.target === target && JSON.stringify(Object.entries(preset.options).sort()) === JSON.stringify(Object.entries(options).sort());

const MOST_LETTERS = 40;

export function Presets({ all, chosen, values, choose }: Given) {
  const naming = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (naming.value) field.current?.focus();
  }, [naming.value]);
  const fitting = presets().filter(({ target }) => target !== undefined && all.includes(target));
  const isNamed = fitting.some((preset) => isSame(preset, chosen, values.value));
  const canName = chosen !== undefined && Object.keys(values.value).length > 0 && !isNamed;
  if (fitting.length === 0 && !canName && !naming.value) return null;
  const close = () => {
    naming.value = false;
    setTimeout(() => opener.current?.focus());
  };
  return (
    <div class="presets">
      {fitting.length > 0 && (
        <ul class="chips" aria-label={t('presets')}>
          {fitting.map((preset) => (
            <li key={preset.name} class="preset">
              <button
                type="button"
                class="chip"
                aria-pressed={isSame(preset, chosen, values.value)}
                onClick={() => {
                  choose(preset.target ?? '');
                  values.value = preset.options;
                }}
              >
                <Icon name="star" />
                <span dir="auto">{preset.name}</span>
                <span class="quiet">{(preset.target ?? '').toUpperCase()}</span>
              </button>
              <button
                type="button"
                class="bare"
                aria-label={t('dropPreset', { name: preset.name })}
                onClick={() => dropPreset(preset.name)}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      {naming.value ? (
        <form
          class="naming"
          onSubmit={(event) => {
            event.preventDefault();
            const name = field.current?.value.trim() ?? '';
            if (name === '' || chosen === undefined) return;
            savePreset(name, { target: chosen, options: values.value });
            close();
          }}
          onKeyDown={(event) => {
            if (event.key === 'Escape') close();
          }}
        >
          <input
            ref={field}
            required
            maxLength={MOST_LETTERS}
            aria-label={t('presetName')}
            placeholder={t('presetName')}
            autocomplete="off"
            dir="auto"
          />
          <button type="submit" class="button main">
            {t('save')}
          </button>
          <button type="button" class="button" onClick={close}>
            {t('cancel')}
          </button>
        </form>
      ) : (
        canName && (
          <button
            ref={opener}
            type="button"
            class="chip more"
            onClick={() => {
              naming.value = true;
            }}
          >
            <Icon name="star" />
            {t('savePreset')}
          </button>
        )
      )}
    </div>
  );
}
