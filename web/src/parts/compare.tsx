/** A file before and after, one over the other, with a line between them that is moved on it; at the size of the window, or pixel by pixel. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { duration, t } from '../words/words.ts';
import type { Pages } from '../work/pdf.ts';
import { Icon } from './icon.tsx';

interface FrameGiven {
  readonly before: ComponentChildren;
  readonly after: ComponentChildren;
  /** Width of the larger one, px; undefined until it is known. */
  readonly width: number | undefined;
}

/** What both show is as wide and as high as the result. */
function Frame({ before, after, width }: FrameGiven) {
  const inner = useRef<HTMLDivElement>(null);
  const slider = useRef<HTMLInputElement>(null);
  const isActual = useSignal(false);
  const show = (share: number) => inner.current?.style.setProperty('--shown', `${share}%`);
  useEffect(() => {
    // As elsewhere: no style in markup. A pixel of the picture is one of the screen.
    inner.current?.style.setProperty('--actual', `${(width ?? 0) / devicePixelRatio}px`);
  }, [width]);
  return (
    <div class="compared">
      <div class={`frame${isActual.value ? ' actual' : ''}`}>
        {/* The picture has no direction of reading: before is on its left. */}
        <div class="both" dir="ltr" ref={inner}>
          {after}
          <div class="over">{before}</div>
          <span class="tag" aria-hidden="true">
            {t('before')}
          </span>
          <span class="tag end" aria-hidden="true">
            {t('after')}
          </span>
          {/* For keys and screen readers; a pointer moves the line. */}
          <input
            ref={slider}
            type="range"
            class="unseen"
            min="0"
            max="100"
            defaultValue="50"
            aria-label={t('compare')}
            onInput={(event) => show(Number(event.currentTarget.value))}
          />
          <span
            class="line"
            onPointerDown={(event) => {
              event.preventDefault();
              event.currentTarget.setPointerCapture(event.pointerId);
              slider.current?.focus({ preventScroll: true });
            }}
            onPointerMove={(event) => {
              const box = inner.current?.getBoundingClientRect();
              if (box === undefined || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
              const share = Math.min(100, Math.max(0, (100 * (event.clientX - box.left)) / Math.max(1, box.width)));
              if (slider.current !== null) slider.current.value = String(share);
              show(share);
            }}
          />
        </div>
      </div>
      <button
        type="button"
        class="button"
        aria-pressed={isActual.value}
        disabled={width === undefined}
        onClick={() => {
          isActual.value = !isActual.value;
        }}
      >
        {t('actualSize')}
      </button>
    </div>
  );
}

/** @param before @param after addresses */
export function ComparedPictures({ before, after, name }: { before: string; after: string; name: string }) {
  const [width, failed] = [useSignal<number | undefined>(undefined), useSignal(false)];
  const measured = ({ currentTarget: { naturalWidth } }: { currentTarget: HTMLImageElement }) => {
    width.value = Math.max(width.value ?? 0, naturalWidth);
  };
  // What this browser cannot show has no before.
  if (failed.value) return <img src={after} alt={name} />;
  return (
    <Frame
      width={width.value}
      before={
        <img
          src={before}
          alt={`${name}: ${t('before')}`}
          onLoad={measured}
          onError={() => {
            failed.value = true;
          }}
        />
      }
      after={<img src={after} alt={`${name}: ${t('after')}`} onLoad={measured} />}
    />
  );
}

/** Sides of a page's square, px: enough to read small print. */
const PAGE_SIDE = 1600;

/** Pages of two PDFs. @param after undefined until it has come */
export function ComparedPages({ before, after }: { before: File; after: Blob | undefined }) {
  const pdfs = useSignal<readonly Pages[]>([]);
  const failed = useSignal(false);
  const number = useSignal(1);
  useEffect(() => {
    if (after === undefined) return undefined;
    let isStale = false;
    const opened: Pages[] = [];
    const close = () => {
      for (const pdf of opened) pdf.close();
    };
    const open = async () => {
      const { openPdf } = await import('../work/pdf.ts');
      for (const file of [before, new File([after], 'after.pdf')]) {
        const pdf = await openPdf(file, undefined);
        if (typeof pdf === 'string') throw new Error(pdf);
        opened.push(pdf);
      }
      if (isStale) close();
      else pdfs.value = opened;
    };
    open().catch(() => {
      close();
      failed.value = true;
    });
    return () => {
      isStale = true;
      close();
    };
  }, [before, after]);
  const [first, second] = pdfs.value;
  if (failed.value) return <p class="quiet">{t('pagesFailed')}</p>;
  if (first === undefined || second === undefined) return <p role="status">{t('pagesOpening')}</p>;
  const most = Math.min(first.count, second.count);
  const step = (by: number) => {
    number.value = Math.min(most, Math.max(1, number.value + by));
  };
  return (
    <>
      <div class="ways">
        <button
          type="button"
          class="bare"
          disabled={number.value === 1}
          aria-label={t('page', { n: number.value - 1 })}
          onClick={() => step(-1)}
        >
          <Icon name="arrowUp" />
        </button>
        <p role="status">{t('pageOf', { n: number.value, of: most })}</p>
        <button
          type="button"
          class="bare"
          disabled={number.value === most}
          aria-label={t('page', { n: number.value + 1 })}
          onClick={() => step(1)}
        >
          <Icon name="arrowDown" />
        </button>
      </div>
      <Frame
        width={PAGE_SIDE}
        before={<Drawn key={number.value} pages={first} page={number.value} label={t('before')} />}
        after={<Drawn key={number.value} pages={second} page={number.value} label={t('after')} />}
      />
    </>
  );
}

function Drawn({ pages, page, label }: { pages: Pages; page: number; label: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let isWanted = true;
    pages
      .draw(page, PAGE_SIDE, () => isWanted)
      .then((canvas) => {
        if (canvas !== undefined && isWanted) place.current?.replaceChildren(canvas);
      })
      // Its place stays empty.
      .catch(() => {});
    return () => {
      isWanted = false;
    };
  }, [pages, page]);
  return <div class="drawn" ref={place} role="img" aria-label={`${t('page', { n: page })}: ${label}`} />;
}

/** The same moment of two films. @param before @param after addresses */
export function ComparedFrames({ before, after, name }: { before: string; after: string; name: string }) {
  const films = [useRef<HTMLVideoElement>(null), useRef<HTMLVideoElement>(null)] as const;
  const [length, width, time] = [useSignal(0), useSignal<number | undefined>(undefined), useSignal(0)];
  const failed = useSignal(false);
  const seek = (to: number) => {
    time.value = to;
    for (const { current } of films) if (current !== null) current.currentTime = to;
  };
  const film = (at: 0 | 1, src: string) => (
    <video
      ref={films[at]}
      src={src}
      muted
      playsInline
      preload="auto"
      aria-label={`${name}: ${t(at === 0 ? 'before' : 'after')}`}
      onLoadedMetadata={({ currentTarget: { duration: seconds, videoWidth } }) => {
        length.value = length.value === 0 ? seconds : Math.min(length.value, seconds);
        width.value = Math.max(width.value ?? 0, videoWidth);
      }}
      onError={() => {
        failed.value = true;
      }}
    />
  );
  if (failed.value) return <p class="quiet">{t('trimNoPlayer')}</p>;
  return (
    <>
      <Frame width={width.value} before={film(0, before)} after={film(1, after)} />
      <label class="moment">
        <span>{t('compareTime')}</span>
        <input
          type="range"
          min="0"
          max={length.value}
          step={length.value > 60 ? 0.5 : 0.04}
          value={time.value}
          aria-valuetext={duration(Math.max(1, time.value * 1000))}
          onInput={(event) => seek(Number(event.currentTarget.value))}
        />
      </label>
    </>
  );
}
