/** A view, or a list, that has nothing to show: why, and a way on. */
import type { ComponentChildren } from 'preact';

export function Nothing({ title, lead, more }: { title: string; lead?: ComponentChildren; more?: ComponentChildren }) {
  return (
    <section class="nothing">
      <h1 tabIndex={-1}>{title}</h1>
      {lead !== undefined && <p class="lead">{lead}</p>}
      {more}
    </section>
  );
}
