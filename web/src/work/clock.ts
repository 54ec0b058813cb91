/** The time, for what the page says of it: each half a minute. */
import { signal } from '@preact/signals';

export const now = signal(Date.now());
export function watchClock(): void {
  setInterval(() => {
    now.value = Date.now();
  }, 30_000);
}
