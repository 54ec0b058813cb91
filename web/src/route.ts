/** Which view the address names, below wherever the service is. */
import { batch, signal } from '@preact/signals';

const base = (): string => new URL(document.baseURI).pathname;
const here = (): string => {
  const path = location.pathname;
  return `/${path.startsWith(base()) ? path.slice(base().length) : path.slice(1)}`.replace(/(.)\/+$/, '$1');
};
export const path = signal('/');
/** Characters behind the path that are read. */
const LONGEST = 2_000;

/** What the address asks for, behind its path: `?to=pdf`. */
export const query = signal(new URLSearchParams());

/** The address of a view. */
export const href = (view: string): string => base() + view.replace(/^\//, '');

function read(): void {
  batch(() => {
    path.value = here();
    query.value = new URLSearchParams(location.search.slice(0, LONGEST));
  });
}

function show(): void {
  read();
  scrollTo(0, 0);
  // A screen reader begins with the new heading.
  requestAnimationFrame(() => document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true }));
}
/** Once it is drawn. */
export const focusOn = (selector: string): void =>
  void requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector<HTMLElement>(selector)?.focus()));
/** @param heading what is read next, where it is not the view's heading */
export function go(view: string, heading?: string): void {
  if (heading === undefined || path.value !== view) {
    history.pushState(null, '', href(view));
    show();
  }
  if (heading !== undefined) focusOn(heading);
}
export function watchAddress(): void {
  read();
  addEventListener('popstate', show);
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[data-view]') : null;
    if (link === null || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
      return;
    event.preventDefault();
    go(link.dataset['view'] ?? '/');
  });
}
