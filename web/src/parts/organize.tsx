/** The pages of a PDF, or of several that become one, in the order of the result: dragged, moved by keys and buttons, and left out. They fill the field `pages`, and follow what is typed there. */
import { type Signal, useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { t } from '../words/words.ts';
import type { Pages } from '../work/pdf.ts';
import { orderIn, textOfOrder } from '../work/selection.ts';
import type { Values } from './options.tsx';
import { MOST_SHOWN, OpenedPdf, Sheet } from './pages.tsx';
import { dragFrom, movedTo } from './sortable.ts';

export const Organizer = ({ file, values }: { file: File; values: Values }) => (
  <OpenedPdf files={[file]} values={values}>
    {(pages) => <Order pages={pages} values={values} />}
  </OpenedPdf>
);

/** Made once for each list of files. Shown when asked for: each file takes a thread. */
export const JoinedOrganizer = ({ files, values, isOpen }: { files: readonly File[]; values: Values; isOpen: Signal<boolean> }) => (
  <details
    class="joined"
    open={isOpen.value}
    onToggle={(event) => {
      isOpen.value = event.currentTarget.open;
    }}
  >
    <summary>{t('joinedOrder')}</summary>
    {isOpen.value && (
      <OpenedPdf files={files} values={values}>
        {(pages) => <Order pages={pages} values={values} />}
      </OpenedPdf>
    )}
  </details>
);

function Order({ pages, values }: { pages: Pages; values: Values }) {
  const grid = useRef<HTMLDivElement>(null);
  const current = useSignal(0);
  const told = useSignal('');
  const { count } = pages;
  const given = values.value['pages'];
  const order = given === undefined ? orderIn(`1-${count}`, count) : orderIn(given, count);
  const latest = useRef(order);
  latest.current = order;
  const at = Math.min(current.value, order.length - 1);
  const nameOf = (page: number): string => {
    const { name, page: own } = pages.nameOf?.(page) ?? { name: '', page };
    return t('pageOfFile', { page: own, name });
  };
  const change = (next: readonly number[]) => {
    const { pages: _, ...rest } = values.value;
    values.value = next.length === 0 ? rest : { ...rest, pages: textOfOrder(next) };
  };
  const focusOn = (place: number) =>
    requestAnimationFrame(() => grid.current?.querySelector<HTMLElement>(`[data-place="${place}"]`)?.focus());
  const move = (from: number, to: number) => {
    if (to < 0 || to >= latest.current.length || from === to) return;
    const [page, place] = [latest.current[from] ?? 0, { n: to + 1, of: latest.current.length }];
    told.value = pages.nameOf === undefined ? t('pageMovedTo', { page, ...place }) : t('movedTo', { name: nameOf(page), ...place });
    current.value = to;
    change(movedTo(latest.current, from, to));
  };
  const leaveOut = (place: number) => {
    // One has to remain.
    if (order.length < 2) return;
    const page = order[place] ?? 0;
    told.value = pages.nameOf === undefined ? t('pageLeftOut', { page }) : t('leftOut', { name: nameOf(page) });
    current.value = Math.min(place, order.length - 2);
    change(order.toSpliced(place, 1));
    focusOn(current.value);
  };
  const onKeyDown = (event: KeyboardEvent, place: number) => {
    if (event.key === 'Delete' || event.key === 'Backspace') {
      event.preventDefault();
      leaveOut(place);
      return;
    }
    const tops = [...(grid.current?.children ?? [])].map((each) => (each as HTMLElement).offsetTop);
    const columns = Math.max(1, tops.filter((top) => top === tops[0]).length);
    const forward = grid.current?.matches(':dir(rtl)') ? -1 : 1;
    const steps: Readonly<Record<string, number>> = { ArrowRight: forward, ArrowLeft: -forward, ArrowDown: columns, ArrowUp: -columns };
    const step = steps[event.key];
    const to = event.key === 'Home' ? 0 : event.key === 'End' ? order.length - 1 : step === undefined ? undefined : place + step;
    if (to === undefined) return;
    event.preventDefault();
    if (to < 0 || to >= Math.min(order.length, MOST_SHOWN)) return;
    if (event.shiftKey) move(place, to);
    current.value = to;
    focusOn(to);
  };
  const shown = order.slice(0, MOST_SHOWN);
  return (
    <>
      <p class="quiet">{t('orderHint')}</p>
      <div ref={grid} class="thumbs sortable" role="listbox" aria-label={t('orderLabel')}>
        {shown.map((page, place) => (
          <div
            key={page}
            class="thumb"
            role="option"
            data-place={place}
            tabIndex={place === at ? 0 : -1}
            aria-selected={place === at}
            aria-label={
              pages.nameOf === undefined
                ? t('pageAt', { page, n: place + 1, of: order.length })
                : t('pageOfFileAt', { name: nameOf(page), n: place + 1, of: order.length })
            }
            onFocus={() => {
              current.value = place;
            }}
            onClick={(event) => event.currentTarget.focus()}
            onKeyDown={(event) => onKeyDown(event, place)}
            onPointerDown={(event) => dragFrom(event, grid.current, place, move)}
          >
            <Sheet pages={pages} page={page} />
            <span aria-hidden="true">
              {pages.nameOf === undefined ? (
                page
              ) : (
                <span class="file" dir="auto" title={pages.nameOf(page)?.name}>
                  {pages.nameOf(page)?.page} · {pages.nameOf(page)?.name}
                </span>
              )}
            </span>
          </div>
        ))}
      </div>
      {shown.length < order.length && <p class="quiet">{t('pagesMore', { n: shown.length, of: order.length })}</p>}
      <div class="ways">
        <p>{t('pagesChosen', { n: order.length, of: count })}</p>
        <button type="button" class="button" disabled={at <= 0} onClick={() => move(at, at - 1)}>
          {t('pageEarlier')}
        </button>
        <button type="button" class="button" disabled={at >= order.length - 1} onClick={() => move(at, at + 1)}>
          {t('pageLater')}
        </button>
        <button type="button" class="button" disabled={order.length < 2} onClick={() => leaveOut(at)}>
          {t('pageOut')}
        </button>
        <button type="button" class="button" onClick={() => change([...order].reverse())}>
          {t('orderReverse')}
        </button>
        <button type="button" class="button" disabled={given === undefined} onClick={() => change([])}>
          {t('orderReset')}
        </button>
      </div>
      <p role="status" class="unseen">
        {told.value}
      </p>
    </>
  );
}
