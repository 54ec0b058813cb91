/** What is chosen on each tool's page: it stays while another view is open. */
import { type Signal, signal } from '@preact/signals';
import { lastChoice } from './choices.ts';
import type { Piece } from './tasks.ts';

export interface Place {
  readonly pieces: Signal<readonly Piece[]>;
  readonly values: Signal<Readonly<Record<string, string>>>;
}

const places = new Map<string, Place>();
/** Begins with what this browser chose last. */
export function placeOf(slug: string): Place {
  const place = places.get(slug) ?? { pieces: signal([]), values: signal(lastChoice(slug)?.options ?? {}) };
  places.set(slug, place);
  return place;
}
