/** Chooses a target: the usual ones at hand, all by search. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { aliasesOf } from '../api/catalog.ts';
import { wordsIn } from '../words/matching.ts';
import { formatName, formatsThatFit, loadSearch, saysMore } from '../words/search.ts';
import { t } from '../words/words.ts';

interface Given {
  readonly usual: readonly string[];
  readonly all: readonly string[];
  readonly chosen: string | undefined;
  readonly choose: (target: string) => void;
}

export function Targets({ usual, all, chosen, choose }: Given) {
  const searching = useSignal(false);
  const text = useSignal('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!searching.value) return;
    field.current?.focus();
    void loadSearch();
  }, [searching.value]);
  const chip = (target: string, named = false) => (
    <button key={target} type="button" class="chip" aria-pressed={target === chosen} onClick={() => choose(target)}>
      {target.toUpperCase()}
      {named && saysMore(target) && <span class="called">{formatName(target)}</span>}
    </button>
  );
  const found = formatsThatFit(wordsIn(text.value), all, aliasesOf);
  // One that was searched stays in sight.
  const shown = chosen === undefined || usual.includes(chosen) || !all.includes(chosen) ? usual : [...usual, chosen];
  return (
    <div class="targets" role="group" aria-label={t('allTo')}>
      <div class="chips">
        {shown.map((target) => chip(target))}
        <button
          type="button"
          class="chip more"
          aria-expanded={searching.value}
          onClick={() => {
            searching.value = !searching.value;
          }}
        >
          {t('more')}
        </button>
      </div>
      {searching.value && (
        <div class="search">
          <input
            ref={field}
            type="search"
            aria-label={t('searchFormats')}
            placeholder={t('searchFormats')}
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value;
            }}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && found[0] !== undefined) choose(found[0]);
            }}
          />
          <div class="chips">{found.map((target) => chip(target, true))}</div>
          {found.length === 0 && <p class="quiet">{t('noFormat')}</p>}
        </div>
      )}
    </div>
  );
}
