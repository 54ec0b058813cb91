/** What is chosen on each tool's page: it stays while another view is open. */
import { type Signal, signal } from '@preact/signals';
import { lastChoice } from './choices.ts';
import type { Piece } from './tasks.ts';

export interface ToolChoices {
  readonly pieces: Signal<readonly Piece[]>;
  readonly values: Signal<Readonly<Record<string, string>>>;
}

const choices = new Map<string, ToolChoices>();
/** Begins with what this browser chose last. */
export function choicesOf(slug: string): ToolChoices {
  const known = choices.get(slug) ?? { pieces: signal([]), values: signal(lastChoice(slug)?.options ?? {}) };
  choices.set(slug, known);
  return known;
}
