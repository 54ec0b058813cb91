/** The files of a tool: what each looks like, how large it is and how many pages it has, in an order that is changed by dragging or by buttons. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { bytes, t } from '../words/words.ts';
import { gate } from '../work/gate.ts';
import type { Piece } from '../work/tasks.ts';
import { Icon } from './icon.tsx';
import { isPdf } from './pages.tsx';
import { dragFrom, movedTo } from './sortable.ts';

/** PDF.js is fetched for a PDF alone. */
const openPdfOf = async (file: File) => (await import('../work/pdf.ts')).openPdf(file, undefined);
/** One after the other: each takes memory for a while. */
const turns = gate(1);
/** Side of the square that a thumbnail fits into, px of the layout. */
const SIDE = 56;

interface Given {
  readonly list: readonly Piece[];
  /** Whether they become one result, in their order. */
  readonly together: boolean;
  readonly change: (list: readonly Piece[]) => void;
}

export function Pieces({ list, together, change }: Given) {
  const rows = useRef<HTMLOListElement>(null);
  const told = useSignal('');
  const latest = useRef(list);
  latest.current = list;
  const move = (from: number, to: number) => {
    const piece = latest.current[from];
    change(movedTo(latest.current, from, to));
    told.value = t('movedTo', { name: piece?.name ?? '', n: to + 1, of: list.length });
  };
  return (
    <>
      {together && list.length > 1 && <p class="quiet">{t('piecesHint')}</p>}
      <ol class={`pieces${together ? ' sortable' : ''}`} ref={rows}>
        {list.map((piece, place) => (
          <li key={piece.key} data-place={place}>
            <span
              class="grip"
              onPointerDown={(event) => {
                if (together) dragFrom(event, rows.current, place, move);
              }}
            >
              <Looks piece={piece} />
            </span>
            {together && (
              <>
                <button
                  type="button"
                  class="bare"
                  disabled={place === 0}
                  aria-label={t('up', { name: piece.name })}
                  onClick={() => move(place, place - 1)}
                >
                  <Icon name="arrowUp" />
                </button>
                <button
                  type="button"
                  class="bare"
                  disabled={place === list.length - 1}
                  aria-label={t('down', { name: piece.name })}
                  onClick={() => move(place, place + 1)}
                >
                  <Icon name="arrowDown" />
                </button>
              </>
            )}
            <button
              type="button"
              class="bare"
              aria-label={t('removeNamed', { name: piece.name })}
              onClick={() => change(list.filter((each) => each !== piece))}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ol>
      <p role="status" class="unseen">
        {told.value}
      </p>
    </>
  );
}

function Looks({ piece: { file, name, key } }: { piece: Piece }) {
  const place = useRef<HTMLSpanElement>(null);
  const pages = useSignal<number | undefined>(undefined);
  useEffect(() => {
    if (file === undefined || !(isPdf(file) || /^(image|video)\//.test(file.type))) return undefined;
    const cancel = new AbortController();
    const draw = async () => {
      const { thumbnailOf } = await import('../work/thumbnail.ts');
      const made = await turns(cancel.signal, () => thumbnailOf(file, SIDE * Math.min(2, devicePixelRatio), openPdfOf));
      if (cancel.signal.aborted || made === undefined) return;
      pages.value = made.pages;
      place.current?.replaceChildren(made.canvas);
    };
    // A file without one has its name.
    draw().catch(() => {});
    return () => cancel.abort();
  }, [key]);
  return (
    <>
      <span class="looks" ref={place} aria-hidden="true" />
      <span class="about">
        <span class="name" dir="auto" title={name}>
          {name}
        </span>
        <span class="quiet">
          {[
            ...(pages.value === undefined ? [] : [t('pageCount', { n: pages.value })]),
            ...(file === undefined ? [] : [bytes(file.size)]),
          ].join(', ')}
        </span>
      </span>
    </>
  );
}
