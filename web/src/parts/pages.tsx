/** Thumbnails of a PDF's pages: those that are ticked fill the field `pages`, and what is typed there ticks them. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { type Key, t } from '../words/words.ts';
import type { Pages, Refused } from '../work/pdf.ts';
import { pagesIn, textOf } from '../work/selection.ts';
import { Icon } from './icon.tsx';
import type { Values } from './options.tsx';

/** How many pages of a longer file are shown: the first ones. */
export const MOST_SHOWN = 200;
/** Side of the square that a page is drawn into, px of the page's layout. */
const SIDE = 160;
/** While a password is typed, ms. */
const PAUSE = 400;

type Trouble = Refused | 'failed';
/** Or the name of one of several files that is not shown. */
type Opened = Pages | Trouble | { readonly notShown: string };
const SENTENCES: Readonly<Record<Trouble, Key>> = {
  locked: 'pagesLocked',
  wrongPassword: 'pagesWrongPassword',
  damaged: 'pagesDamaged',
  failed: 'pagesFailed',
};

export const isPdf = ({ name, type }: File): boolean => type === 'application/pdf' || /\.pdf$/i.test(name);

/** Made once for each file. @param required whether some page has to be chosen: else none means all */
export const PagePicker = ({ file, values, required }: { file: File; values: Values; required: boolean }) => (
  <OpenedPdf files={[file]} values={values}>
    {(pages) => <Thumbnails pages={pages} values={values} required={required} />}
  </OpenedPdf>
);

interface OpenedGiven {
  /** Several are shown as one. */
  readonly files: readonly File[];
  readonly values: Values;
  readonly children: (pages: Pages) => ComponentChildren;
}
/** A PDF, with the password that is typed below; or a sentence that says why it is not shown. */
export function OpenedPdf({ files, values, children }: OpenedGiven) {
  const opened = useSignal<Opened | undefined>(undefined);
  const { password } = values.value;
  useEffect(() => {
    // Once it is open, its password does not matter.
    if (typeof opened.value === 'object') return undefined;
    let isStale = false;
    const open = async () => {
      const [only, ...others] = files;
      const pages = await import('../work/pdf.ts')
        .then(async ({ openPdf, openPdfs }): Promise<Opened> => {
          return only !== undefined && others.length === 0 ? openPdf(only, password) : openPdfs(files);
        })
        .catch(() => 'failed' as const);
      if (!isStale) opened.value = pages;
      else closeIfOpen(pages);
    };
    const timer = setTimeout(() => void open(), opened.value === undefined ? 0 : PAUSE);
    return () => {
      isStale = true;
      clearTimeout(timer);
    };
  }, [password]);
  useEffect(() => () => closeIfOpen(opened.value), []);
  const state = opened.value;
  return (
    <fieldset class="pages">
      <legend>{t('pages')}</legend>
      {state === undefined && <p role="status">{t('pagesOpening')}</p>}
      {typeof state === 'string' && (
        <p role="status" class="notice">
          {t(SENTENCES[state])}
        </p>
      )}
      {typeof state === 'object' && 'notShown' in state && (
        <p role="status" class="notice">
          {t('joinedNotShown', { name: state.notShown })}
        </p>
      )}
      {typeof state === 'object' && !('notShown' in state) && children(state)}
    </fieldset>
  );
}

function closeIfOpen(opened: Opened | undefined): void {
  if (typeof opened === 'object' && !('notShown' in opened)) opened.close();
}

function Thumbnails({ pages, values, required }: { pages: Pages; values: Values; required: boolean }) {
  const grid = useRef<HTMLDivElement>(null);
  const current = useSignal(1);
  const { count } = pages;
  const shown = Math.min(count, MOST_SHOWN);
  const numbers = Array.from({ length: shown }, (_, index) => index + 1);
  const chosen = pagesIn(values.value['pages'] ?? '', count);
  const choose = (some: ReadonlySet<number>) => {
    const { pages: _, ...rest } = values.value;
    values.value = some.size === 0 ? rest : { ...rest, pages: textOf(some) };
  };
  /** With Shift, all from the one before to this one. */
  const before = useRef(1);
  const toggle = (page: number, isOn: boolean, through: boolean) => {
    const [from, to] = through ? [Math.min(before.current, page), Math.max(before.current, page)] : [page, page];
    const among = new Set(numbers.slice(from - 1, to));
    choose(isOn ? chosen.union(among) : chosen.difference(among));
    before.current = page;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const boxes = [...(grid.current?.querySelectorAll('input') ?? [])];
    const tops = boxes.map(({ parentElement }) => parentElement?.parentElement?.offsetTop ?? 0);
    const columns = Math.max(1, tops.filter((top) => top === tops[0]).length);
    const forward = grid.current?.matches(':dir(rtl)') ? -1 : 1;
    const at = boxes.indexOf(event.target as HTMLInputElement);
    const next = {
      ArrowRight: at + forward,
      ArrowLeft: at - forward,
      ArrowDown: at + columns,
      ArrowUp: at - columns,
      Home: 0,
      End: boxes.length - 1,
    }[event.key];
    if (next === undefined || at < 0) return;
    event.preventDefault();
    boxes[next]?.focus();
  };
  return (
    <>
      <p class="quiet">
        {t('pagesHint')} {!required && t('pagesNone')}
      </p>
      {/* One stop for the Tab key, however many pages there are. */}
      <div ref={grid} class="thumbs">
        {numbers.map((page) => (
          <label key={page} class="thumb">
            <Sheet pages={pages} page={page} />
            <span>
              <input
                type="checkbox"
                checked={chosen.has(page)}
                tabIndex={page === current.value ? 0 : -1}
                aria-label={t('page', { n: page })}
                onFocus={() => {
                  current.value = page;
                }}
                onKeyDown={onKeyDown}
                onClick={(event) => toggle(page, event.currentTarget.checked, event.shiftKey)}
              />
              <span aria-hidden="true">{page}</span>
            </span>
          </label>
        ))}
      </div>
      {shown < count && <p class="quiet">{t('pagesMore', { n: shown, of: count })}</p>}
      <div class="ways">
        <p role="status">{t('pagesChosen', { n: chosen.size, of: count })}</p>
        <button type="button" class="button" onClick={() => choose(pagesIn('all', count).difference(chosen))}>
          {t('pagesInvert')}
        </button>
        <button type="button" class="button" disabled={chosen.size === 0} onClick={() => choose(new Set())}>
          {t('pagesClear')}
        </button>
      </div>
    </>
  );
}

/** A page, drawn when it comes into view. */
export function Sheet({ pages, page }: { pages: Pages; page: number }) {
  const sheet = useRef<HTMLSpanElement>(null);
  const failed = useSignal(false);
  useEffect(() => {
    const place = sheet.current;
    if (place === null) return undefined;
    let inView = false;
    let asked = false;
    const draw = async () => {
      asked = true;
      const canvas = await pages.draw(page, SIDE * Math.min(2, devicePixelRatio), () => inView);
      asked = false;
      if (canvas === undefined) return;
      observer.disconnect();
      place.replaceChildren(canvas);
    };
    const observer = new IntersectionObserver(([entry]) => {
      inView = entry?.isIntersecting ?? false;
      if (!inView || asked) return;
      draw().catch(() => {
        observer.disconnect();
        failed.value = true;
      });
    });
    observer.observe(place);
    return () => {
      inView = false;
      observer.disconnect();
    };
  }, [pages, page]);
  return failed.value ? (
    <span class="sheet" title={t('pageFailed')}>
      <Icon name="warn" />
    </span>
  ) : (
    <span ref={sheet} class="sheet" />
  );
}
